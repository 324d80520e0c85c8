"""Parquet."""

from headrace.formats.bulk_columns import ParquetBulkWriters

__all__ = ["ParquetBulkWriters"]
