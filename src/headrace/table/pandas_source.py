"""pandas DataFrames as tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from headrace.core import logical_types as lt
from headrace.core.shown_columns import arrow_of_pandas, hold_column, shown_type
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin
from headrace.table.data_types import DataType, RowType
from headrace.table.element_source import ElementSource
from headrace.table.type_mapping import logical_type_of, logical_type_of_arrow


def pandas_source(frame: Any, schema: Any) -> tuple[ElementSource, lt.RowType]:
    """A DataFrame's columns as a source, with the names and types a schema gives them."""
    if not hasattr(frame, "columns") or not hasattr(frame, "dtypes"):
        raise TypeMismatch(f"{type(frame).__name__} is no DataFrame", origin=calling_origin())
    names, types = _named(schema, frame)
    row = lt.RowType(tuple(lt.Field(n, t) for n, t in zip(names, types, strict=True)))
    return ElementSource(row, columns=_fitted(frame, row)), row


def _named(schema: Any, frame: Any) -> tuple[list[str], list[lt.LogicalType]]:
    names = [str(name) for name in frame.columns]
    if schema is None:
        return names, _inferred(frame)
    if isinstance(schema, RowType):
        found = schema.field_names(), [each.logical() for each in schema.field_types()]
    elif not isinstance(schema, list | tuple):
        raise TypeMismatch(
            "the schema of a DataFrame is a ROW, a list of names or a list of types, "
            f"not {schema!r}",
            origin=calling_origin(),
        )
    elif all(isinstance(each, DataType) for each in schema):
        found = names, [logical_type_of(each) for each in schema]
    else:
        found = [str(each) for each in schema], _inferred(frame)
    if len(found[0]) != len(names) or len(found[1]) != len(names):
        raise InvalidArgument(
            f"the DataFrame has {len(names)} columns, the schema {len(found[0])}",
            origin=calling_origin(),
        )
    return found


def _inferred(frame: Any) -> list[lt.LogicalType]:
    try:
        schema = pa.Schema.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        wrong = TypeMismatch if isinstance(error, TypeError) else InvalidArgument  # as Arrow's own
        raise wrong(
            f"the types of a DataFrame's columns cannot be inferred: {error}",
            origin=calling_origin(),
            hint="Give a schema: DataTypes.ROW([DataTypes.FIELD(...), ...]).",
        ) from None
    return [logical_type_of_arrow(field.type) for field in schema]


def _fitted(frame: Any, row: lt.RowType) -> pa.Table:
    """The columns as the Arrow types that the schema's types have."""
    arrays = []
    for at, field in enumerate(row.fields):
        if shown_type(field.type) is None:
            raise TypeMismatch(f"a DataFrame cannot have columns of {field.type}")
        try:
            column = arrow_of_pandas(frame.iloc[:, at], field.type)
            arrays.append(hold_column(column, field.type))
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise TypeMismatch(
                f"column {field.name} cannot be {field.type}: {error}", origin=calling_origin()
            ) from None
    return pa.Table.from_arrays(arrays, names=list(row.names))
