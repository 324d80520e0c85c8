"""Parquet."""

from headrace.formats.bulk_columns import ParquetBulkWriters
from headrace.formats.parquet_records import (
    AvroParquetReaders,
    AvroParquetWriters,
    ParquetColumnarRowInputFormat,
)

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
]
