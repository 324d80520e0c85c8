"""CAST and TRY_CAST of every type to every other."""

from __future__ import annotations

from compare.case import NOTHING, Case
from compare.expression_cases import expressions
from compare.kinds_of_values import EVERY, INTERVALS, NUMBERS, PLAIN, TEXTS, Kind

_BAD_TEXTS = Kind(
    "STRING",
    (
        "'abc'",
        "''",
        "'1.5'",
        "'1e3'",
        "'300'",
        "'true'",
        "'T'",
        "'2020-02-30'",
        "'2020-1-1'",
        "'12:34'",
        "'2020-01-01 1:2:3'",
        "'NaN'",
        "'-0'",
        "' '",
        "'12x'",
        "'2020-04-31 12:00:00'",
        "'2020-01-01 24:00:00'",
        "'2020-01-32'",
    ),
)


def cases() -> list[Case]:
    whole = [_to_every_type(kind) for kind in EVERY]
    return [*whole, _texts_as_every_type(), *(_natively(kind) for kind in NUMBERS)]


def _to_every_type(kind: Kind) -> Case:
    word = "TRY_CAST" if kind in TEXTS else "CAST"  # a text may mean nothing to a type
    casts = [_cast(word, target) for target in EVERY]
    return expressions(f"{word} of {kind.sql}", casts, source=kind.source(), by="n", core=True)


def _cast(word: str, target: Kind) -> str:
    """As text, where PyFlink cannot collect the values of a type, or not whole."""
    text = f"{word}(v AS {target.sql})"
    hidden = target in INTERVALS or target.sql in ("TIMESTAMP(6)", "TIMESTAMP_LTZ(3)")
    return f"CAST({text} AS STRING)" if hidden else text


def _texts_as_every_type() -> Case:
    casts = [_cast("TRY_CAST", target) for target in EVERY]
    return expressions("TRY_CAST of texts", casts, source=_BAD_TEXTS.source(), by="n", core=True)


def _natively(kind: Kind) -> Case:
    casts = [_cast("CAST", target) for target in PLAIN]
    name = f"CAST of {kind.sql} in batch mode"
    return expressions(name, casts, source=kind.source(), by="n", setting=NOTHING.in_batch_mode())
