"""Results of statements, at PyFlink's path."""

from headrace.table.results import TableResult
from headrace.table.results import TableRows as CloseableIterator

__all__ = ["CloseableIterator", "TableResult"]
