"""Answering records by coroutines, many at a time."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import wait
from contextlib import suppress
from inspect import isawaitable
from itertools import repeat, takewhile
from typing import Any, TypeVar

from headrace.core.async_functions import AsyncFunctionDescriptor
from headrace.core.operator import Batch, Context, LateAnswers
from headrace.core.user_code import RecordFailure
from headrace.errors import JobFailed
from headrace.operators.async_calls import GRACE, CallFailed, Calls, OpenCalls, cancelled
from headrace.operators.base import FunctionOperator
from headrace.operators.stateless import emit_flat

T = TypeVar("T")

_Asked = tuple[Any, int | None, Any]
"""A record that has no answer yet: its value, its time, its key."""
_NO_KEY = object()
_HELD_AT_MOST = 10_000
"""Records whose answers are waited for when there are so many, where nobody comes back for them."""
_LOOK_AGAIN = 1.0
"""Seconds after which a waiting thread looks whether there still is a loop to wait for."""


class AsyncWaitOperator(FunctionOperator):
    """One record in, any number out, once its coroutine has an answer.

    Where the engine comes back for answers they leave when they are there, and records after them
    are asked about meanwhile; otherwise all are out before `receive` returns. Whatever follows a
    record, a watermark or a barrier, follows its results, too: nothing is open that a checkpoint
    would have to hold.
    """

    _thread: LoopThread | None = None

    def __init__(self, descriptor: AsyncFunctionDescriptor):
        super().__init__(descriptor.async_function)
        self._descriptor = descriptor

    def open(self, ctx: Context) -> None:
        self._thread = LoopThread(f"{ctx.task.name} {ctx.task.subtask}")
        self._calls = Calls(self._descriptor, self.reuses_objects)
        self._open: OpenCalls = self._thread.call(OpenCalls, self._calls, self._note_answer)
        self._next = 0
        self._unanswered: dict[int, _Asked] = {}
        """By number, in the order in which they came."""
        self._waiting: dict[int, list[Any]] = {}
        """Answers that may not leave before an earlier one."""
        self._is_told = False
        try:
            super().open(ctx)
        except BaseException:
            self._end_loop()  # nobody closes what was not opened
            raise

    def receive(self, side: int, batch: Batch) -> None:
        if not batch.values:
            return
        first, self._next = self._next, self._next + len(batch.values)
        stamps = batch.timestamps or repeat(None)
        keys = batch.keys or repeat(_NO_KEY)
        asked = zip(batch.values, stamps, keys, strict=False)
        self._unanswered.update(enumerate(asked, first))
        self._loop_thread.soon(self._open.add, list(enumerate(batch.values, first)))
        if not self.ctx.answers_later or len(self._unanswered) >= self._held_at_most:
            self.settle()

    @property
    def late_answers(self) -> LateAnswers:
        return self

    @property
    def capacity(self) -> int:
        return self._descriptor.capacity

    @property
    def _held_at_most(self) -> int:
        return max(_HELD_AT_MOST, 2 * self.capacity)

    @property
    def unanswered(self) -> int:
        return len(self._unanswered)

    @property
    def has_answers(self) -> bool:
        return self._is_told or (bool(self._unanswered) and not self._loop_thread.is_alive)

    def _note_answer(self) -> None:
        if not self._is_told:
            self._is_told = True
            self.ctx.wake()

    def settle(self) -> None:
        # Nothing is emitted while this waits: it could not leave, and the time that later
        # operators take would count against the timeouts of what is open.
        if self._unanswered:
            self._loop_thread.run(self._open.all_answered())
            self.emit_answers()

    def emit_answers(self) -> None:
        self._is_told = False  # first: what is answered from now on is told of again
        if not self._loop_thread.is_alive:
            raise _stopped()
        answered, failed = self._open.take()
        if failed is not None:
            raise self._give_up(failed) from failed.cause
        if self._descriptor.output_mode is AsyncFunctionDescriptor.OutputMode.ORDERED:
            answered = self._in_order(answered)
        stamps = [self._unanswered.pop(number)[1] for number, _ in answered]
        timed = any(stamp is not None for stamp in stamps)
        emit_flat(self.ctx.emit, [results for _, results in answered], stamps if timed else None)

    def _in_order(self, answered: list[tuple[int, list[Any]]]) -> list[tuple[int, list[Any]]]:
        """Those that need not wait for an earlier one."""
        self._waiting.update(answered)
        free = takewhile(self._waiting.__contains__, self._unanswered)
        return [(number, self._waiting.pop(number)) for number in list(free)]

    def _give_up(self, failed: CallFailed) -> BaseException:
        self._loop_thread.run(self._open.give_up())
        value, _, key = self._unanswered[failed.number]
        self._unanswered.clear()
        self._waiting.clear()
        if not isinstance(failed.cause, Exception):
            return failed.cause  # SystemExit and the like mean the process, not the record
        keys = () if key is _NO_KEY else (key,)
        return RecordFailure(failed.cause, failed.call, value, *keys)

    @property
    def _loop_thread(self) -> LoopThread:
        assert self._thread is not None, "the operator has not been opened"
        return self._thread

    def _lifecycle(self, step: str, *arguments: Any) -> None:
        # Inside the loop, so that what `open` makes may belong to it; `async def` is welcome.
        try:
            self._loop_thread.call(getattr(self.function, step), *arguments)
        except Exception as error:
            raise RecordFailure(error, step) from error

    def close(self) -> None:
        if self._thread is not None:
            try:
                self._thread.run(self._open.give_up())
                self._thread.run(cancelled(set(self._calls.abandoned)))
                super().close()
            finally:
                self._end_loop()

    def _end_loop(self) -> None:
        self._loop_thread.stop()
        self._thread = None


class LoopThread:
    """Runs coroutines for another thread, and whatever they start between two calls.

    A client that a function keeps goes on sending heartbeats and noticing closed connections
    while no micro-batch runs; it would not if the loop ran only while records are there.
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        # A daemon: user code that never gives way must not keep a worker from ending.
        self._thread = threading.Thread(target=_turn, args=(self._loop,), name=name, daemon=True)
        self._thread.start()
        # An operator that is dropped without being closed, as after a crash, leaves no thread.
        weakref.finalize(self, _stop_soon, self._loop)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function returns that is called inside the loop; if it is async, awaited."""

        async def called() -> Any:
            returned = function(*arguments)
            return await returned if isawaitable(returned) else returned

        return self.run(called())

    def soon(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have a function called inside the loop, without waiting for it."""
        with suppress(RuntimeError):  # it is closed: who waits for the outcome is told
            self._loop.call_soon_threadsafe(function, *arguments)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine; if the waiting is interrupted, the coroutine is cancelled."""
        if not self._thread.is_alive():
            work.close()
            raise _stopped()
        running = asyncio.run_coroutine_threadsafe(_outcome(work), self._loop)
        try:
            while not wait([running], _LOOK_AGAIN).done:
                if not self._thread.is_alive():
                    raise _stopped()
        except BaseException:
            running.cancel()
            raise
        result, error = running.result()
        if error is not None:
            raise _stopped() if isinstance(error, asyncio.CancelledError) else error
        return result  # type: ignore[return-value]

    def stop(self) -> None:
        """Cancel what is running and end the thread."""
        _stop_soon(self._loop)
        self._thread.join(2 * GRACE)


async def _outcome(work: Coroutine[Any, Any, T]) -> tuple[T | None, BaseException | None]:
    # Caught here, since SystemExit coming out of a task would end the loop itself.
    try:
        return await work, None
    except BaseException as error:
        return None, error


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(_wind_up(loop))
        asyncio.set_event_loop(None)
        loop.close()


async def _wind_up(loop: asyncio.AbstractEventLoop) -> None:
    await cancelled({task for task in asyncio.all_tasks() if task is not asyncio.current_task()})
    await loop.shutdown_asyncgens()


def _stop_soon(loop: asyncio.AbstractEventLoop) -> None:
    with suppress(RuntimeError):  # it was closed already
        loop.call_soon_threadsafe(loop.stop)


def _stopped() -> JobFailed:
    return JobFailed(
        "the event loop of an async function was stopped while it was needed",
        hint="Do not call stop() on it, nor sys.exit() in a task of your own.",
    )
