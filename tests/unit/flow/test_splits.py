"""The splits of a task, read in real time."""

from __future__ import annotations

import socket

import pytest

from headrace.core.source import Split
from headrace.errors import SourceUnavailable
from headrace.origin import Origin
from headrace.runtime.flow.splits import Splits
from headrace.runtime.socket_lines import SocketLines


def test_what_cannot_be_read_is_told_with_the_line_that_made_the_source():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    splits = Splits(SocketLines("127.0.0.1", port), Origin("job.py", 7, "env.socket_text_stream()"))
    list(splits.assign(((Split("connection"), 0),)))
    with pytest.raises(SourceUnavailable, match=r"nobody listens(.|\n)*at job.py:7"):
        splits.read()
