"""The reader and the publisher against a real server, without Spark; and what is refused."""

from __future__ import annotations

import socket
from itertools import count
from typing import Any

import pytest

from headrace.common import SimpleStringSchema
from headrace.connectors.rabbitmq.links import Link
from headrace.connectors.rabbitmq.sink import Publisher
from headrace.core.source import Split
from headrace.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSource
from headrace.errors import InvalidArgument, SourceUnavailable, UnfitValue
from tests.servers.rabbitmq import PASSWORD, RabbitMQ, rabbitmq  # noqa: F401
from tests.spark.conftest import wait_until

NAMES = count()


class Reading:
    """One life of a reader."""

    def __init__(self, config: RMQConnectionConfig, queue: str, position: Any, ids: bool = True):
        self.split = Split(queue)
        self.reader = RMQSource(config, queue, ids, SimpleStringSchema()).create_reader()
        self.position = position
        self.records: list[str] = []

    def read(self, records: int) -> Any:
        """Poll until there are so many records; the position after them."""

        def is_enough() -> bool:
            found, self.position = self.reader.poll(self.split, self.position)
            self.records += found
            return len(self.records) >= records

        wait_until(is_enough, 200)
        return self.position

    def acknowledge(self, position: Any) -> None:
        self.reader.acknowledge(self.split, position)

    def close(self) -> None:
        self.reader.close()


@pytest.fixture
def queue(rabbitmq: RabbitMQ) -> str:  # noqa: F811
    name = f"unit-{next(NAMES)}"
    with rabbitmq.channel() as channel:
        channel.queue_delete(name)
    rabbitmq.send(name, range(10))
    return name


def refusal(config: RMQConnectionConfig, queue: str = "refused") -> str:
    source = RMQSource(config, queue, True, SimpleStringSchema())
    with pytest.raises((InvalidArgument, SourceUnavailable)) as error:
        source.create_enumerator().splits()
    assert PASSWORD not in str(error.value)
    return str(error.value)


def test_what_a_checkpoint_has_does_not_come_again(rabbitmq: RabbitMQ, queue: str) -> None:  # noqa: F811
    """Ten are read, five more come, and the checkpoint has the first ten."""
    first = Reading(rabbitmq.config(), queue, {})
    position = first.read(10)
    rabbitmq.send(queue, range(10, 15))
    first.read(15)
    first.acknowledge(position)
    first.close()
    second = Reading(rabbitmq.config(), queue, position)
    second.read(5)
    second.close()
    assert second.records == [str(number) for number in range(10, 15)]
    assert rabbitmq.waiting(queue) == 5


def test_a_life_that_ends_before_the_acknowledgement(rabbitmq: RabbitMQ, queue: str) -> None:  # noqa: F811
    """Messages that come again are left out, and acknowledged all the same."""
    first = Reading(rabbitmq.config(), queue, {})
    position = first.read(10)
    first.close()
    rabbitmq.send(queue, ["new"])
    second = Reading(rabbitmq.config(), queue, position)
    second.acknowledge(second.read(1))
    second.close()
    assert second.records == ["new"]
    assert rabbitmq.waiting(queue) == 0


def test_without_ids_they_come_again(rabbitmq: RabbitMQ, queue: str) -> None:  # noqa: F811
    first = Reading(rabbitmq.config(), queue, {}, ids=False)
    position = first.read(10)
    first.close()
    second = Reading(rabbitmq.config(), queue, position, ids=False)
    second.acknowledge(second.read(10))
    second.close()
    assert second.records == first.records
    assert rabbitmq.waiting(queue) == 0


def test_a_killed_server_brings_nothing_twice(
    rabbitmq: RabbitMQ,  # noqa: F811
    queue: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It forgets acknowledgements, and the connection is lost; the reader goes on."""
    reading = Reading(rabbitmq.config(), queue, {})
    reading.acknowledge(reading.read(10))
    rabbitmq.kill()
    rabbitmq.start()
    rabbitmq.send(queue, range(10, 20))
    reading.read(20)
    reading.close()
    assert reading.records == [str(number) for number in range(20)]


def test_messages_are_there_when_a_checkpoint_is(rabbitmq: RabbitMQ) -> None:  # noqa: F811
    publisher = Publisher(Link(rabbitmq.config(), "published"))
    publisher.open()
    publisher.publish([b"a", b"b"])
    with rabbitmq.channel() as channel:
        channel.queue_delete("published")
    with pytest.raises(SourceUnavailable, match="takes no messages"):
        publisher.publish([b"c"])
    publisher.close()


def test_a_message_without_an_id(rabbitmq: RabbitMQ) -> None:  # noqa: F811
    rabbitmq.send("without", ["x"], ids=False)
    reading = Reading(rabbitmq.config(), "without", {})
    with pytest.raises(UnfitValue, match="has no correlation id"):
        reading.read(1)
    reading.close()
    rabbitmq.take("without")


def test_a_server_that_is_refused_or_refuses(rabbitmq: RabbitMQ) -> None:  # noqa: F811
    assert "does not let 'river' in" in refusal(rabbitmq.config(password="wrong"))
    assert "no virtual host 'none'" in refusal(rabbitmq.config(virtual_host="none"))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # nobody else is given the port as long as this one has it
        away = rabbitmq.config(port=silent.getsockname()[1], connection_timeout=3000)
        assert "does not answer: 111 Connection refused" in refusal(away)
    tls = RMQConnectionConfig.Builder().set_uri(
        f"amqps://river:{PASSWORD}@127.0.0.1:{rabbitmq.port}"
    )
    assert "does not speak TLS" in refusal(tls.build())
    with rabbitmq.channel() as channel:
        channel.queue_declare("other", durable=False)
    assert "is there with other properties" in refusal(rabbitmq.config(), "other")


def test_a_config_shows_no_password() -> None:
    uri = "amqp://river:s3cret@host:1234/my%2Fhost"
    config = RMQConnectionConfig.Builder().set_uri(uri).build()
    assert repr(config) == "RMQConnectionConfig(RabbitMQ at host:1234)"
    assert "s3cret" not in repr(config.address())
    assert (config.address().virtual_host, config.get_uri()) == ("my/host", uri)


def test_a_config_that_lacks_something() -> None:
    with pytest.raises(InvalidArgument, match="lacks set_port, set_password"):
        RMQConnectionConfig.Builder().set_host("h").set_user_name("u").build()
    with pytest.raises(InvalidArgument, match="cannot be read"):
        RMQConnectionConfig.Builder().set_uri("http://h").build()
