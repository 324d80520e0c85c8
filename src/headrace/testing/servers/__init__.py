"""Real servers on loopback, for tests and demonstrations: fetched once, started in seconds."""

from headrace.testing.servers.kafka import KafkaBroker
from headrace.testing.servers.opensearch import OpenSearchServer

__all__ = ["KafkaBroker", "OpenSearchServer"]
