"""Expressions: JSON."""

from __future__ import annotations

from enum import Enum
from typing import Any, Self

from headrace.table.data_types import DataType
from headrace.table.expression_base import ExpressionBase, said


class JsonType(Enum):
    """What kind of JSON a text may be."""

    VALUE = 0
    SCALAR = 1
    ARRAY = 2
    OBJECT = 3


class JsonExistsOnError(Enum):
    """What json_exists() gives where the text or the path is wrong."""

    TRUE = 0
    FALSE = 1
    UNKNOWN = 2
    ERROR = 3


class JsonValueOnEmptyOrError(Enum):
    """What json_value() gives where there is nothing, or something wrong."""

    NULL = 0
    ERROR = 1
    DEFAULT = 2


class JsonQueryWrapper(Enum):
    """Whether json_query() puts its result into an array."""

    WITHOUT_ARRAY = 0
    CONDITIONAL_ARRAY = 1
    UNCONDITIONAL_ARRAY = 2


class JsonQueryOnEmptyOrError(Enum):
    """What json_query() gives where there is nothing, or something wrong."""

    NULL = 0
    EMPTY_ARRAY = 1
    EMPTY_OBJECT = 2
    ERROR = 3


class JsonOnNull(Enum):
    """Whether NULLs are left out of JSON that is put together."""

    NULL = 0
    ABSENT = 1


class JsonExpressions(ExpressionBase):
    """Functions of text that is JSON."""

    def is_json(self, json_type: JsonType | None = None) -> Self:
        return self._apply("IS_JSON", said(json_type))

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Self:
        return self._apply("JSON_EXISTS", path, said(on_error))

    def json_value(
        self, path: str, returning_type: DataType | None = None,
        on_empty: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_empty: Any = None,
        on_error: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_error: Any = None,
    ) -> Self:  # fmt: skip
        """A single value at a path."""
        type = "STRING" if returning_type is None else returning_type.logical().name()
        return self._apply(
            "JSON_VALUE", path, type, on_empty, default_on_empty, on_error, default_on_error
        )

    def json_query(
        self, path: str, wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
        on_error: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
    ) -> Self:  # fmt: skip
        """An object or array at a path, as JSON."""
        wrapper = wrapping_behavior.name.removesuffix("_ARRAY")
        behaviours = (each.name.replace("_", " ") for each in (on_empty, on_error))
        return self._apply("JSON_QUERY", path, "STRING", wrapper, *behaviours)

    def json_quote(self) -> Self:
        return self._apply("JSON_QUOTE")

    def json_unquote(self) -> Self:
        return self._apply("JSON_UNQUOTE")
