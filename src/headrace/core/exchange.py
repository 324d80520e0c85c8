"""How records travel from one operator's subtasks to the next one's."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from headrace.core.bulk_check import fits
from headrace.core.keys import SubtaskOfKey, hashable_key
from headrace.core.operator import Batch
from headrace.core.types import TypeInformation
from headrace.core.user_code import apply_all
from headrace.errors import InvalidArgument, TypeMismatch

Parts = Iterator[tuple[int, Batch]]
Splitter = Callable[[Batch], Parts]


@dataclass(frozen=True)
class Exchange(ABC):
    """A way of choosing the receiving subtask; frozen, so that plans can be compared."""

    @property
    def label(self) -> str:
        return type(self).__name__.upper()

    @abstractmethod
    def splitter(self, sender: int, parallelism: int, max_parallelism: int) -> Splitter:
        """A function that divides a batch among `parallelism` receivers.

        It must give the same answer when a failed task is run again: no clock, no entropy.
        """


@dataclass(frozen=True)
class Forward(Exchange):
    """To the receiver with the sender's own number."""

    def splitter(self, sender: int, parallelism: int, max_parallelism: int) -> Splitter:
        return lambda batch: iter(((sender % parallelism, batch),))


@dataclass(frozen=True)
class Global(Exchange):
    """Everything to the first receiver."""

    def splitter(self, sender: int, parallelism: int, max_parallelism: int) -> Splitter:
        return lambda batch: iter(((0, batch),))


@dataclass(frozen=True)
class Broadcast(Exchange):
    """Everything to every receiver."""

    def splitter(self, sender: int, parallelism: int, max_parallelism: int) -> Splitter:
        return lambda batch: ((receiver, batch) for receiver in range(parallelism))


@dataclass(frozen=True)
class Rebalance(Exchange):
    """Round robin; `rescale` is the same here, since all slots are equally near."""

    def splitter(self, sender: int, parallelism: int, max_parallelism: int) -> Splitter:
        position = sender % parallelism

        def split(batch: Batch) -> Parts:
            nonlocal position
            size = len(batch.values)
            targets = [(position + index) % parallelism for index in range(size)]
            position = (position + size) % parallelism
            return by_target(batch, targets, parallelism)

        return split


@dataclass(frozen=True)
class Rescale(Rebalance):
    """Round robin among nearby receivers."""


@dataclass(frozen=True)
class Shuffle(Exchange):
    """At random, evenly; the seed is the sender, so that a retry repeats itself."""

    def splitter(self, sender: int, parallelism: int, max_parallelism: int) -> Splitter:
        generator = random.Random(sender)

        def split(batch: Batch) -> Parts:
            targets = generator.choices(range(parallelism), k=len(batch.values))
            return by_target(batch, targets, parallelism)

        return split


@dataclass(frozen=True)
class Hash(Exchange):
    """By key group; the only exchange that gives its receivers keys."""

    selector: Callable[[Any], Any]
    key_type: TypeInformation | None = None

    def splitter(self, sender: int, parallelism: int, max_parallelism: int) -> Splitter:
        select, kind = self.selector, self.key_type
        coerce = kind.coercer() if kind is not None else None
        owner = SubtaskOfKey(parallelism, max_parallelism)

        def split(batch: Batch) -> Parts:
            keys = apply_all(select, batch.values, "key selector")
            if kind is not None and coerce is not None and not fits(kind, keys):
                keys = apply_all(coerce, keys, "key selector")
            try:
                targets = list(map(owner.__getitem__, keys))
            except TypeError:
                keys = list(map(hashable_key, keys))
                targets = _targets(owner, keys)
            batch = Batch(batch.values, batch.timestamps, keys, plain=batch.plain)
            return by_target(batch, targets, parallelism)

        return split


@dataclass(frozen=True)
class Custom(Exchange):
    """To the receiver a user's partitioner names."""

    partition: Callable[[Any, int], int]
    selector: Callable[[Any], Any]

    def splitter(self, sender: int, parallelism: int, max_parallelism: int) -> Splitter:
        def target(value: Any) -> int:
            chosen = self.partition(self.selector(value), parallelism)
            if not isinstance(chosen, int) or not 0 <= chosen < parallelism:
                raise InvalidArgument(
                    f"the partitioner returned {chosen!r} for {parallelism} partitions",
                    hint=f"Return an int from 0 to {parallelism - 1}.",
                )
            return chosen

        return lambda batch: by_target(
            batch, apply_all(target, batch.values, "partitioner"), parallelism
        )


def by_target(batch: Batch, targets: list[int], parallelism: int) -> Parts:
    """The records for each receiver, in their order; `targets`: which one, record by record."""
    if parallelism == 1:
        yield 0, batch
        return
    values, stamps, keys = batch.values, batch.timestamps, batch.keys
    positions: list[list[int]] = [[] for _ in range(parallelism)]
    for position, target in enumerate(targets):
        positions[target].append(position)
    for target, chosen in enumerate(positions):
        if chosen:
            yield (
                target,
                Batch(
                    [values[position] for position in chosen],
                    None if stamps is None else [stamps[position] for position in chosen],
                    None if keys is None else [keys[position] for position in chosen],
                    plain=batch.plain,
                ),
            )


def _targets(owner: SubtaskOfKey, keys: list[Any]) -> list[int]:
    try:
        return list(map(owner.__getitem__, keys))
    except TypeError as error:
        raise _unusable_key(keys, error) from error


def _unusable_key(keys: list[Any], error: TypeError) -> TypeMismatch:
    for key in keys:
        try:
            hash(key)
        except TypeError:
            return TypeMismatch(
                f"a {type(key).__name__} cannot be a key: {key!r:.120}",
                hint="Let the key selector return something immutable: a str, an int, a tuple.",
            )
    return error if isinstance(error, TypeMismatch) else TypeMismatch(str(error))
