"""Tables of made-up rows."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headrace.connectors.data_generator import DataGeneratorSource
from headrace.connectors.tables.options import Options
from headrace.core.logical_types import (
    APPROXIMATE,
    BINARIES,
    CHARACTERS,
    STRING_LENGTH,
    ArrayType,
    BigIntType,
    BooleanType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    FloatType,
    IntType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TimeType,
    TinyIntType,
    YearMonthIntervalType,
)
from headrace.core.numbers import WIDE, single
from headrace.core.source import SplitSpec
from headrace.core.table_connector import CatalogTable, TableConnector, TableSource
from headrace.errors import InvalidArgument, Unsupported

Make = Callable[[random.Random, int], Any]

_BITS = {TinyIntType: 8, SmallIntType: 16, IntType: 32, BigIntType: 64}
_DEFAULT_RATE = 10_000
_DEFAULT_LENGTH = 100
_DEFAULT_PARTS = 3
"""Of arrays, maps and multisets."""
_HEX = "0123456789abcdef"
_DAY_MS = 86_400_000


@dataclass(frozen=True)
class GeneratedRow:
    """Makes the row of a number; the same one whenever it is asked again."""

    makers: tuple[Make, ...]
    seed: int

    def __call__(self, number: int) -> tuple[Any, ...]:
        chance = random.Random(f"{self.seed}-{number}")
        return (0, *(make(chance, number) for make in self.makers))


@dataclass(frozen=True)
class GeneratedSource(TableSource):
    row: GeneratedRow
    rate: int | None
    rows: int | None

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        return self.rows is not None

    def reader(self) -> Any:
        # A bounded table is made as fast as it can be: nobody waits for the clock.
        return SplitSpec(DataGeneratorSource(self.row, self.rows, self.rate))


@dataclass(frozen=True)
class DataGenConnector(TableConnector):
    identifier: str = "datagen"

    def source(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSource:
        given = Options(self.identifier, options)
        rate = given.whole("rows-per-second", _DEFAULT_RATE)
        rows = given.whole("number-of-rows")
        counts: list[int] = []
        makers = tuple(
            _column(given, f"fields.{field.name}", field.type, counts) for field in row.fields
        )
        seed = given.whole("random-seed")
        given.done()
        if counts:
            rows = min(counts) if rows is None else min(rows, *counts)
        seed = time.time_ns() if seed is None else seed
        return GeneratedSource(GeneratedRow(makers, seed), rate, rows)


def _column(given: Options, prefix: str, type: LogicalType, counts: list[int]) -> Make:
    kind = given.choice(f"{prefix}.kind", ("random", "sequence"), "random")
    if kind == "sequence":
        start = int(given.required(f"{prefix}.start"))
        end = int(given.required(f"{prefix}.end"))
        if end < start:
            raise InvalidArgument(f"'{prefix}.end' is before '{prefix}.start'")
        counts.append(end - start + 1)
        return _sequence(start, type)
    rate = float(given.text(f"{prefix}.null-rate", "0") or 0)
    make = _random(given, prefix, type)
    if not rate:
        return make
    return lambda chance, number: None if chance.random() < rate else make(chance, number)


def _sequence(start: int, type: LogicalType) -> Make:
    if isinstance(type, CHARACTERS):
        return lambda chance, number: str(start + number)
    if isinstance(type, DecimalType):
        return lambda chance, number: Decimal(start + number)
    if isinstance(type, APPROXIMATE):
        narrow = single if isinstance(type, FloatType) else float
        return lambda chance, number: narrow(start + number)
    return lambda chance, number: start + number


def _random(given: Options, prefix: str, type: LogicalType) -> Make:
    low, high = given.text(f"{prefix}.min"), given.text(f"{prefix}.max")
    length = given.whole(f"{prefix}.length")
    varies = given.flag(f"{prefix}.var-len")
    past = given.duration_ms(f"{prefix}.max-past") or 0
    if type.__class__ in _BITS:
        half = 2 ** (_BITS[type.__class__] - 1)
        least, most = int(low or -half), int(high or half - 1)
        return lambda chance, number: chance.randint(least, most)
    if isinstance(type, APPROXIMATE):
        lower, upper = float(low or 0), float(high or 1)
        narrow = single if isinstance(type, FloatType) else float
        return lambda chance, number: narrow(chance.uniform(lower, upper))
    if isinstance(type, DecimalType):
        return _decimal(type, low, high)
    if isinstance(type, (*CHARACTERS, *BINARIES)):
        declared = type.length if type.length < STRING_LENGTH else _DEFAULT_LENGTH
        return _text(type, length or declared, varies=varies)
    return _other(given, prefix, type, past, length or _DEFAULT_PARTS)


def _text(type: LogicalType, length: int, *, varies: bool) -> Make:
    def size(chance: random.Random) -> int:
        return chance.randint(1, length) if varies else length

    if isinstance(type, CHARACTERS):
        return lambda chance, number: "".join(chance.choices(_HEX, k=size(chance)))
    return lambda chance, number: chance.randbytes(size(chance))


def _decimal(type: DecimalType, low: str | None, high: str | None) -> Make:
    limit = 10**type.precision - 1
    unit = 10**type.scale
    least = int(WIDE.multiply(Decimal(low), unit)) if low else -limit
    most = int(WIDE.multiply(Decimal(high), unit)) if high else limit
    return lambda chance, number: WIDE.scaleb(Decimal(chance.randint(least, most)), -type.scale)


def _other(given: Options, prefix: str, type: LogicalType, past: int, parts: int) -> Make:
    match type:
        case BooleanType():
            return lambda chance, number: chance.random() < 0.5
        case DateType():
            return lambda chance, number: int(time.time() // 86_400)
        case TimeType():
            return lambda chance, number: chance.randrange(_DAY_MS)
        case YearMonthIntervalType():
            return lambda chance, number: chance.randrange(120_000)
        case DayTimeIntervalType():
            return lambda chance, number: chance.randrange(_DAY_MS)
        case ArrayType(element=element):
            part = _random(given, f"{prefix}.element", element)
            return lambda chance, number: tuple(part(chance, number) for _ in range(parts))
        case MapType(key=key, value=value):
            name, inner = (_random(given, f"{prefix}.key", key),
                           _random(given, f"{prefix}.value", value))  # fmt: skip
            return lambda chance, number: {
                name(chance, number): inner(chance, number) for _ in range(parts)
            }
        case MultisetType(element=element):
            part = _random(given, f"{prefix}.element", element)
            return lambda chance, number: {part(chance, number): 1 for _ in range(parts)}
        case RowType(fields=fields):
            inside = [_random(given, f"{prefix}.{field.name}", field.type) for field in fields]
            return lambda chance, number: tuple(part(chance, number) for part in inside)
    if hasattr(type, "precision"):
        # Rows are of now, or of a time before it as long as 'max-past' says.
        return lambda chance, number: (
            (time.time_ns() // 1_000_000 - (chance.randrange(past) if past else 0)) * 1_000_000
        )
    raise Unsupported(f"datagen has no values of type {type}")
