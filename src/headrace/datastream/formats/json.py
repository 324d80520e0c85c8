"""JSON."""

from headrace.formats.bulk_lines import JsonBulkWriters
from headrace.formats.json_rows import JsonRowDeserializationSchema, JsonRowSerializationSchema

__all__ = ["JsonBulkWriters", "JsonRowDeserializationSchema", "JsonRowSerializationSchema"]
