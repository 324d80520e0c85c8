"""Sources and sinks."""

from headrace.connectors.data_generator import DataGeneratorSource
from headrace.connectors.discard import DiscardingSink
from headrace.datastream.connectors.base import (
    Boundedness,
    Committer,
    DeliveryGuarantee,
    Sink,
    SinkWriter,
    Source,
    Split,
    SplitEnumerator,
    SplitReader,
)
from headrace.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileEnumeratorProvider,
    FileSink,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
)
from headrace.datastream.connectors.number_seq import NumberSequenceSource

__all__ = [
    "Boundedness",
    "BucketAssigner",
    "Committer",
    "DataGeneratorSource",
    "DeliveryGuarantee",
    "DiscardingSink",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "NumberSequenceSource",
    "OutputFileConfig",
    "RollingPolicy",
    "Sink",
    "SinkWriter",
    "Source",
    "Split",
    "SplitEnumerator",
    "SplitReader",
    "StreamFormat",
]
