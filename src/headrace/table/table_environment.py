"""Where SQL and tables begin, alone and beside streams."""

from headrace.table.environment import TableEnvironment
from headrace.table.stream_environment import StreamTableEnvironment

__all__ = ["StreamTableEnvironment", "TableEnvironment"]
