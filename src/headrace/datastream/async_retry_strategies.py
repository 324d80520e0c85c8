"""When an asynchronous call is attempted again."""

from headrace.core.async_functions import (
    AsyncRetryStrategy,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    RetryPredicate,
)

__all__ = [
    "NO_RETRY_STRATEGY",
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryPredicate",
]

NO_RETRY_STRATEGY: AsyncRetryStrategy[object] = NoRetryStrategy()
