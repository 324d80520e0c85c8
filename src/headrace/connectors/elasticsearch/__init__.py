"""Elasticsearch and OpenSearch: documents, by bulk requests over HTTP."""
