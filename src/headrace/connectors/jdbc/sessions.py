"""Speaking with a database that may be away for a while."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from headrace.connectors.jdbc.databases import Cause, Database, explain
from headrace.connectors.pauses import growing_pauses
from headrace.errors import HeadraceError

_LOG = logging.getLogger("headrace")
R = TypeVar("R")


class Session:
    """One connection to a database, made when it is needed, and again when it is lost."""

    def __init__(
        self,
        database: Database,
        application: str = "headrace",
        on_connect: Callable[[Any], None] | None = None,
    ):
        self.database = database
        self._application = application
        self._on_connect = on_connect
        self._connection: Any = None

    def connection(self) -> Any:
        """A connection; while the server does not answer it is tried again with longer and longer
        pauses, as long as the connection's timeout allows."""
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> Any:
        database = self.database
        deadline = time.monotonic() + database.timeout_s
        pauses, tried = growing_pauses(), False
        while True:
            pause = next(pauses)
            try:
                found = database.connect(self._application)
                if self._on_connect is not None:
                    self._on_connect(found)
                if tried:
                    _LOG.warning("%s at %s answers again", database.label, database.address)
                return found
            except Exception as error:
                if not database.is_driver_error(error):
                    raise
                away = database.trouble(error).cause is Cause.AWAY
                if not away or time.monotonic() + pause > deadline:
                    raise explain(database, error, "cannot connect to") from None
                if not tried:
                    self._say_away(error)
            tried = True
            time.sleep(pause)

    def _say_away(self, error: Exception) -> None:
        database = self.database
        _LOG.warning(
            "%s at %s does not answer (%s); it is tried again for %d s",
            database.label,
            database.address,
            database.trouble(error).text,
            database.timeout_s,
        )

    def attempt(
        self,
        action: Callable[[Any], R],
        doing: str,
        retries: int = 0,
        may_retry: Callable[[], bool] = lambda: True,
    ) -> R:
        """What an action does with the connection; after a failure that may pass, once more, as
        often as `retries` says. What the action did not commit is rolled back before."""
        pauses, tried = growing_pauses(), 0
        while True:
            try:
                return action(self.connection())
            except Exception as error:
                if isinstance(error, HeadraceError) or not self.database.is_driver_error(error):
                    self.close()
                    raise
                cause = self.database.trouble(error).cause
                self.close()
                passing = cause in (Cause.AWAY, Cause.BUSY)
                if not passing or tried >= retries or not may_retry():
                    raise explain(self.database, error, doing) from None
                tried += 1
                self._say_again(error, doing, tried, retries)
                time.sleep(next(pauses))

    def _say_again(self, error: Exception, doing: str, tried: int, retries: int) -> None:
        text = self.database.trouble(error).text
        where = f"{self.database.label} at {self.database.address}"
        _LOG.warning("%s %s: %s; once more (%d of %d)", doing, where, text, tried, retries)

    def cut(self) -> None:
        """End what another thread waits for on the connection."""
        connection = self._connection
        if connection is not None:
            with suppress(Exception):
                self.database.cut(connection)

    def close(self) -> None:
        """Give the connection up; what it had not committed is gone."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()
