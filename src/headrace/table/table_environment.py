"""TableEnvironment: where SQL and tables begin."""

from __future__ import annotations

from headrace.core.config import Configuration
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.catalog_manager import CatalogManager
from headrace.sql.parse_statements import parse_statement
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.execution import Execution
from headrace.table.results import TableResult
from headrace.table.session import TableSession
from headrace.table.settings import TableSettings
from headrace.table.statement_runner import StatementRunner
from headrace.table.table_config import TableConfig


class TableEnvironment:
    """Catalogs, options and the statements that are run with them."""

    def __init__(
        self, settings: EnvironmentSettings, environment: StreamExecutionEnvironment | None = None
    ):
        self._env = environment or StreamExecutionEnvironment(settings.get_configuration())
        # One set of options for both environments, as SET must change them all.
        configuration = self._env.configuration
        if environment is not None:
            configuration.add_all(settings.get_configuration())
        self._config = TableConfig(configuration)
        catalogs = CatalogManager(
            settings.get_built_in_catalog_name(), settings.get_built_in_database_name(),
            settings.catalog,
        )  # fmt: skip
        table_settings = TableSettings(configuration)
        self._session = TableSession(catalogs, table_settings)
        self._execution = Execution(self._env, table_settings)
        self._runner = StatementRunner(self._session, self._execution, configuration)

    @staticmethod
    def create(
        environment_settings: EnvironmentSettings | Configuration | None = None,
    ) -> TableEnvironment:
        if isinstance(environment_settings, Configuration):
            environment_settings = EnvironmentSettings(environment_settings)
        return TableEnvironment(environment_settings or EnvironmentSettings.in_streaming_mode())

    def get_config(self) -> TableConfig:
        return self._config

    def execute_sql(self, stmt: str) -> TableResult:
        """Run one statement; of a job, start it."""
        return self._runner.run(parse_statement(stmt))
