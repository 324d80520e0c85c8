"""PATTERN as a regular expression over variables, and what of a clause Flink does not have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import factorial

from headrace.core.row_pattern_terms import (
    Alternation,
    Anchor,
    Concatenation,
    Exclusion,
    Permutation,
    Quantified,
    RowsPerMatch,
    Term,
    Variable,
    can_be_empty,
    parts_of,
)
from headrace.errors import InvalidQuery, Unsupported
from headrace.sql.nodes import MatchRecognize, PatternPart, position_of

STRICT = "headrace.table.match-recognize.strict"
"""The option under which what Flink does not have is an error."""
_MOST_PERMUTED = 6
_MOST_PLACES = 20_000
_ROWS = {
    "ONE ROW PER MATCH": RowsPerMatch.ONE,
    "ALL ROWS PER MATCH": RowsPerMatch.ALL,
    "ALL ROWS PER MATCH SHOW EMPTY MATCHES": RowsPerMatch.ALL,
    "ALL ROWS PER MATCH OMIT EMPTY MATCHES": RowsPerMatch.NOT_EMPTY,
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS": RowsPerMatch.UNMATCHED,
}
_KINDS = {
    "alternation": (
        "alternatives, A | B,", "write one variable whose condition is the OR of both"
    ),
    "permute": ("PERMUTE", None),
    "exclusion": ("rows left out, {- A -},", "leave the variable out of MEASURES"),
    "anchor": ("^ and $", "leave the anchors out of PATTERN"),
}  # fmt: skip


@dataclass(frozen=True)
class Beyond:
    """Something that Flink does not have, and where it was written."""

    what: str
    at: object | None
    hint: str | None = None

    def error(self) -> Unsupported:
        """For those who want only what Flink has."""
        other = f"set {STRICT} to false"
        hint = other if self.hint is None else f"{self.hint}, or {other}"
        return Unsupported(f"Flink does not have {self.what}", origin=self.at, hint=hint)


def rows_per_match(node: MatchRecognize) -> RowsPerMatch:
    return _ROWS[str(node.args.get("rows") or "ONE ROW PER MATCH")]


def written_term(node: MatchRecognize, *, batch: bool) -> Term:
    """The pattern; InvalidQuery for what cannot be matched at all."""
    pattern = node.args["pattern"]
    unmatched = rows_per_match(node) is RowsPerMatch.UNMATCHED
    for part in _walk(pattern):
        kind = part.args["kind"]
        if kind == "exclusion" and unmatched:
            raise InvalidQuery(
                "rows are left out with {- -}, but WITH UNMATCHED ROWS wants every row",
                origin=position_of(part),
                hint="write ALL ROWS PER MATCH without it, or leave out the signs {- and -}",
            )
        if kind == "anchor" and part.args["at_end"] and not batch:
            raise Unsupported(
                "$ cannot be had in a stream: its partitions have no end",
                origin=position_of(part),
                hint="leave $ out of PATTERN, or run the query in batch mode",
            )
    return _term(pattern)


def _walk(part: PatternPart) -> Iterator[PatternPart]:
    yield part
    for inner in part.expressions:
        yield from _walk(inner)


def _term(part: PatternPart) -> Term:
    term = _unquantified(part)
    low, high = part.args.get("low"), part.args.get("high")
    if low is None:
        return term
    _check_bounds(part, low, high)
    return Quantified(term, low, high, not part.args.get("reluctant"))


def _unquantified(part: PatternPart) -> Term:
    kind = part.args["kind"]
    if kind == "variable":
        return Variable(part.this.name)
    if kind == "anchor":
        return Anchor(bool(part.args["at_end"]))
    parts = tuple(map(_term, part.expressions))
    if kind == "alternation":
        return Alternation(parts)
    if kind == "exclusion":
        return Exclusion(parts[0])
    if kind == "permute":
        return _permutation(part, parts)
    return parts[0] if len(parts) == 1 else Concatenation(parts)


def _permutation(part: PatternPart, parts: tuple[Term, ...]) -> Term:
    made = Permutation(parts)
    if len(parts) > _MOST_PERMUTED or _size(made) > _MOST_PLACES:
        raise Unsupported(
            f"PERMUTE of {len(parts)} parts has more orders than can be followed",
            origin=position_of(part),
            hint=f"permute at most {_MOST_PERMUTED} parts, and none that are long themselves",
        )
    return made


def _size(term: Term) -> int:
    """How many places it has when all orders are written out."""
    inner = sum(map(_size, parts_of(term))) + isinstance(term, Variable)
    return inner * factorial(len(term.parts)) if isinstance(term, Permutation) else inner


def _check_bounds(part: PatternPart, low: int, high: int | None) -> None:
    if high is not None and (high < low or high == 0):
        what = f"variable {part.this.name}" if part.args["kind"] == "variable" else "a group"
        raise InvalidQuery(
            f"{what} may occur {low} to {high} times, which is never",
            origin=position_of(part), hint="the second number must be greater than 0 and the first",
        )  # fmt: skip


def beyond_flink(node: MatchRecognize, term: Term) -> Beyond | None:
    """The first thing that only the SQL standard has and that needs another way of matching."""
    at = position_of(node)
    rows = rows_per_match(node)
    if rows is not RowsPerMatch.ONE:
        hint = "use ONE ROW PER MATCH with what you need of the rows in MEASURES"
        return Beyond(str(node.args["rows"]), at, hint)
    written = list(_flat(node.args["pattern"]))
    for part in written:
        found = _beyond(part)
        if found is not None:
            return found
    return _of_order(written, term)


def _flat(part: PatternPart) -> Iterator[PatternPart]:
    """Parts of a sequence in their order; parentheses around some of them say nothing."""
    if part.args["kind"] == "sequence" and part.args.get("low") is None and part.expressions:
        for inner in part.expressions:
            yield from _flat(inner)
    else:
        yield part


def _beyond(part: PatternPart) -> Beyond | None:
    kind, at = part.args["kind"], position_of(part)
    if kind in _KINDS:
        return Beyond(f"{_KINDS[kind][0]} in PATTERN", at, _KINDS[kind][1])
    if kind == "sequence":
        hint = "quantifiers are for single variables, such as A+ B*"
        return Beyond("a group with a quantifier in PATTERN", at, hint)
    reluctant = part.args.get("reluctant")
    if (part.args.get("low"), part.args.get("high")) == (0, 1) and reluctant:
        name = part.this.name
        hint = f"optional variables are taken where they can be: write {name}?"
        return Beyond(f"{name}??", at, hint)
    return None


def _of_order(written: list[PatternPart], term: Term) -> Beyond | None:
    seen: set[str] = set()
    for part in written:
        name = part.this.name
        if name in seen:
            hint = "give the second place a variable of its own with the same condition"
            return Beyond(f"variable {name} in PATTERN twice", position_of(part), hint)
        seen.add(name)
    if can_be_empty(term):
        hint = "at least one variable must occur: write A+ instead of A*"
        return Beyond("a pattern that matches without any row", position_of(written[0]), hint)
    for before, part in pairwise(written):
        if is_greedy(before) and part.args.get("low") == 0:
            name, greedy = part.this.name, before.this.name
            hint = f"make {greedy} reluctant with a ? after its quantifier, or {name} not optional"
            return Beyond(
                f"optional variable {name} after the greedy variable {greedy}",
                position_of(part), hint,
            )  # fmt: skip
    return None


def is_greedy(part: PatternPart) -> bool:
    """Whether it depends on later rows where the variable ends."""
    low, high = part.args.get("low"), part.args.get("high")
    if low is None or part.args.get("reluctant") or (low, high) == (0, 1):
        return False
    return bool(low != high)


def check_flink_end(node: MatchRecognize) -> None:
    """The last variable of a pattern that Flink could have must not be greedy."""
    last = list(_flat(node.args["pattern"]))[-1]
    if is_greedy(last):
        raise InvalidQuery(
            f"the last variable of PATTERN, {last.this.name}, is greedy: it is never known whether "
            "one more row belongs to the match",
            origin=position_of(last),
            hint="end with a variable without quantifier, make it reluctant with a ? after its "
            "quantifier, or ask for ALL ROWS PER MATCH: such a match ends with the first row that "
            "does not fit, with WITHIN, or with the input",
        )
