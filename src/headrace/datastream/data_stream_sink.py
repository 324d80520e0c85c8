"""The end of a stream."""

from __future__ import annotations

from headrace.datastream.tuning import Tunable


class DataStreamSink(Tunable):
    """Names and tunes a sink."""
