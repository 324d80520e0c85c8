"""Where reading a partition begins or ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from headrace.connectors.argument_checks import require_instance, require_whole
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

__all__ = ["KafkaOffsetResetStrategy", "KafkaOffsetsInitializer", "KafkaTopicPartition"]


class KafkaOffsetResetStrategy(Enum):
    """Where to begin where there is no offset, or no record any more at it."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


@dataclass(frozen=True, slots=True)
class KafkaTopicPartition:
    """A partition of a topic."""

    topic: str
    partition: int

    def __post_init__(self) -> None:
        require_instance(self.topic, str, "KafkaTopicPartition")
        if require_whole(self.partition, "a partition") < 0:
            raise InvalidArgument(
                f"a partition's number is 0 or more, not {self.partition}", origin=calling_origin()
            )


@dataclass(frozen=True)
class KafkaOffsetsInitializer:
    """The offset of each partition: at an end, as committed, by time, or as given."""

    kind: str
    reset: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE
    at: Any = None
    """A time in milliseconds, or offsets by topic and partition."""

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """Where the group was; where it never was, as the strategy says."""
        require_instance(offset_reset_strategy, KafkaOffsetResetStrategy, "committed_offsets")
        return KafkaOffsetsInitializer("committed", offset_reset_strategy)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """At the first record that is not older; at the end if there is none."""
        if require_whole(timestamp, "a timestamp") < 0:
            raise InvalidArgument(
                f"a timestamp is in milliseconds since 1970, not {timestamp}",
                origin=calling_origin(),
            )
        return KafkaOffsetsInitializer("timestamp", KafkaOffsetResetStrategy.NONE, timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """At the first record there is."""
        return KafkaOffsetsInitializer("earliest", KafkaOffsetResetStrategy.EARLIEST)

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """After the last record there is when the job starts."""
        return KafkaOffsetsInitializer("latest", KafkaOffsetResetStrategy.LATEST)

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """At these offsets; other partitions as the strategy says."""
        require_instance(offset_reset_strategy, KafkaOffsetResetStrategy, "offsets")
        at = {}
        for partition, offset in dict(offsets).items():
            known = require_instance(partition, KafkaTopicPartition, "offsets")
            at[known.topic, known.partition] = require_whole(offset, "an offset")
        return KafkaOffsetsInitializer("offsets", offset_reset_strategy, at)
