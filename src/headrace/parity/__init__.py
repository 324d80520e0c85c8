"""Which of PyFlink's names headrace has: the table, and the tools that keep it true."""

from headrace.parity.table import KINDS, ApiClass, ParityTable, Status, load_table

__all__ = ["KINDS", "ApiClass", "ParityTable", "Status", "load_table"]
