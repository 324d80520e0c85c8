"""How to reach a database, and how to write to it, as programs say it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from headrace.connectors.argument_checks import require_instance
from headrace.connectors.jdbc.addresses import parse_address
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

__all__ = ["JdbcConnectionOptions", "JdbcExactlyOnceOptions", "JdbcExecutionOptions"]


def _whole(value: Any, least: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidArgument(
            f"{what} is a whole number of at least {least}, not {value!r}", origin=calling_origin()
        )
    return value


def _text(value: Any, what: str) -> str:
    return require_instance(value, str, what)


class JdbcConnectionOptionsBuilder:
    """Made step by step; `with_url` is what must be there."""

    def __init__(self) -> None:
        self._options = JdbcConnectionOptions()

    def with_url(self, url: str) -> JdbcConnectionOptionsBuilder:
        parse_address(url)
        return self._with(url=url)

    def with_driver_name(self, driver_name: str) -> JdbcConnectionOptionsBuilder:
        """Programs may name Java's driver; the address says which one is used."""
        return self._with(driver_name=_text(driver_name, "with_driver_name"))

    def with_user_name(self, user_name: str) -> JdbcConnectionOptionsBuilder:
        return self._with(user_name=_text(user_name, "with_user_name"))

    def with_password(self, password: str) -> JdbcConnectionOptionsBuilder:
        if not isinstance(password, str):  # whatever it is, it is not shown
            raise InvalidArgument("the password is a text", origin=calling_origin())
        return self._with(password=password)

    def with_connection_check_timeout_seconds(
        self, connection_check_timeout_seconds: int
    ) -> JdbcConnectionOptionsBuilder:
        """For how long a server that does not answer is tried again."""
        timeout = _whole(connection_check_timeout_seconds, 0, "the timeout in seconds")
        return self._with(timeout_s=timeout)

    def _with(self, **settings: Any) -> JdbcConnectionOptionsBuilder:
        self._options = replace(self._options, **settings)
        return self

    def build(self) -> JdbcConnectionOptions:
        if not self._options.url:
            raise InvalidArgument(
                "the connection has no address",
                origin=calling_origin(),
                hint="Call with_url('jdbc:postgresql://host:5432/database').",
            )
        return self._options


@dataclass(frozen=True)
class JdbcConnectionOptions:
    """Where a database is, and as whom to speak with it."""

    url: str = field(default="", repr=False)
    """Not shown: it may hold a password."""
    driver_name: str | None = None
    user_name: str | None = None
    password: str | None = field(default=None, repr=False)
    timeout_s: int = 60

    JdbcConnectionOptionsBuilder = JdbcConnectionOptionsBuilder

    def get_db_url(self) -> str:
        return self.url

    def get_driver_name(self) -> str | None:
        return self.driver_name

    def get_user_name(self) -> str | None:
        return self.user_name

    def get_password(self) -> str | None:
        return self.password


class JdbcExecutionOptionsBuilder:
    """Made step by step."""

    def __init__(self) -> None:
        self._options = JdbcExecutionOptions()

    def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptionsBuilder:
        """After how long at the latest rows are written; 0: not because of the time."""
        interval = _whole(interval_ms, 0, "the interval in milliseconds")
        self._options = replace(self._options, batch_interval_ms=interval)
        return self

    def with_batch_size(self, size: int) -> JdbcExecutionOptionsBuilder:
        """How many rows are written together; 0: as many as a checkpoint has."""
        self._options = replace(self._options, batch_size=_whole(size, 0, "the batch size"))
        return self

    def with_max_retries(self, max_retries: int) -> JdbcExecutionOptionsBuilder:
        """How often rows are written again that could not be."""
        retries = _whole(max_retries, 0, "the number of retries")
        self._options = replace(self._options, max_retries=retries)
        return self

    def build(self) -> JdbcExecutionOptions:
        return self._options


@dataclass(frozen=True)
class JdbcExecutionOptions:
    """When rows are written, and how often that is tried."""

    batch_interval_ms: int = 0
    batch_size: int = 5000
    max_retries: int = 3

    Builder = JdbcExecutionOptionsBuilder

    @staticmethod
    def builder() -> JdbcExecutionOptionsBuilder:
        return JdbcExecutionOptionsBuilder()

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        return JdbcExecutionOptions()

    def get_batch_interval_ms(self) -> int:
        return self.batch_interval_ms

    def get_batch_size(self) -> int:
        return self.batch_size

    def get_max_retries(self) -> int:
        return self.max_retries


class JdbcExactlyOnceOptionsBuilder:
    """Made step by step."""

    def __init__(self) -> None:
        self._options = JdbcExactlyOnceOptions()

    def with_max_commit_attempts(self, attempts: int) -> JdbcExactlyOnceOptionsBuilder:
        """How often a commit is tried before the job fails, and tries again when it restarts."""
        found = _whole(attempts, 1, "the number of attempts to commit")
        self._options = replace(self._options, max_commit_attempts=found)
        return self

    def with_timeout_sec(self, timeout_sec: int) -> JdbcExactlyOnceOptionsBuilder:
        """How long a statement waits for rows that another transaction holds."""
        found = _whole(timeout_sec, 1, "the timeout in seconds")
        self._options = replace(self._options, timeout_s=found)
        return self

    def build(self) -> JdbcExactlyOnceOptions:
        return self._options


@dataclass(frozen=True)
class JdbcExactlyOnceOptions:
    """How transactions are prepared and committed."""

    max_commit_attempts: int = 3
    timeout_s: int = 60

    Builder = JdbcExactlyOnceOptionsBuilder

    @staticmethod
    def builder() -> JdbcExactlyOnceOptionsBuilder:
        return JdbcExactlyOnceOptionsBuilder()

    @staticmethod
    def defaults() -> JdbcExactlyOnceOptions:
        return JdbcExactlyOnceOptions()
