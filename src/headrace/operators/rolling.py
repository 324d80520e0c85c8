"""sum, min, max, min_by and max_by as reduce functions."""

from __future__ import annotations

from typing import Any

from headrace.core.functions import ReduceFunction
from headrace.core.rows import Row
from headrace.errors import TypeMismatch


class RollingAggregate(ReduceFunction):
    """Combines two records by one of their fields, never changing either."""

    def __init__(self, kind: str, position: int | str):
        self.kind = kind
        self.position = position

    def reduce(self, value1: Any, value2: Any) -> Any:
        one, two = self._field(value1), self._field(value2)
        match self.kind:
            case "min_by":
                return value2 if two < one else value1
            case "max_by":
                return value2 if two > one else value1
            case "min":
                return self._with(value1, min(one, two))
            case "max":
                return self._with(value1, max(one, two))
            case _:
                return self._with(value1, one + two)

    def _field(self, value: Any) -> Any:
        if isinstance(value, tuple | list | Row | dict):
            try:
                return value[self.position]  # type: ignore[index]
            except (IndexError, KeyError, TypeError, AttributeError, ValueError):
                raise TypeMismatch(
                    f"{self.kind}() asks for field {self.position!r}, which {value!r} lacks"
                ) from None
        if self.position != 0:
            raise TypeMismatch(
                f"{self.kind}() asks for field {self.position!r} of a {type(value).__name__}",
                hint="A value without fields has only field 0: itself.",
            )
        return value

    def _with(self, value: Any, field: Any) -> Any:
        if isinstance(value, tuple):
            fields = list(value)
            fields[self.position] = field  # type: ignore[index]
            return tuple(fields)
        if isinstance(value, list | dict):
            changed = value.copy()
            changed[self.position] = field  # type: ignore[index]
            return changed
        if isinstance(value, Row):
            row = Row(*value)
            row.set_row_kind(value.get_row_kind())
            names = getattr(value, "_fields", None)
            if names:
                row.set_field_names(names)
            row[self.position] = field
            return row
        return field
