"""A position that only one mode understands is refused by the other: no record comes twice."""

from __future__ import annotations

import pytest

from headrace.core.source import CollectionSpec, TextFilesSpec
from headrace.errors import Unsupported
from headrace.plan.physical import Vertex
from headrace.spark.stream_inputs import _require_understood


def vertex(source):
    return Vertex(1, "uid", "source", 0, 1, 128, None, source)


def test_a_folder_that_was_watched_in_real_time():
    with pytest.raises(Unsupported, match="real time"):
        _require_understood(
            vertex(TextFilesSpec(("/in",), watch=True)), {"splits": {"/in/a": [["/in/a", 0, 3], 3]}}
        )


def test_a_range_that_was_read_in_part():
    with pytest.raises(Unsupported, match="real time"):
        _require_understood(
            vertex(CollectionSpec(())), {"splits": {"a": [None, {"~within": [0, 9, 4]}]}}
        )


def test_positions_that_both_understand():
    _require_understood(vertex(CollectionSpec(())), {"splits": {"a": [None, 4]}})
    _require_understood(vertex(TextFilesSpec(("/in",), watch=True)), {"files": ["file:///in/a"]})
