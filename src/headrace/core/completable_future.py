"""A result that is there later."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, Generic, TypeVar

__all__ = ["CompletableFuture"]

T = TypeVar("T")


class CompletableFuture(Generic[T]):
    """Waits for a result that another thread completes."""

    def __init__(self, future: Future[T] | None = None) -> None:
        self._future: Future[T] = Future() if future is None else future

    @staticmethod
    def completed(value: T) -> CompletableFuture[T]:
        """A future whose result is already there."""
        future: CompletableFuture[T] = CompletableFuture()
        future._future.set_result(value)
        return future

    def cancel(self) -> bool:
        """Stop waiting, if the result is not there and nobody works on it yet."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        return self._future.cancelled()

    def done(self) -> bool:
        """Whether there is a result, an error, or nothing more to wait for."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> T:
        """The result, waiting for it; an error is raised."""
        return self._future.result(timeout)

    def exception(self) -> BaseException | None:
        """The error, if there is one by now; does not wait."""
        if not self._future.done():
            return None
        try:
            return self._future.exception()
        except CancelledError as cancelled:
            return cancelled

    def add_done_callback(self, callback: Callable[[CompletableFuture[T]], Any]) -> None:
        """Call `callback` with this future once it is done."""
        self._future.add_done_callback(lambda _: callback(self))

    def __repr__(self) -> str:
        if not self.done():
            return "CompletableFuture(waiting)"
        error = self.exception()
        return (
            f"CompletableFuture({self.result()!r})"
            if error is None
            else (f"CompletableFuture(failed: {error!r})")
        )
