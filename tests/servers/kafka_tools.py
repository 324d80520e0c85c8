"""Kafka's own console tools: other judges of what is in a topic than the client that is tested."""

from __future__ import annotations

import subprocess

from headrace.java import ensure_java
from headrace.testing.servers.jars import fetch_jars
from headrace.testing.servers.kafka import VERSION

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
