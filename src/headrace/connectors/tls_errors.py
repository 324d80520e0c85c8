"""What goes wrong with TLS, told from what goes wrong with what it runs over."""

from __future__ import annotations

import ssl

_LOST = ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError


def is_of_tls(error: object) -> bool:
    """Whether trying again is of no use: the other side speaks no TLS, or is not trusted."""
    return isinstance(error, ssl.SSLError) and not isinstance(error, _LOST)
