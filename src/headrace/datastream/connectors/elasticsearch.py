"""Elasticsearch and OpenSearch."""

from headrace.connectors.elasticsearch.backoff import FlushBackoffType
from headrace.connectors.elasticsearch.bulk import BulkAction
from headrace.connectors.elasticsearch.emitters import ElasticsearchEmitter
from headrace.connectors.elasticsearch.sink import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    ElasticsearchSink,
    ElasticsearchSinkBuilderBase,
)

__all__ = [
    "BulkAction",
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchEmitter",
    "ElasticsearchSink",
    "ElasticsearchSinkBuilderBase",
    "FlushBackoffType",
]
