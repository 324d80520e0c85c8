"""Sources and sinks."""

from headrace.connectors.discard import DiscardingSink
from headrace.datastream.connectors.base import (
    Boundedness,
    Committer,
    Sink,
    SinkWriter,
    Source,
    Split,
    SplitEnumerator,
    SplitReader,
)
from headrace.datastream.connectors.file_system import (
    FileEnumeratorProvider,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    StreamFormat,
)

__all__ = [
    "Boundedness",
    "Committer",
    "DiscardingSink",
    "FileEnumeratorProvider",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "Sink",
    "SinkWriter",
    "Source",
    "Split",
    "SplitEnumerator",
    "SplitReader",
    "StreamFormat",
]
