"""CSV."""

from headrace.formats.bulk_lines import CsvBulkWriters
from headrace.formats.csv_files import CsvReaderFormat
from headrace.formats.csv_rows import CsvRowDeserializationSchema, CsvRowSerializationSchema
from headrace.formats.csv_schema import CsvSchema, CsvSchemaBuilder

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]
