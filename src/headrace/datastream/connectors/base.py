"""What sources and sinks are, for those who write their own."""

from headrace.core.sink import Committer, Sink, SinkWriter
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader

__all__ = [
    "Boundedness",
    "Committer",
    "Sink",
    "SinkWriter",
    "Source",
    "Split",
    "SplitEnumerator",
    "SplitReader",
]
