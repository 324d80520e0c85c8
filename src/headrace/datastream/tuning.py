"""Naming and tuning an operator after it was added to a job."""

from __future__ import annotations

from typing import Any, Self

from headrace.datastream.graph_builder import GraphBuilder, positive
from headrace.datastream.slot_sharing_group import SlotSharingGroup
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin


class Tunable:
    """Something that stands for a node of the job's graph."""

    def __init__(self, builder: GraphBuilder, node_id: int):
        self.builder = builder
        self.node_id = node_id

    def _change(self, **fields: Any) -> Self:
        self.builder.change(self.node_id, **fields)
        return self

    def get_name(self) -> str:
        return self.builder[self.node_id].name

    def name(self, name: str) -> Self:
        """How the operator is called in plans, metrics and messages."""
        return self._change(name=_text(name, "name"))

    def uid(self, uid: str) -> Self:
        """By which the operator's state is found again; unique in the job."""
        return self._change(uid=_text(uid, "uid"))

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Like uid, for jobs that know the hash of a former version."""
        return self._change(uid=_text(uid_hash, "uid hash"))

    def set_description(self, description: str) -> Self:
        return self._change(description=_text(description, "description"))

    def set_parallelism(self, parallelism: int) -> Self:
        """How many subtasks the operator has."""
        return self._change(parallelism=positive(parallelism, "parallelism"))

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """How many key groups the operator's state is divided into."""
        return self._change(max_parallelism=positive(max_parallelism, "max parallelism"))

    def force_non_parallel(self) -> Self:
        return self._change(parallelism=1, max_parallelism=1)

    def disable_chaining(self) -> Self:
        """Show the operator as a task of its own."""
        return self._change(chaining="never")

    def start_new_chain(self) -> Self:
        """Show the operator as the first of a new task."""
        return self._change(chaining="head")

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        group = slot_sharing_group
        name = group.get_name() if isinstance(group, SlotSharingGroup) else group
        return self._change(slot_sharing_group=_text(name, "slot sharing group"))

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Accepted: the environment's counts for all operators."""
        if not isinstance(timeout_millis, int) or timeout_millis < -1:
            raise InvalidArgument(
                f"a buffer timeout is a number of milliseconds or -1, not {timeout_millis!r}",
                origin=calling_origin(),
            )
        return self


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidArgument(
            f"a {what} is a string that is not empty, not {value!r}", origin=calling_origin()
        )
    return value
