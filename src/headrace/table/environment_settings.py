"""How a table environment is made."""

from __future__ import annotations

from headrace.core.config import Configuration
from headrace.errors import TypeMismatch
from headrace.origin import calling_origin
from headrace.sql.catalog import Catalog
from headrace.sql.catalog_manager import DEFAULT_CATALOG, DEFAULT_DATABASE
from headrace.table.interfaces import Planner

RUNTIME_MODE = "execution.runtime-mode"


class EnvironmentSettings:
    """Streaming or batch mode, and the names of the built-in catalog and database."""

    class Builder:
        def __init__(self) -> None:
            self._configuration = Configuration()
            self._catalog_name = DEFAULT_CATALOG
            self._database_name = DEFAULT_DATABASE
            self._catalog: Catalog | None = None
            self._planner: Planner | None = None

        def with_planner(self, planner: Planner) -> EnvironmentSettings.Builder:
            """A planner of one's own, for instance a `RulePlanner` with more rules."""
            self._planner = planner
            return self

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            if not isinstance(config, Configuration):
                raise TypeMismatch(
                    f"with_configuration() needs a Configuration, not {config!r}",
                    origin=calling_origin(),
                )
            self._configuration.add_all(config)
            return self

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            self._configuration.set_string(RUNTIME_MODE, "STREAMING")
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            self._configuration.set_string(RUNTIME_MODE, "BATCH")
            return self

        def with_built_in_catalog_name(
            self, built_in_catalog_name: str
        ) -> EnvironmentSettings.Builder:
            self._catalog_name = built_in_catalog_name
            return self

        def with_built_in_database_name(
            self, built_in_database_name: str
        ) -> EnvironmentSettings.Builder:
            self._database_name = built_in_database_name
            return self

        def with_catalog(self, catalog: Catalog) -> EnvironmentSettings.Builder:
            """A catalog of one's own in place of the one in memory."""
            self._catalog = catalog
            return self

        def build(self) -> EnvironmentSettings:
            return EnvironmentSettings(
                self._configuration, self._catalog_name, self._database_name, self._catalog,
                self._planner,
            )  # fmt: skip

    def __init__(
        self, configuration: Configuration | None = None, catalog_name: str = DEFAULT_CATALOG,
        database_name: str = DEFAULT_DATABASE, catalog: Catalog | None = None,
        planner: Planner | None = None,
    ):  # fmt: skip
        self._configuration = configuration or Configuration()
        self._catalog_name = catalog_name
        self._database_name = database_name
        self.catalog = catalog
        self.planner = planner

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        return EnvironmentSettings.new_instance().in_batch_mode().build()

    def get_configuration(self) -> Configuration:
        return self._configuration

    def is_streaming_mode(self) -> bool:
        return self._configuration.get_string(RUNTIME_MODE, "STREAMING").upper() != "BATCH"

    def get_built_in_catalog_name(self) -> str:
        return self._catalog_name

    def get_built_in_database_name(self) -> str:
        return self._database_name
