"""CAST and TRY_CAST of every type to every other."""

from __future__ import annotations

from compare.case import NOTHING, Case
from compare.expression_cases import expressions
from compare.kinds_of_values import EVERY, NUMBERS, PLAIN, TEXTS, Kind

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
    casts = [f"{word}(v AS {target.sql})" for target in EVERY]
    return expressions(f"{word} of {kind.sql}", casts, source=kind.source(), by="n", core=True)


def _texts_as_every_type() -> Case:
    casts = [f"TRY_CAST(v AS {target.sql})" for target in EVERY]
    return expressions("TRY_CAST of texts", casts, source=_BAD_TEXTS.source(), by="n", core=True)


def _natively(kind: Kind) -> Case:
    casts = [f"CAST(v AS {target.sql})" for target in PLAIN]
    name = f"CAST of {kind.sql} in batch mode"
    return expressions(name, casts, source=kind.source(), by="n", setting=NOTHING.in_batch_mode())
