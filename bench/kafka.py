"""Kafka to Kafka against PyFlink and Flink SQL; reading alone against a bare consumer."""

from __future__ import annotations

import json
import os
import statistics
import time
from dataclasses import dataclass, replace
from typing import Any

from bench.engines import figures_of, headrace, pyflink
from bench.figures import Bar, Outcome, at_most, ratio
from bench.measure import Progress

RECORDS = int(os.environ.get("BENCH_KAFKA_RECORDS", "8000000"))
SLOW_PEER_RECORDS = 200_000
"""PyFlink would take minutes for all of them."""
PARTITIONS = 4
FEW = 1000
USERS = 10_000
BARE = "bare consumer"
CONNECTOR = ("org.apache.flink", "flink-sql-connector-kafka", "5.0.0-2.2")


@dataclass(frozen=True, slots=True)
class Case:
    """What one engine does with the records of a topic: `texts` are parsed and written by Python's
    json in the program, `rows` by the schemas for JSON."""

    what: str
    guarantee: str = "AT_LEAST_ONCE"
    peer: str = ""
    """PyFlink's mode; none: headrace."""
    records: int = RECORDS


OURS = {
    "headrace, read": Case("read", "NONE"),
    "headrace, texts": Case("texts"),
    "headrace, texts, exactly once": Case("texts", "EXACTLY_ONCE"),
    "headrace, rows": Case("rows"),
    "headrace, keyed count": Case("keyed"),
    "headrace, SQL": Case("sql"),
}
PEERS = {
    "PyFlink thread, texts": Case("texts", peer="thread", records=SLOW_PEER_RECORDS),
    "PyFlink process, texts": Case("texts", peer="process", records=SLOW_PEER_RECORDS),
    "PyFlink thread, rows": Case("rows", peer="thread", records=SLOW_PEER_RECORDS),
    "PyFlink process, rows": Case("rows", peer="process", records=SLOW_PEER_RECORDS),
    "PyFlink thread, keyed count": Case("keyed", peer="thread", records=SLOW_PEER_RECORDS),
    "PyFlink process, keyed count": Case("keyed", peer="process", records=SLOW_PEER_RECORDS),
    "Flink SQL": Case("sql", peer="process"),
}


def kafka(repeats: int, with_peers: bool, progress: Progress) -> Outcome:
    """Records a second, by what is done with them; one broker for all."""
    from headrace.testing.servers import KafkaBroker

    cases = {**OURS, **(PEERS if with_peers else {})}
    jars = _connector_jars() if with_peers else ""
    rates: dict[str, list[float]] = {name: [] for name in (BARE, *cases)}
    with KafkaBroker() as broker:
        servers = broker.bootstrap_servers
        progress(f"{RECORDS} records into Kafka")
        _fill(servers, {_topic(size) for size in (FEW, RECORDS, SLOW_PEER_RECORDS)})
        for turn in range(repeats):
            progress(f"{BARE}, run {turn + 1} of {repeats}")
            rates[BARE].append(RECORDS / _read_all(servers, _topic(RECORDS).name))
            for name, case in cases.items():
                progress(f"{name}, run {turn + 1} of {repeats}")
                rates[name].append(case.records / _seconds_of(case, servers, jars))
    return _judge(rates, cases)


def _connector_jars() -> str:
    from headrace.testing.servers.jars import fetch_jars

    return ";".join(jar.as_uri() for jar in fetch_jars(*CONNECTOR).glob("flink-sql-*.jar"))


def _seconds_of(case: Case, servers: str, jars: str) -> float:
    engine = headrace(stream=True, real_time=True)
    if case.peer:
        engine = pyflink(case.peer)
        engine = replace(engine, variables={**engine.variables, "BENCH_JARS": jars})
    topics = _topic(case.records).name, _topic(FEW).name, "output"
    script = "jobs/kafka_job.py"
    return figures_of(engine, script, servers, *topics, case.what, case.guarantee)["seconds"]


def _judge(samples: dict[str, list[float]], cases: dict[str, Case]) -> Outcome:
    rates = {name: statistics.median(found) for name, found in samples.items()}
    bars = tuple(
        Bar(
            name=name,
            value=rates[name],
            unit="records/s",
            records=cases[name].records if name in cases else RECORDS,
            spread=(min(found), max(found)),
        )
        for name, found in samples.items()
    )
    often, once = rates["headrace, texts"], rates["headrace, texts, exactly once"]
    checks = [
        ratio("reading alone, of a bare consumer", rates["headrace, read"] / rates[BARE], 0.5),
        at_most("exactly once, time of at least once", often / once, 1.15),
    ]
    for what in ("texts", "rows", "keyed count"):
        peers = [rates[name] for name in rates if name.startswith("Py") and what in name]
        if peers:
            checks.append(ratio(f"{what}, PyFlink", rates[f"headrace, {what}"] / max(peers), 10))
    if "Flink SQL" in rates:
        checks.append(ratio("SQL, Flink SQL", rates["headrace, SQL"] / rates["Flink SQL"], 1.0))
    return Outcome(benchmark="kafka", bars=bars, checks=tuple(checks))


@dataclass(frozen=True, slots=True)
class _Topic:
    name: str
    records: int


def _topic(records: int) -> _Topic:
    return _Topic(f"of-{records}", records)


def _fill(servers: str, filled: set[_Topic]) -> None:
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": servers})
    names = ["output", *(topic.name for topic in filled)]
    topics = [NewTopic(name, PARTITIONS, 1) for name in names]
    for created in admin.create_topics(topics).values():
        created.result()
    producer = Producer({"bootstrap.servers": servers, "linger.ms": "50"})
    for topic in filled:
        for number in range(topic.records):
            value = json.dumps({"user": number % USERS, "n": number, "kind": "click"})
            while True:
                try:
                    producer.produce(topic.name, value.encode(), partition=number % PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush()


def _read_all(servers: str, topic: str) -> float:
    """Seconds that one consumer needs for a topic, taking the bytes of each value. What keeps it
    from waiting for nothing is set as headrace sets it: else it takes seven times as long."""
    from confluent_kafka import Consumer, TopicPartition

    settings = {
        "bootstrap.servers": servers,
        "group.id": "bare",
        "fetch.queue.backoff.ms": 10,
    }
    consumer: Any = Consumer(settings)
    began = time.perf_counter()
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    left = RECORDS
    while left > 0:
        left -= len([message.value() for message in consumer.consume(10_000, 0.2)])
    took = time.perf_counter() - began
    consumer.close()
    return took
