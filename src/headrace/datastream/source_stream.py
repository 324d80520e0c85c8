"""A source that gives its records their time: one operator to the user, two in the plan."""

from __future__ import annotations

from typing import Any, Self

from headrace.datastream.stream import DataStream

_ASSIGNER_UID = "{}: timestamps"
_OF_SOURCE_ALONE = ("name", "description")


class TimedSource(DataStream):
    """What `from_source` gives where its strategy has watermarks or timestamps.

    Names and numbers that are set on it are the source's: under its uid a savepoint has where the
    source stood.
    """

    def __init__(self, source: DataStream, timed: DataStream):
        super().__init__(timed._env, timed.node_id)
        self._source_id = source.node_id

    def get_name(self) -> str:
        return self.builder[self._source_id].name

    def _change(self, **fields: Any) -> Self:
        if "chaining" not in fields:
            self.builder.change(self._source_id, **fields)
        own = {name: value for name, value in fields.items() if name not in _OF_SOURCE_ALONE}
        if "uid" in own:
            own["uid"] = _ASSIGNER_UID.format(own["uid"])
        if own:
            self.builder.change(self.node_id, **own)
        return self
