"""The hint LOOKUP('table' = '…', 'async' = 'true', …) of lookup joins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.core.config import parse_duration
from headrace.errors import InvalidQuery
from headrace.operators.table.awaited_calls import AwaitedCalls
from headrace.operators.table.lookup_cache import RetryOptions

_RETRY = ("retry-predicate", "retry-strategy", "fixed-delay", "max-attempts")
_OTHERS = ("table", "async", "output-mode", "capacity", "timeout")
_MISS = "LOOKUP_MISS"


@dataclass(frozen=True)
class LookupHint:
    """What a query wants of its look-ups; None where it says nothing."""

    asynchronous: bool | None = None
    capacity: int | None = None
    timeout_ms: int | None = None
    retry: RetryOptions | None = None

    def settings(self, usual: AwaitedCalls) -> AwaitedCalls:
        """How look-ups run at the same time, where the session says the rest."""
        concurrent = usual.concurrent if self.capacity is None else self.capacity
        timeout = usual.timeout_ms if self.timeout_ms is None else self.timeout_ms
        return replace(usual, concurrent=concurrent, timeout_ms=timeout)


def read_lookup_hint(options: Mapping[str, str]) -> LookupHint:
    """Check a hint's options. Results come in the order of the rows that look up, whatever
    `output-mode` allows: so updates may be looked up, too."""
    for name in options:
        if name not in _OTHERS and name not in _RETRY:
            raise _wrong(f"there is no option '{name}'", "It has: " + ", ".join(_OTHERS + _RETRY))
    if not options.get("table"):
        raise _wrong("'table' is missing", "Name the table, or its alias: 'table' = 'customers'.")
    _read(options, "output-mode", _one_of("ORDERED", "ALLOW_UNORDERED"), "one of ORDERED and "
          "ALLOW_UNORDERED")  # fmt: skip
    return LookupHint(
        _read(options, "async", _flag, "true or false"),
        _read(options, "capacity", _positive, "a whole number above 0"),
        _read(options, "timeout", _milliseconds, "a duration such as '180 s'"),
        _retry(options),
    )


def _retry(options: Mapping[str, str]) -> RetryOptions | None:
    missing = [name for name in _RETRY if name not in options]
    if missing == list(_RETRY):
        return None
    if missing:
        raise _wrong(
            f"of {', '.join(map(repr, _RETRY))} all are needed or none",
            f"Add {', '.join(map(repr, missing))}.",
        )
    _read(options, "retry-predicate", _one_of(_MISS), "'lookup_miss'")
    _read(options, "retry-strategy", _one_of("FIXED_DELAY"), "'fixed_delay'")
    delay = _read(options, "fixed-delay", _milliseconds, "a duration such as '10 s'")
    attempts = _read(options, "max-attempts", _positive, "a whole number above 0")
    return RetryOptions(attempts, delay)


def _read(options: Mapping[str, str], name: str, read: Callable[[str], Any], what: str) -> Any:
    text = options.get(name)
    if text is None:
        return None
    try:
        return read(text)
    except ValueError:
        raise _wrong(f"'{name}' is {what}, not '{text}'") from None


def _flag(text: str) -> bool:
    return _one_of("TRUE", "FALSE")(text) == "TRUE"


def _positive(text: str) -> int:
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def _milliseconds(text: str) -> int:
    return parse_duration(text).to_millis()


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        word = text.strip().upper().replace("-", "_")
        if word not in words:
            raise ValueError(text)
        return word

    return read


def _wrong(what: str, hint: str | None = None) -> InvalidQuery:
    return InvalidQuery(f"the hint LOOKUP: {what}", hint=hint)
