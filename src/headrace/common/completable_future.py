"""Results that are there later."""

from headrace.core.completable_future import CompletableFuture

__all__ = ["CompletableFuture"]
