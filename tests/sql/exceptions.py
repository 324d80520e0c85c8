"""Cases that are not met, each with the reason; docs/flink-differences.md lists them, too."""

EXCEPTIONS: dict[str, str] = {
    "prog/TableSink/sink-upsert": "its tables have no columns: the case lost them",
    "prog/VectorSearch/vector-search-with-runtime-config": "there is no VECTOR_SEARCH",
    "prog/QueryOperation/inline-function-serialization": "calls a Java function by a made-up name",
}
NOT_RESTORED: dict[str, str] = {
    "prog/Calc/calc-current-watermark": "a watermark is not part of a checkpoint, in Flink neither",
}
