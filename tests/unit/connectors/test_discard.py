"""The discarding sink."""

from headrace.core.operator import TaskInfo
from headrace.datastream.connectors import DiscardingSink, Sink


def test_it_keeps_nothing_and_says_so_to_the_planner():
    sink = DiscardingSink()
    assert isinstance(sink, Sink)
    assert sink.discards
    writer = sink.create_writer(TaskInfo("Sink", "uid"))
    writer.write("anything", None)
    assert writer.prepare_commit() == []
    assert sink.create_committer() is None
