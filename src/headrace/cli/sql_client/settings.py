"""The client's own options, which SET changes like all others."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from headrace.errors import InvalidArgument
from headrace.table.table_config import TableConfig

RESULT_MODE = "sql-client.execution.result-mode"
MAX_ROWS = "sql-client.execution.max-table-result.rows"
VERBOSE = "sql-client.verbose"
_DEFAULT_ROWS = 1000


class ResultMode(Enum):
    """How rows of a query are shown."""

    TABLE = "table"
    CHANGELOG = "changelog"
    TABLEAU = "tableau"


@dataclass(frozen=True)
class ClientSettings:
    config: TableConfig
    interactive: bool = False

    @property
    def result_mode(self) -> ResultMode:
        default = ResultMode.TABLE if self.interactive else ResultMode.TABLEAU
        return result_mode(self.config.get(RESULT_MODE) or default.value)

    @property
    def max_rows(self) -> int:
        return whole_rows(self.config.get(MAX_ROWS) or str(_DEFAULT_ROWS))

    @property
    def verbose(self) -> bool:
        return (self.config.get(VERBOSE) or "").lower() == "true"


def check_option(key: str, value: str) -> None:
    """Refuse a value of a client's option at once, not at the next query."""
    if key == RESULT_MODE:
        result_mode(value)
    elif key == MAX_ROWS:
        whole_rows(value)


def result_mode(text: str) -> ResultMode:
    try:
        return ResultMode(text.lower())
    except ValueError:
        modes = ", ".join(mode.value for mode in ResultMode)
        raise InvalidArgument(f"'{RESULT_MODE}' is one of {modes}, not '{text}'") from None


def whole_rows(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise InvalidArgument(f"'{MAX_ROWS}' is a number of rows from 1 up, not '{text}'")
    return int(text)
