"""Many records waiting for their answers at a time, each answered exactly once."""

from __future__ import annotations

import asyncio
import linecache
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextvars import copy_context
from typing import Any

from headrace.core.async_functions import AsyncFunctionDescriptor
from headrace.core.isolation import isolated
from headrace.core.rows import Row
from headrace.errors import TypeMismatch
from headrace.origin import Origin

INVOKE, TIMEOUT = "async_invoke", "timeout"
GRACE = 5.0
"""Seconds that cancelled coroutines are given to clean up."""
_RECORDS = (str, bytes, dict, Row)
"""What can be iterated over, but is returned by somebody who forgot the list around it."""


class CallFailed(Exception):
    """The record of that number has no answer; `cause` says why."""

    def __init__(self, cause: BaseException, call: str, number: int):
        super().__init__(str(cause))
        self.cause = cause
        self.call = call
        self.number = number


class Calls:
    """How a function is asked for an answer: with which patience, and how often."""

    def __init__(self, descriptor: AsyncFunctionDescriptor, reuses_objects: bool):
        self.function = descriptor.async_function
        self.capacity = descriptor.capacity
        self.patience = descriptor.timeout.to_milliseconds() / 1000
        self.abandoned: set[asyncio.Task[None]] = set()
        """Calls that were too slow and have not ended yet; nobody else holds them."""
        self._reuses_objects = reuses_objects
        self._strategy = descriptor.async_retry_strategy
        predicate = self._strategy.get_retry_predicate()
        self._repeats_result = predicate.result_predicate()
        self._repeats_error = predicate.exception_predicate()
        retries = self._repeats_result is not None or self._repeats_error is not None
        self.ask: Callable[[Any], Awaitable[list[Any]]]
        self.ask = self._ask_again if retries else self._ask_once

    async def _ask_once(self, value: Any) -> list[Any]:
        return self.listed(await self.function.async_invoke(value), INVOKE)

    async def _ask_again(self, value: Any) -> list[Any]:
        """Ask until the answer is good enough or the strategy gives up."""
        attempts = 1
        while True:
            results, error = await self._attempt(value)
            if error is None:
                again = self._repeats_result is not None and self._repeats_result(results)
            else:
                again = self._repeats_error is not None and self._repeats_error(error)
            if not (again and self._strategy.can_retry(attempts)):
                break
            await asyncio.sleep(self._strategy.get_backoff_time_millis(attempts) / 1000)
            attempts += 1
        if error is not None:
            raise error
        return results

    async def _attempt(self, value: Any) -> tuple[list[Any], Exception | None]:
        try:
            answer = await self.function.async_invoke(value)
        except Exception as error:
            return [], error
        return self.listed(answer, INVOKE), None

    def listed(self, answer: Any, call: str) -> list[Any]:
        """The records of an answer, kept apart from what the function may still change."""
        if answer.__class__ is not list and (
            isinstance(answer, _RECORDS) or not isinstance(answer, Iterable)
        ):
            raise self._no_list(answer, call)
        return list(answer) if self._reuses_objects else [isolated(item) for item in answer]

    def _no_list(self, answer: Any, call: str) -> TypeMismatch:
        nothing = "Return [] if there is no result." if answer is None else "Return [result]."
        return TypeMismatch(
            f"{call} of {type(self.function).__name__} must return a list of results, "
            f"not {'None' if answer is None else type(answer).__name__}",
            origin=_definition(getattr(self.function, call)), hint=nothing,
        )  # fmt: skip

    def abandon(self, task: asyncio.Task[None]) -> None:
        """Cancel a call whose answer is no longer waited for."""
        self.abandoned.add(task)
        task.add_done_callback(self.abandoned.discard)
        task.cancel()


def _definition(method: Any) -> Origin | None:
    code = getattr(method, "__code__", None)
    if code is None:
        return None
    line = linecache.getline(code.co_filename, code.co_firstlineno).strip()
    return Origin(code.co_filename, code.co_firstlineno, line)


class OpenCalls:
    """The calls for records, started in their order, of which at most `capacity` are open.

    All of it happens in the event loop, except that `take` may be called by another thread.

    A record's number is its identity from beginning to end: an answer is filed under the number
    its task was made with, and only while that number is open. So neither a late answer nor the
    order of answers can give a record another one's result, or a second one.
    """

    def __init__(self, calls: Calls, on_answer: Callable[[], None]):
        """`on_answer`: called whenever there is something to take."""
        self._calls = calls
        self._on_answer = on_answer
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._waiting: deque[tuple[int, Any]] = deque()
        self._open: dict[int, tuple[Any, asyncio.Task[None], float]] = {}
        """By number: the record, the task and when it was started; oldest first."""
        self._answered: deque[tuple[int, list[Any]]] = deque()
        self._failed: CallFailed | None = None
        self._over: asyncio.Future[None] | None = None
        """Of who waits for the last answer."""
        self._alarm: asyncio.TimerHandle | None = None

    def add(self, records: Iterable[tuple[int, Any]]) -> None:
        """Ask about these, too, as soon as their turn comes."""
        self._waiting.extend(records)
        while self._waiting and len(self._open) < self._calls.capacity and self._failed is None:
            self._start_next()
        if self._alarm is None:
            self._set_alarm()

    async def all_answered(self) -> None:
        """Wait for the last answer, or for the first record that cannot be answered."""
        if (self._open or self._waiting) and self._failed is None:
            self._over = self._loop.create_future()
            await self._over

    def take(self) -> tuple[list[tuple[int, list[Any]]], CallFailed | None]:
        """The records that were answered since the last time, in the order of their answers, and
        what has failed."""
        failed = self._failed
        return [self._answered.popleft() for _ in range(len(self._answered))], failed

    async def give_up(self) -> None:
        """Forget all records, and cancel what is open."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        unanswered = {task for _, task, _ in self._open.values()}
        self._open.clear()
        self._waiting.clear()
        self._answered.clear()
        self._failed = None
        await cancelled(unanswered)

    def _start_next(self) -> None:
        number, value = self._waiting.popleft()
        # A task of its own for each: context variables and cancelling stay with the record.
        # It is mostly started by the one before it, whose variables it would inherit.
        task = self._loop.create_task(self._answer(number, value), context=self._context.copy())
        self._open[number] = (value, task, self._loop.time())

    async def _answer(self, number: int, value: Any) -> None:
        try:
            results = await self._calls.ask(value)
        except BaseException as error:
            if number in self._open:
                self._fail(error, INVOKE, number)
        else:
            if number in self._open:
                self._settle(number, results)

    def _settle(self, number: int, results: list[Any]) -> None:
        del self._open[number]
        self._answered.append((number, results))
        if self._waiting and self._failed is None:
            self._start_next()
        self._say_so(is_last=not self._open)

    def _fail(self, error: BaseException, call: str, number: int) -> None:
        del self._open[number]
        if isinstance(error, asyncio.CancelledError):
            # Not by us: then the record would not be open any more.
            error = RuntimeError("the call was cancelled by something it started or awaited")
        if self._failed is None:
            self._failed = CallFailed(error, call, number)
        self._say_so(is_last=True)

    def _say_so(self, *, is_last: bool) -> None:
        self._on_answer()
        if is_last and self._over is not None and not self._over.done():
            self._over.set_result(None)

    # Every record has the same patience, so the oldest open one is the first to lose it: one
    # alarm for that one does for all, where a timer for each would cost as much as the call.

    def _set_alarm(self) -> None:
        self._alarm = None
        if self._calls.patience > 0 and self._open and self._failed is None:
            _, _, started = next(iter(self._open.values()))
            self._alarm = self._loop.call_at(started + self._calls.patience, self._expire)

    def _expire(self) -> None:
        latest = self._loop.time() - self._calls.patience
        while self._open and self._failed is None:
            number, (value, task, started) = next(iter(self._open.items()))
            if started > latest:
                break
            self._calls.abandon(task)
            try:
                results = self._calls.listed(self._calls.function.timeout(value), TIMEOUT)
            except BaseException as error:
                self._fail(error, TIMEOUT, number)
            else:
                self._settle(number, results)
        self._set_alarm()


async def cancelled(tasks: set[asyncio.Task[Any]]) -> None:
    """Cancel tasks and give them time to clean up, though not for ever."""
    for task in tasks:
        if not task.cancelling():  # cancelling again would cut its cleaning up short
            task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=GRACE)
