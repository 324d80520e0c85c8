"""The options of a table environment."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

from headrace.core.config import Configuration, as_text
from headrace.core.time import Duration
from headrace.errors import InvalidArgument, Unsupported
from headrace.operators.functions.session import zone_of
from headrace.origin import calling_origin
from headrace.table.settings import LOCAL_TIME_ZONE, STATE_TTL
from headrace.table.sql_dialect import SqlDialect

SQL_DIALECT = "table.sql-dialect"
PYTHON_EXECUTABLE = "python.executable"
MAX_CODE_LENGTH = "table.generated-code.max-length"


class TableConfig:
    """Options by key; what is set here holds for statements that are run afterwards.

    They go before the options of the stream environment, which a query takes over when it is
    planned.
    """

    def __init__(
        self, configuration: Configuration | None = None, outer: Configuration | None = None
    ):
        self._own = Configuration() if configuration is None else configuration
        self._configuration = self._own if outer is None else self._own.over(outer)

    @staticmethod
    def get_default() -> TableConfig:
        return TableConfig()

    def get_configuration(self) -> Configuration:
        """The options set here, without those of the stream environment."""
        return self._own

    def get(self, key: str, default_value: str | None = None) -> str | None:
        if not self._configuration.contains_key(key):
            return default_value
        return self._configuration.get_string(key, "")

    def set(self, key: str, value: Any) -> TableConfig:
        if value is None:
            raise InvalidArgument(
                f"setting {key!r} cannot be None",
                origin=calling_origin(),
                hint="get_configuration().remove_config(key) unsets it.",
            )
        self._own.set_string(key, as_text(value))
        return self

    def add_configuration(self, configuration: Configuration) -> None:
        self._own.add_all(configuration)

    def to_map(self) -> dict[str, str]:
        return self._configuration.to_dict()

    def get_sql_dialect(self) -> SqlDialect:
        return SqlDialect[self._configuration.get_string(SQL_DIALECT, "DEFAULT").upper()]

    def set_sql_dialect(self, sql_dialect: SqlDialect) -> None:
        """Flink's dialect is the only one."""
        if sql_dialect is not SqlDialect.DEFAULT:
            raise Unsupported(
                "statements are written in Flink's dialect, not in Hive's", origin=calling_origin()
            )
        self.set(SQL_DIALECT, sql_dialect.name.lower())

    def get_python_executable(self) -> str:
        """The Python that workers run."""
        return self._configuration.get_string(PYTHON_EXECUTABLE, sys.executable)

    def set_python_executable(self, python_exec: str) -> None:
        self.set(PYTHON_EXECUTABLE, python_exec)

    def get_max_generated_code_length(self) -> int:
        """Kept for programs that set it: Spark limits the code it generates itself."""
        return self._configuration.get_integer(MAX_CODE_LENGTH, 4000)

    def set_max_generated_code_length(self, max_generated_code_length: int) -> None:
        self.set(MAX_CODE_LENGTH, max_generated_code_length)

    def get_local_timezone(self) -> str:
        return self._configuration.get_string(LOCAL_TIME_ZONE, "UTC")

    def set_local_timezone(self, timezone_id: str) -> None:
        zone_of(timezone_id)
        self.set(LOCAL_TIME_ZONE, timezone_id)

    def get_idle_state_retention(self) -> timedelta:
        found = self._configuration.get_duration(STATE_TTL, Duration.of_millis(0))
        return timedelta(milliseconds=found.to_millis())

    def set_idle_state_retention(self, duration: timedelta) -> None:
        """How long state lives that is not used."""
        self.set(STATE_TTL, f"{duration // timedelta(milliseconds=1)} ms")
