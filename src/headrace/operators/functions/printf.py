"""PRINTF: Java's format strings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from headrace.core.logical_types import (
    ArrayType,
    DecimalType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
)
from headrace.operators.functions.text_forms import writer

_SPECIFIER = re.compile(
    r"%(?:(?P<position>\d+)\$|(?P<again><))?(?P<flags>[-#+ 0,(]*)(?P<width>\d+)?"
    r"(?:\.(?P<precision>\d+))?(?P<kind>[a-zA-Z%])"
)

_LONGEST = Context(prec=2000, rounding=ROUND_HALF_UP)
"""For doubles with all the digits they can have before the point, and many after it."""
_COLLECTIONS = (ArrayType, MapType, MultisetType, RowType)


class _Mismatch(Exception):
    """The format and its arguments do not fit together: Flink gives NULL."""


def printf(types: Sequence[LogicalType], _result: LogicalType) -> Callable[..., str | None]:
    """Values are shown as Flink keeps them: dates, for example, as numbers of days. Collections
    are shown as CAST shows them."""
    writers = [
        writer(type) if isinstance(type, (DecimalType, *_COLLECTIONS)) else None
        for type in types[1:]
    ]

    def call(form: str | None, *values: Any) -> str | None:
        if form is None:
            return None
        shown = [
            value if write is None or value is None else write(value)
            for value, write in zip(values, writers, strict=True)
        ]
        try:
            return _formatted(form, shown)
        except _Mismatch:
            return None

    return call


def _formatted(form: str, values: Sequence[Any]) -> str:
    out: list[str] = []
    end, following, last = 0, 0, -1
    for found in _SPECIFIER.finditer(form):
        if "%" in form[end : found.start()]:
            raise _Mismatch
        out.append(form[end : found.start()])
        end = found.end()
        if found["kind"] in "n%":
            out.append("\n" if found["kind"] == "n" else _padded("%", found))
            continue
        if found["position"]:
            last = int(found["position"]) - 1
        elif not found["again"]:
            last, following = following, following + 1
        if not 0 <= last < len(values):
            raise _Mismatch
        out.append(_one(found, values[last]))
    if "%" in form[end:]:
        raise _Mismatch
    return "".join(out) + form[end:]


def _one(found: re.Match[str], value: Any) -> str:
    kind = found["kind"]
    precision = None if found["precision"] is None else int(found["precision"])
    if kind in "bB":
        text = (
            "false" if value is None else str(value).lower() if isinstance(value, bool) else "true"
        )
    elif value is None:
        text = "null"
    elif kind in "sS":
        text = _text(value)
    elif kind in "cC":
        text = chr(value) if isinstance(value, int) else _refuse()
    elif kind in "dxXo":
        return _number(found, value, kind)
    elif kind in "feEgG":
        return _real(found, value, kind, 6 if precision is None else precision)
    else:
        text = _refuse()
    if precision is not None:
        text = text[:precision]
    return _padded(text.upper() if kind.isupper() else text, found)


def _refuse() -> str:
    raise _Mismatch


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _number(found: re.Match[str], value: Any, kind: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int) or found["precision"]:
        raise _Mismatch
    if kind == "d":
        digits = f"{abs(value):,}" if "," in found["flags"] else str(abs(value))
        return _signed(digits, value < 0, found)
    return _padded(f"{value % 2**64 if value < 0 else value:{kind}}", found, zeros=True)


def _real(found: re.Match[str], value: Any, kind: str, precision: int) -> str:
    if not isinstance(value, float):
        raise _Mismatch
    if value != value or value in (float("inf"), float("-inf")):
        return _padded("NaN" if value != value else "Infinity" if value > 0 else "-Infinity", found)
    if kind == "f":
        quantum = Decimal(1).scaleb(-precision)
        exact = _LONGEST.quantize(Decimal(repr(abs(value))), quantum)
        digits = f"{exact:,f}" if "," in found["flags"] else f"{exact:f}"
    else:
        digits = f"{abs(value):.{precision}{kind}}"
    return _signed(digits, value < 0, found)


def _signed(digits: str, negative: bool, found: re.Match[str]) -> str:
    flags = found["flags"]
    if negative:
        before, after = ("(", ")") if "(" in flags else ("-", "")
    else:
        before, after = "+" if "+" in flags else " " if " " in flags else "", ""
    if "0" in flags and found["width"]:
        digits = digits.rjust(int(found["width"]) - len(before) - len(after), "0")
    return _padded(before + digits + after, found)


def _padded(text: str, found: re.Match[str], zeros: bool = False) -> str:
    width = int(found["width"] or 0)
    if "-" in found["flags"]:
        return text.ljust(width)
    return text.rjust(width, "0" if zeros and "0" in found["flags"] else " ")
