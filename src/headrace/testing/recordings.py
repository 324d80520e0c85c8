"""What a job under test has given so far."""

from __future__ import annotations

from typing import Any

from headrace.core.output_tag import OutputTag
from headrace.runtime.driver_items import DriverItem
from headrace.testing.taps import OUTPUT, SIDE_OUTPUT

Record = tuple[Any, int | None]


class Recordings:
    """Records with their timestamps, of the output and of each side output."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._sides: dict[str, list[Record]] = {}

    def take_in(self, items: list[DriverItem]) -> None:
        for _, _, kind, payload in items:
            if kind == OUTPUT:
                self.records += _stamped(*payload)
            elif kind == SIDE_OUTPUT:
                tag, values, stamps = payload
                self._sides.setdefault(tag, []).extend(_stamped(values, stamps))

    def take(self) -> list[Record]:
        """The records since the last call."""
        taken, self.records = self.records, []
        return taken

    def side(self, tag: OutputTag | str) -> list[Any]:
        """The values of a side output, as its tag's type shapes them."""
        return _shaped(tag, [value for value, _ in self._sides.get(_name(tag), [])])

    def take_side(self, tag: OutputTag | str) -> list[Any]:
        values = self.side(tag)
        self._sides.pop(_name(tag), None)
        return values

    def tags(self) -> list[str]:
        """The names of the side outputs that hold something."""
        return sorted(name for name, records in self._sides.items() if records)


def _stamped(values: list[Any], stamps: list[int | None] | None) -> list[Record]:
    return list(zip(values, stamps or [None] * len(values), strict=True))


def _name(tag: OutputTag | str) -> str:
    return tag.tag_id if isinstance(tag, OutputTag) else tag


def _shaped(tag: OutputTag | str, values: list[Any]) -> list[Any]:
    coerce = tag.type_info.coercer() if isinstance(tag, OutputTag) else None
    return values if coerce is None else [coerce(value) for value in values]
