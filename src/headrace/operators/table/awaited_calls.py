"""Calls whose results are awaited: many at the same time, in one loop of the process.

How many, how long and how often again is a setting of the session. It is read when an expression is
compiled, or an operator made, and travels with them.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from headrace.core.user_code import RecordFailure
from headrace.errors import UserFunctionFailed

Start = Callable[[], Awaitable[Any]]


@dataclass(frozen=True)
class AwaitedCalls:
    """How calls that are awaited are made; the defaults are Flink's for scalar functions."""

    concurrent: int = 10
    """How many run at the same time."""
    timeout_ms: int = 180_000
    """How long one may take, with all its attempts; 0: as long as it wants."""
    retries: int = 3
    """How often one that fails is made again."""
    delay_ms: int = 100
    """How long to wait before."""


USUAL = AwaitedCalls()
_settings: ContextVar[AwaitedCalls] = ContextVar("headrace awaited calls", default=USUAL)


def awaited_calls() -> AwaitedCalls:
    return _settings.get()


@contextmanager
def session_awaited_calls(settings: AwaitedCalls) -> Iterator[None]:
    """Expressions compiled inside make their calls so."""
    token = _settings.set(settings)
    try:
        yield
    finally:
        _settings.reset(token)


def is_awaited(function: Any) -> bool:
    """Whether a call of it gives something to be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 (whether it is a coroutine is asked)
    )


def results_of(
    starts: Iterable[Start],
    settings: AwaitedCalls,
    what: str,
    records: Sequence[Any] | None = None,
) -> list[Any]:
    """The results of calls, in their order; the first that fails for good ends all.

    With the records they are made for, a failure names its record.
    """
    return _loop().run_until_complete(_all(starts, settings, what, records))


async def _all(
    starts: Iterable[Start], settings: AwaitedCalls, what: str, records: Sequence[Any] | None
) -> list[Any]:
    gate = asyncio.Semaphore(settings.concurrent)

    async def one(at: int, start: Start) -> Any:
        async with gate:
            try:
                return await _in_time(start, settings, what)
            except Exception as error:
                if records is None:
                    raise
                raise RecordFailure(error, what, records[at]) from error

    calls = [asyncio.ensure_future(one(at, start)) for at, start in enumerate(starts)]
    return await _gathered(calls)


async def _gathered(calls: Sequence[asyncio.Future[Any]]) -> list[Any]:
    try:
        return list(await asyncio.gather(*calls))
    finally:
        # After a failure the others must not go on in the next batch's loop.
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


async def _in_time(start: Start, settings: AwaitedCalls, what: str) -> Any:
    limit = asyncio.timeout(settings.timeout_ms / 1000 if settings.timeout_ms else None)
    try:
        async with limit:
            return await _retried(start, settings)
    except TimeoutError:
        if not limit.expired():
            raise  # the function's own
        raise took_too_long(what, settings.timeout_ms) from None


def took_too_long(what: str, timeout_ms: int) -> UserFunctionFailed:
    return UserFunctionFailed(f"{what} took longer than {timeout_ms / 1000:g} seconds")


async def _retried(start: Start, settings: AwaitedCalls) -> Any:
    for _ in range(settings.retries):
        try:
            return await start()
        except Exception:  # whatever a function of the user fails with, it is tried again
            await asyncio.sleep(settings.delay_ms / 1000)
    return await start()


_loops: list[asyncio.AbstractEventLoop] = []


def _loop() -> asyncio.AbstractEventLoop:
    """One loop for all calls of the process, so that connections they open stay usable."""
    if not _loops or _loops[0].is_closed():
        _loops[:] = [asyncio.new_event_loop()]
    return _loops[0]
