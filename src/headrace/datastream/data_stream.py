"""Streams: a job's records and what can be done with them."""

from headrace.datastream.collecting import CloseableIterator
from headrace.datastream.connected_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)
from headrace.datastream.data_stream_sink import DataStreamSink
from headrace.datastream.keyed_stream import KeyedStream
from headrace.datastream.stream import DataStream
from headrace.datastream.windowed_stream import AllWindowedStream, WindowedStream

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "WindowedStream",
]
