"""Functions at the edges: zero, negative, beyond the end, NULL, wide characters."""

from __future__ import annotations

from compare.case import NOTHING, Case
from compare.expression_cases import expressions
from compare.texts import read_texts

_UNITS = (
    *("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"),
    *("DECADE", "CENTURY", "MILLENNIUM", "DOW", "ISODOW", "DOY", "ISOYEAR", "EPOCH"),
    *("MILLISECOND", "MICROSECOND"),
)


def cases() -> list[Case]:
    batch = NOTHING.in_batch_mode()
    found = []
    for name, lines in read_texts("functions").items():
        texts = [text for line in lines for text in _with_units(line)]
        found.append(expressions(name, texts, core=name != "failures"))
        found.append(expressions(f"{name} in batch mode", texts, setting=batch))
    return found


def _with_units(line: str) -> list[str]:
    return [line.format(unit=unit) for unit in _UNITS] if "{unit}" in line else [line]
