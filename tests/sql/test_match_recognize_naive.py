"""Random patterns over random rows, against a matcher that tries every way from every row.

Where several matches from the same row wait together for an earlier one that is still open, which
of them counts is up to the order of a heap, as in Flink. No seed here comes to that.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from tests.conftest import PERCENT_OF_EXAMPLES
from tests.sql import sql_cases

Taken = tuple[tuple[int, int], ...]
"""Rows of a partial match: number of the variable and the row's price."""
Condition = Callable[[Taken, int, int], bool]
"""Of the rows so far, the variable's number and the price of the row in question."""
QUANTIFIERS = {
    "": (1, 1), "?": (0, 1), "+": (1, 99), "+?": (1, 99), "*": (0, 99), "*?": (0, 99),
    "{2}": (2, 2), "{1,2}": (1, 2), "{2,}": (2, 99), "{,2}": (0, 2), "{2,3}?": (2, 3),
}  # fmt: skip
SCHEMA = [
    "id INT", "price INT", "rowtime AS TO_TIMESTAMP_LTZ(id, 0)",
    "WATERMARK FOR rowtime AS rowtime",
]  # fmt: skip


@dataclass(frozen=True)
class Variable:
    name: str
    quantifier: str
    condition: str
    holds: Condition

    @property
    def bounds(self) -> tuple[int, int]:
        return QUANTIFIERS[self.quantifier]

    @property
    def greedy(self) -> bool:
        return self.quantifier in ("+", "*", "{1,2}", "{2,}", "{,2}")

    @property
    def optional(self) -> bool:
        return self.bounds[0] == 0


def _own(taken: Taken, number: int) -> list[int]:
    return [price for variable, price in taken if variable == number]


def _conditions(rng: random.Random, name: str, at: int) -> list[tuple[str, Condition]]:
    limit, total = rng.randint(1, 8), rng.randint(5, 15)
    found: list[tuple[str, Condition]] = [
        (f"price < {limit}", lambda taken, number, price: price < limit),
        (f"{name}.price > {limit}", lambda taken, number, price: price > limit),
        (
            f"LAST({name}.price, 1) IS NULL OR price >= LAST({name}.price, 1)",
            lambda taken, number, price: price >= ([price, *_own(taken, number)][-1]),
        ),
        (
            "price > LAST(price, 1)",
            lambda taken, number, price: bool(taken) and price > taken[-1][1],
        ),
        ("price <= FIRST(price)", lambda taken, number, price: price <= (*taken, (0, price))[0][1]),
        (
            f"SUM({name}.price) < {total}",
            lambda taken, number, price: sum(_own(taken, number)) + price < total,
        ),
        ("COUNT(*) < 5", lambda taken, number, price: len(taken) < 4),
    ]
    if at:
        found.append(
            (
                f"{name}.price > {'ABC'[at - 1]}.price",
                lambda taken, number, price: any(
                    price > before for before in _own(taken, number - 1)[-1:]
                ),
            )
        )
    return found


def _variables(rng: random.Random) -> list[Variable]:
    while True:
        made = [
            Variable(name, rng.choice(list(QUANTIFIERS)), *rng.choice(_conditions(rng, name, at)))
            for at, name in enumerate("ABC"[: rng.randint(2, 3)])
        ]
        after_greedy = any(one.greedy and two.optional for one, two in pairwise(made))
        if not (made[-1].greedy or after_greedy or all(each.optional for each in made)):
            return made


def _ways(variables: list[Variable], at: int, taken: Taken, price: int) -> Iterator[Taken]:
    """What becomes of a partial match at a variable with a row; () is never one of them."""
    for number in range(at, len(variables)):
        each = variables[number]
        count = len(_own(taken, number))
        holds = each.holds(taken, number, price)
        if holds and count < each.bounds[1]:
            yield (*taken, (number, price))
        if count < each.bounds[0] or (each.greedy and holds):
            return


def _is_complete(variables: list[Variable], taken: Taken) -> bool:
    return all(len(_own(taken, number)) >= each.bounds[0] for number, each in enumerate(variables))


def _end(variables: list[Variable], prices: list[int], start: int) -> int | None:
    """The last row of the match from a row on; -1: there is none, None: it is open."""
    partial: set[Taken] = {()}
    for at in range(start, len(prices)):
        partial = {
            way for taken in partial
            for way in _ways(variables, taken[-1][0] if taken else 0, taken, prices[at])
        }  # fmt: skip
        if any(_is_complete(variables, taken) for taken in partial):
            return at
        if not partial:
            return -1
    return None


def _naive(variables: list[Variable], prices: list[int], past_last: bool) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start in range(len(prices)):
        if past_last and found and start <= found[-1][1]:
            continue
        end = _end(variables, prices, start)
        if end is None:
            break  # as long as it is open, later matches wait for it
        if end >= 0:
            found.append((start, end))
    return found


@pytest.mark.parametrize("seed", range(60 * PERCENT_OF_EXAMPLES // 100))
def test_like_the_naive_matcher(seed: int) -> None:
    rng = random.Random(seed)
    variables = _variables(rng)
    prices = [rng.randint(0, 9) for _ in range(rng.randint(5, 14))]
    past_last = rng.random() < 0.5
    skip = "PAST LAST ROW" if past_last else "TO NEXT ROW"
    sql = (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY rowtime MEASURES FIRST(id) AS f, id AS l "
        f"AFTER MATCH SKIP {skip} PATTERN ({' '.join(v.name + v.quantifier for v in variables)}) "
        f"DEFINE {', '.join(f'{v.name} AS {v.condition}' for v in variables)}) AS m"
    )
    rows = [{"kind": "+I", "row": [at, price]} for at, price in enumerate(prices)]
    table = {"name": "t", "schema": SCHEMA, "rows": rows}
    case: dict[str, Any] = {"id": "random", "mode": "streaming", "sql": sql, "tables": [table]}
    wanted = [f"+I[{first}, {last}]" for first, last in _naive(variables, prices, past_last)]
    got = sql_cases.lines(case, crash=seed % 2 == 0)
    assert got == wanted, f"{sql}\n{prices}"
