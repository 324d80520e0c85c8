"""What sources and sinks are, for those who write their own."""

from headrace.connectors.delivery import DeliveryGuarantee
from headrace.core.sink import Committer, Sink, SinkWriter
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader

__all__ = [
    "Boundedness",
    "Committer",
    "DeliveryGuarantee",
    "Sink",
    "SinkWriter",
    "Source",
    "Split",
    "SplitEnumerator",
    "SplitReader",
]
