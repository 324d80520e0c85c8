"""RabbitMQ."""

from headrace.connectors.rabbitmq.config import RMQConnectionConfig
from headrace.connectors.rabbitmq.sink import RMQSink
from headrace.connectors.rabbitmq.source import RMQSource

__all__ = ["RMQConnectionConfig", "RMQSink", "RMQSource"]
