"""Beside the driver: which partitions there are, and from where to where they can be read."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from headrace.connectors.kafka.client import (
    LastError,
    Refused,
    answer_timeout,
    ask_patiently,
    connected_to,
    kafka,
    translate,
)
from headrace.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from headrace.core.source import Split, SplitEnumerator
from headrace.errors import InvalidArgument, SourceUnavailable

__all__ = ["PartitionEnumerator", "Subscription", "split_of"]

_LOG = logging.getLogger("headrace")
_BEGINNING, _END = -2, -1
_SURE_AFTER_S = 5.0
"""What seems to be gone for good may be back by then: a broker that begins does not know all."""
_LOOK_EVERY_S = 30.0
_ANSWERS_WITHIN_S = 2.0
_LOOK_AGAIN_MS = 10
"""When a client that has fetched enough looks whether it should fetch more. After a second, as
librdkafka does it, whoever reads fast has long had nothing to read."""
_FRESH_S = 0.005
"""How long what was heard of the partitions' ends counts, so that one question serves all."""
Partition = tuple[str, int]


@dataclass(frozen=True)
class Subscription:
    """What a source reads, and how it speaks with Kafka."""

    properties: dict[str, str]
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[KafkaTopicPartition, ...] = ()
    starting: KafkaOffsetsInitializer = field(default_factory=KafkaOffsetsInitializer.earliest)
    stopping: KafkaOffsetsInitializer | None = None
    bounded: bool = False
    discovery_ms: int = 300_000
    commits: bool = True
    """Whether the group's offsets follow the checkpoints."""

    @property
    def servers(self) -> str:
        return self.properties.get("bootstrap.servers", "")

    @property
    def group(self) -> str | None:
        return self.properties.get("group.id")

    def consumer_settings(self) -> dict[str, Any]:
        """What a consumer is made with; as in Java, what is not committed is read, too, unless
        `isolation.level` says otherwise."""
        reset = {
            KafkaOffsetResetStrategy.EARLIEST: "earliest",
            KafkaOffsetResetStrategy.LATEST: "latest",
            KafkaOffsetResetStrategy.NONE: "error",
        }[self.starting.reset]
        return {
            "isolation.level": "read_uncommitted",
            "group.id": "headrace-without-group",
            "fetch.queue.backoff.ms": _LOOK_AGAIN_MS,
            **translate(self.properties),
            "auto.offset.reset": reset,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
        }


def split_of(partition: Partition, stop: int | None) -> Split:
    """A partition as a split; `stop`: the offset it ends before."""
    topic, number = partition
    return Split(f"{topic}-{number}", {"topic": topic, "partition": number, "stop": stop})


class PartitionEnumerator(SplitEnumerator):
    """A split for each partition; positions are offsets."""

    def __init__(self, subscription: Subscription):
        self._of = subscription
        self._heard = LastError()
        self._client: Any = None
        self._splits: dict[str, Split] = {}
        self._starts: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        self._ends_at = 0.0
        self._discovered_at: float | None = None
        self._restored = False
        self._away = False
        """Whether nobody answered when it asked last."""
        self._refused_at: float | None = None
        """Since Kafka answered last: when it first said what waiting does not change."""
        self._looked_at = 0.0
        """When it was last seen that the partitions are there."""

    # What there is.

    def splits(self) -> list[Split]:
        if self._is_due():
            self._discover()
        elif time.monotonic() - self._looked_at > _LOOK_EVERY_S:
            # Tasks that read by themselves are not told that there is nothing to read any more.
            self._weigh(self._find_refusal())
        return list(self._splits.values())

    def _is_due(self) -> bool:
        if self._discovered_at is None:
            return True
        pause = self._of.discovery_ms / 1000
        return (
            not self._of.bounded and pause > 0 and time.monotonic() - self._discovered_at >= pause
        )

    def restore(self, splits: list[Split]) -> None:
        self._restored = True
        self._splits.update({split.id: split for split in splits})

    def _discover(self) -> None:
        first = self._discovered_at is None and not self._restored
        try:
            found = self._find_partitions()
        except SourceUnavailable as error:
            if self._discovered_at is None:
                raise
            self._wait(error)
            return
        self._discovered_at = self._looked_at = time.monotonic()
        new = [each for each in found if split_of(each, None).id not in self._splits]
        if not new:
            return
        # What appears while the job runs, or while it was away, is read from its first record.
        starting = self._of.starting if first else KafkaOffsetsInitializer.earliest()
        starts = self._resolve(new, starting, "starts")
        stops: dict[Partition, int] = {}
        if self._of.stopping is not None:
            stops = self._resolve(new, self._of.stopping, "stops")
        for partition in new:
            split = split_of(partition, stops.get(partition))
            self._splits[split.id] = split
            self._starts[split.id] = starts[partition]

    def _find_partitions(self) -> list[Partition]:
        with connected_to(self._of.servers, self._heard):
            cluster = self._consumer().list_topics(timeout=answer_timeout(self._of.properties))
        known = {
            name: sorted(topic.partitions)
            for name, topic in cluster.topics.items()
            if topic.error is None
        }
        if self._of.pattern is not None:
            matches = re.compile(self._of.pattern).fullmatch
            names = [name for name in sorted(known) if matches(name)]
            return [(name, number) for name in names for number in known[name]]
        wanted = self._of.topics or [each.topic for each in self._of.partitions]
        for name in wanted:
            if name not in known:
                raise self._no_topic(name, known)
        if self._of.partitions:
            for each in self._of.partitions:
                if each.partition not in known[each.topic]:
                    raise InvalidArgument(
                        f"the topic {each.topic!r} has {len(known[each.topic])} partitions, and "
                        f"none with number {each.partition}",
                        hint="They are counted from 0.",
                    )
            return [(each.topic, each.partition) for each in self._of.partitions]
        return [(name, number) for name in wanted for number in known[name]]

    def _no_topic(self, name: str, known: Iterable[str]) -> InvalidArgument:
        others = ", ".join(sorted(each for each in known if not each.startswith("__"))[:10])
        return InvalidArgument(
            f"Kafka at {self._of.servers} has no topic {name!r}",
            hint=f"Create it first. There are: {others or 'none'}.",
        )

    # From where to where.

    def initial_position(self, split: Split) -> int:
        return self._starts[split.id]

    def latest_position(self, split: Split, start: int) -> int:
        stop = split.info["stop"]
        if stop is not None and start >= stop:
            return start
        if time.monotonic() - self._ends_at > _FRESH_S or split.id not in self._ends:
            self._ask_for_ends(split)
        end = self._ends.get(split.id, start)
        return max(start, end if stop is None else min(end, stop))

    def is_at_end(self, split: Split, position: int) -> bool:
        stop = split.info["stop"]
        return stop is not None and position >= stop

    def is_over(self, split: Split, position: int) -> bool:
        return self.is_at_end(split, position)

    def records_between(self, split: Split, start: int, end: int) -> int:
        return end - start

    def position_after(self, split: Split, start: int, end: int, records: int) -> int:
        return min(end, start + max(1, records))

    def _ask_for_ends(self, split: Split) -> None:
        splits = {**self._splits, split.id: split}
        places = {id: (each.info["topic"], each.info["partition"]) for id, each in splits.items()}
        try:
            ends = self._offsets_at(list(places.values()), _END)
        except SourceUnavailable as error:
            self._wait(error)
            return
        self._away = False
        self._note_all_is_well()
        self._ends = {id: ends[place] for id, place in places.items()}
        self._ends_at = time.monotonic()

    def _wait(self, error: SourceUnavailable) -> None:
        """Kafka is away: what is known goes on counting. What does not heal is raised."""
        self._weigh(error if isinstance(error, Refused) else self._find_refusal())
        if not self._away:
            _LOG.warning("%s; waiting for it", error.message)
        self._away = True
        self._ends_at = time.monotonic()
        if self._discovered_at is not None:
            self._discovered_at = time.monotonic()

    def _note_all_is_well(self) -> None:
        self._looked_at, self._refused_at = time.monotonic(), None
        self._heard.texts.clear()

    def _weigh(self, refused: Refused | None) -> None:
        """Raise what is said for the second time."""
        if refused is None:
            return
        if self._refused_at is None:
            self._refused_at = time.monotonic()
            self._heard.texts.clear()  # it has to be said once more
        elif time.monotonic() - self._refused_at > _SURE_AFTER_S:
            raise refused

    def _find_refusal(self) -> Refused | None:
        """What keeps partitions from being read though Kafka answers."""
        patience = min(_ANSWERS_WITHIN_S, answer_timeout(self._of.properties))
        try:
            with connected_to(self._of.servers, self._heard):
                topics = self._consumer().list_topics(timeout=patience).topics
        except SourceUnavailable as error:
            self._looked_at = time.monotonic()
            return error if isinstance(error, Refused) else None
        for split in self._splits.values():
            topic, number = split.info["topic"], split.info["partition"]
            if topic not in topics or number not in topics[topic].partitions:
                return Refused(
                    f"partition {number} of topic {topic!r} is gone from Kafka at "
                    f"{self._of.servers}",
                    hint="Was the topic deleted, or the right to read it taken away?",
                )
        self._note_all_is_well()
        return None

    def _resolve(
        self, partitions: list[Partition], by: KafkaOffsetsInitializer, what: str
    ) -> dict[Partition, int]:
        match by.kind:
            case "earliest":
                return self._offsets_at(partitions, _BEGINNING)
            case "latest":
                return self._offsets_at(partitions, _END)
            case "timestamp":
                found = self._offsets_at(partitions, by.at)
                ends = self._offsets_at(partitions, _END)
                return {each: at if at >= 0 else ends[each] for each, at in found.items()}
            case "committed":
                found = self._committed(partitions)
            case _:
                found = {each: by.at[each] for each in partitions if each in by.at}
                others = [each for each in partitions if each not in found]
                if others and self._of.group is not None:
                    found |= self._committed(others)
        missing = [each for each in partitions if each not in found]
        if missing and by.reset is KafkaOffsetResetStrategy.NONE:
            topic, number = missing[0]
            raise InvalidArgument(
                f"it is not known where partition {number} of topic {topic!r} {what}: "
                + (
                    f"the group {self._of.group!r} has committed no offset for it"
                    if by.kind == "committed"
                    else "no offset is given for it"
                ),
                hint="Give an offset_reset_strategy: KafkaOffsetResetStrategy.EARLIEST or LATEST.",
            )
        if missing:
            earliest = by.reset is KafkaOffsetResetStrategy.EARLIEST
            found |= self._offsets_at(missing, _BEGINNING if earliest else _END)
        return found

    def _committed(self, partitions: list[Partition]) -> dict[Partition, int]:
        if self._of.group is None:
            raise InvalidArgument(
                "reading from committed offsets needs a group", hint="Call set_group_id(…)."
            )
        with connected_to(self._of.servers, self._heard):
            timeout = answer_timeout(self._of.properties)
            places = [kafka().TopicPartition(*each) for each in partitions]
            answers = ask_patiently(
                lambda: self._consumer().committed(places, timeout=timeout), timeout
            )
        return {(each.topic, each.partition): each.offset for each in answers if each.offset >= 0}

    def _offsets_at(self, partitions: list[Partition], moment: int) -> dict[Partition, int]:
        with connected_to(self._of.servers, self._heard):
            answers = self._consumer().offsets_for_times(
                [kafka().TopicPartition(*each, moment) for each in partitions],
                timeout=answer_timeout(self._of.properties),
            )
            for each in answers:
                if each.error is not None:
                    raise kafka().KafkaException(each.error)
        return {(each.topic, each.partition): each.offset for each in answers}

    def _consumer(self) -> Any:
        if self._client is None:
            settings = self._of.consumer_settings()
            with connected_to(self._of.servers):
                self._client = kafka().Consumer({**settings, "error_cb": self._heard})
            self._heard.client = self._client
        return self._client

    # For others to see.

    def checkpoint_completed(self, positions: dict[str, Any]) -> None:
        if self._of.group is None or not self._of.commits:
            return
        offsets = [
            kafka().TopicPartition(split.info["topic"], split.info["partition"], positions[id])
            for id, split in self._splits.items()
            if isinstance(positions.get(id), int)
        ]
        if offsets:
            with suppress(Exception):  # it is for show; the next one comes soon
                self._consumer().commit(offsets=offsets, asynchronous=True)

    def close(self) -> None:
        client, self._client, self._heard.client = self._client, None, None
        if client is not None:
            with suppress(Exception):
                client.close()
