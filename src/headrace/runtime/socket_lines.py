"""Lines that come over a connection, read in the task that needs them."""

from __future__ import annotations

import socket
from typing import Any

from headrace.core.source import LiveReader, Source, Split, SplitEnumerator
from headrace.errors import SourceUnavailable

_AT_ONCE = 1 << 16
_PATIENCE = 10.0


class SocketLines(Source[str]):
    """The lines somebody sends; there is one connection, and no way to read a line again."""

    def __init__(self, host: str, port: int):
        self._place = host, port

    def create_enumerator(self) -> SplitEnumerator:
        return _OneConnection()

    def create_reader(self) -> LiveReader[str]:
        return _Lines(*self._place)


class _OneConnection(SplitEnumerator):
    def splits(self) -> list[Split]:
        return [Split("connection")]

    def latest_position(self, split: Split, start: Any) -> Any:
        return start


class _Lines(LiveReader[str]):
    def __init__(self, host: str, port: int):
        self._host, self._port = host, port
        self._socket: socket.socket | None = None
        self._rest = b""

    def poll(self, split: Split, position: Any) -> tuple[list[str], Any] | None:
        if self._socket is None:
            self._socket = self._connected()
        try:
            data = self._socket.recv(_AT_ONCE)
        except BlockingIOError:
            return [], position
        except OSError:
            data = b""
        if not data:
            return self._last(position)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [_text(line) for line in lines], position + len(lines)

    def _last(self, position: Any) -> tuple[list[str], Any] | None:
        """What was left without an end of line; nothing comes after it."""
        if not self._rest:
            return None
        line, self._rest = self._rest, b""
        return [_text(line)], position + 1

    def _connected(self) -> socket.socket:
        try:
            connection = socket.create_connection((self._host, self._port), _PATIENCE)
        except OSError as error:
            raise SourceUnavailable(
                f"nobody listens at {self._host}:{self._port} ({error})",
                hint="Start what sends the lines before the job, for example "
                f"`nc -lk {self._port}`.",
            ) from None
        connection.setblocking(False)
        return connection

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


def _text(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "replace")
