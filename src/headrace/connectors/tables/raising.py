"""Spark SQL that ends a query with an error the user sees as it is."""

from __future__ import annotations

from headrace.connectors.tables.text_columns import base64_text, sql_text
from headrace.spark.failures import FAILURE_MARK


def raised(message: str, hint: str) -> str:
    """An expression that raises TypeMismatch; `message` is Spark SQL, `hint` is a text.

    Spark keeps only an exception's text: the error travels in it, packed as the driver expects.
    """
    fields = (
        f"named_struct('kind', 'TypeMismatch', 'message', {message}, 'hint', {sql_text(hint)}, "
        "'origin', array())"
    )
    packed = base64_text(f"CAST(to_json({fields}) AS BINARY)")
    return f"raise_error(concat({sql_text(FAILURE_MARK + ' ')}, {packed}))"
