"""ORC."""

from headrace.formats.bulk_columns import OrcBulkWriters

__all__ = ["OrcBulkWriters"]
