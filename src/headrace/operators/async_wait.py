"""Answering records by coroutines, many at a time."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import wait
from contextlib import suppress
from inspect import isawaitable
from typing import Any, TypeVar

from headrace.core.async_functions import AsyncFunctionDescriptor
from headrace.core.operator import Batch, Context
from headrace.core.user_code import RecordFailure
from headrace.errors import JobFailed
from headrace.operators.async_calls import GRACE, CallFailed, Calls, Wave, cancelled
from headrace.operators.base import FunctionOperator
from headrace.operators.stateless import emit_flat

T = TypeVar("T")

_LOOK_AGAIN = 1.0
"""Seconds after which a waiting thread looks whether there still is a loop to wait for."""


class AsyncWaitOperator(FunctionOperator):
    """One record in, any number out, once its coroutine has an answer."""

    works_in_waves = True
    _thread: LoopThread | None = None

    def __init__(self, descriptor: AsyncFunctionDescriptor):
        super().__init__(descriptor.async_function)
        self._descriptor = descriptor

    def open(self, ctx: Context) -> None:
        self._thread = LoopThread(f"{ctx.task.name} {ctx.task.subtask}")
        self._calls = Calls(self._descriptor, self.reuses_objects)
        try:
            super().open(ctx)
        except BaseException:
            self._end_loop()  # nobody closes what was not opened
            raise

    def receive(self, side: int, batch: Batch) -> None:
        # All answers are out before this returns. Whatever follows the batch, a watermark or the
        # end of the micro-batch, therefore follows its results too, and nothing is open that a
        # checkpoint would have to hold. Nor is anything emitted while calls are open: the time
        # that later operators take would count against their timeouts.
        if not batch.values:
            return
        wave = Wave(self._calls, batch.values)
        try:
            self._loop_thread.run(wave.run())
        except CallFailed as failed:
            raise _failure(failed, batch) from failed.cause
        stamps = batch.timestamps
        if self._descriptor.output_mode is AsyncFunctionDescriptor.OutputMode.ORDERED:
            emit_flat(self.ctx.emit, wave.answers, stamps)
        else:
            emit_flat(
                self.ctx.emit,
                [wave.answers[number] for number in wave.finished],
                None if stamps is None else [stamps[number] for number in wave.finished],
            )

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
                self._thread.run(cancelled(set(self._calls.abandoned)))
                super().close()
            finally:
                self._end_loop()

    def _end_loop(self) -> None:
        self._loop_thread.stop()
        self._thread = None


def _failure(failed: CallFailed, batch: Batch) -> BaseException:
    if not isinstance(failed.cause, Exception):
        return failed.cause  # SystemExit and the like mean the process, not the record
    key = () if batch.keys is None else (batch.keys[failed.position],)
    return RecordFailure(failed.cause, failed.call, batch.values[failed.position], *key)


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

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function returns that is called inside the loop; if it is async, awaited."""

        async def called() -> Any:
            returned = function(*arguments)
            return await returned if isawaitable(returned) else returned

        return self.run(called())

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
