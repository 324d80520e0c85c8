"""Kafka's own console tools, other judges of what is in a topic than the client that is tested; and
patience with a broker that is busy."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from headrace.errors import SourceUnavailable
from headrace.java import ensure_java
from headrace.testing.servers.jars import fetch_jars
from headrace.testing.servers.kafka import VERSION
from headrace.testing.servers.kafka_topics import Topics
from tests.spark.conftest import wait_until

_QUICK = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
_PATIENCE_S = 120


def produce(servers: str, topic: str, lines: list[str], *properties: str) -> None:
    """Let ConsoleProducer send lines; each begins as its properties say, with headers and a key."""
    given = [part for each in properties for part in ("--reader-property", each)]
    text = "".join(f"{line}\n" for line in lines)
    _run("ConsoleProducer", "--bootstrap-server", servers, "--topic", topic, *given, text=text)


def consume(servers: str, topic: str, count: int, *properties: str) -> list[str]:
    """So many lines of ConsoleConsumer, which sees only what is committed."""
    given = [part for each in properties for part in ("--formatter-property", each)]
    committed = ("--isolation-level", "read_committed", "--from-beginning")
    ends = ("--max-messages", str(count), "--timeout-ms", "60000")
    where = ("--bootstrap-server", servers, "--topic", topic)
    return _run("consumer.ConsoleConsumer", *where, *committed, *ends, *given).splitlines()


def await_ends(topics: Topics, topic: str) -> None:
    """Wait until no transaction is open. Kafka says that one has ended as soon as it has noted so,
    and tells the topic a moment later: until then what is committed is not seen. One that a sink
    has left open would last for minutes: that is longer than anybody waits here."""
    wait_until(lambda: not topics.has_open_transactions(topic))


def committed(topics: Topics, topic: str) -> list[str]:
    """What is in a topic when all transactions have ended."""
    await_ends(topics, topic)
    return topics.values(topic)


def complaint(attempt: Callable[[str], Any], said: str) -> str:
    """What is said when a broker cannot be used that is given so many milliseconds to answer. If
    it is too busy to say anything in a short time, it gets a long one."""
    text = ""
    for patience in ("3000", "60000"):
        with pytest.raises(SourceUnavailable) as failure:
            attempt(patience)
        text = str(failure.value)
        if said in text:
            break
    return text


def _run(tool: str, *arguments: str, text: str = "") -> str:
    jars = fetch_jars("org.apache.kafka", "kafka_2.13", VERSION)
    tools = fetch_jars("org.apache.kafka", "kafka-tools", VERSION, alone=True)
    java = str(ensure_java() / "bin" / "java")
    done = subprocess.run(
        [java, *_QUICK, "-cp", f"{tools}/*:{jars}/*", f"org.apache.kafka.tools.{tool}", *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
