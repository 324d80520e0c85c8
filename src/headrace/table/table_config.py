"""The options of a table environment."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from headrace.core.config import Configuration
from headrace.core.time import Duration
from headrace.operators.functions.session import zone_of
from headrace.table.settings import LOCAL_TIME_ZONE, STATE_TTL


class TableConfig:
    """Options by key; what is set here holds for statements that are run afterwards."""

    def __init__(self, configuration: Configuration | None = None):
        self._configuration = configuration or Configuration()

    @staticmethod
    def get_default() -> TableConfig:
        return TableConfig()

    def get_configuration(self) -> Configuration:
        return self._configuration

    def get(self, key: str, default_value: str | None = None) -> str | None:
        if not self._configuration.contains_key(key):
            return default_value
        return self._configuration.get_string(key, "")

    def set(self, key: str, value: Any) -> TableConfig:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        self._configuration.set_string(key, text)
        return self

    def add_configuration(self, configuration: Configuration) -> None:
        self._configuration.add_all(configuration)

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
