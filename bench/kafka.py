"""Kafka to Kafka, and reading alone against a bare consumer of confluent-kafka."""

from __future__ import annotations

import json
import os
import statistics
import time
from typing import Any

from bench.engines import figures_of, headrace
from bench.figures import Bar, Check, Outcome, at_most, ratio
from bench.measure import Progress

RECORDS = int(os.environ.get("BENCH_KAFKA_RECORDS", "2000000"))
PARTITIONS = 4
FEW = 1000
USERS = 10_000
CASES = {
    "read": ("read", "NONE"),
    "stateless, at least once": ("stateless", "AT_LEAST_ONCE"),
    "stateless, exactly once": ("stateless", "EXACTLY_ONCE"),
    "keyed count, at least once": ("keyed", "AT_LEAST_ONCE"),
}


def kafka(repeats: int, progress: Progress) -> Outcome:
    """Records a second, by what is done with them; one broker for all."""
    from headrace.testing.servers import KafkaBroker

    seconds: dict[str, list[float]] = {name: [] for name in ("bare consumer", *CASES)}
    with KafkaBroker() as broker:
        servers = broker.bootstrap_servers
        progress(f"{RECORDS} records into Kafka")
        _fill(servers, {"large": RECORDS, "small": FEW})
        for turn in range(repeats):
            progress(f"bare consumer, run {turn + 1} of {repeats}")
            seconds["bare consumer"].append(_read_all(servers, "large"))
            for name, (what, guarantee) in CASES.items():
                progress(f"{name}, run {turn + 1} of {repeats}")
                found = figures_of(
                    headrace(stream=True, real_time=True),
                    "jobs/kafka_job.py",
                    *(servers, "large", "small", "output", what, guarantee),
                )
                seconds[name].append(found["seconds"])
    return _judge(seconds)


def _judge(seconds: dict[str, list[float]]) -> Outcome:
    rates = {name: RECORDS / statistics.median(found) for name, found in seconds.items()}
    bars = tuple(
        Bar(
            name=name if name == "bare consumer" else f"headrace, {name}",
            value=rates[name],
            unit="records/s",
            records=RECORDS,
            spread=(RECORDS / max(found), RECORDS / min(found)),
        )
        for name, found in seconds.items()
    )
    once, often = rates["stateless, exactly once"], rates["stateless, at least once"]
    checks: tuple[Check, ...] = (
        ratio("reading alone, of a bare consumer", rates["read"] / rates["bare consumer"], 0.5),
        at_most("exactly once, time of at least once", often / once, 1.15),
    )
    return Outcome(benchmark="kafka", bars=bars, checks=checks)


def _fill(servers: str, sizes: dict[str, int]) -> None:
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": servers})
    topics = [NewTopic(name, PARTITIONS, 1) for name in (*sizes, "output")]
    for created in admin.create_topics(topics).values():
        created.result()
    producer = Producer({"bootstrap.servers": servers, "linger.ms": "50"})
    for topic, size in sizes.items():
        for number in range(size):
            value = json.dumps({"user": number % USERS, "n": number, "kind": "click"})
            while True:
                try:
                    producer.produce(topic, value.encode(), partition=number % PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush()


def _read_all(servers: str, topic: str) -> float:
    """Seconds that one consumer needs for a topic, taking the bytes of each value."""
    from confluent_kafka import Consumer, TopicPartition

    consumer: Any = Consumer({"bootstrap.servers": servers, "group.id": "bare"})
    began = time.perf_counter()
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    left = RECORDS
    while left > 0:
        left -= len([message.value() for message in consumer.consume(10_000, 0.2)])
    took = time.perf_counter() - began
    consumer.close()
    return took
