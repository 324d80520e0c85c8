"""Each exchange sends records where its name says, with their timestamps and keys."""

import pickle
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.exchange import (
    Broadcast,
    Custom,
    Exchange,
    Forward,
    Global,
    Hash,
    Rebalance,
    Rescale,
    Shuffle,
)
from headrace.core.keys import key_group, stable_hash, subtask_of
from headrace.core.operator import Batch
from headrace.core.rows import Row
from headrace.core.user_code import RecordFailure
from headrace.errors import InvalidArgument, TypeMismatch


def first(record: tuple[Any, ...]) -> Any:
    return record[0]


def modulo(key: int, partitions: int) -> int:
    return key % partitions


EVERY: list[Exchange] = [
    Forward(), Global(), Broadcast(), Rebalance(), Rescale(), Shuffle(),
    Hash(abs), Custom(modulo, abs),
]  # fmt: skip


def routed(exchange: Exchange, values: list[Any], *, sender: int = 0, parallelism: int = 3) -> Any:
    split = exchange.splitter(sender, parallelism, 128)
    return {target: part.values for target, part in split(Batch(values))}


def test_forward_keeps_the_senders_number() -> None:
    assert routed(Forward(), [1, 2], sender=1) == {1: [1, 2]}
    assert routed(Forward(), [1, 2], sender=4) == {1: [1, 2]}


def test_global_sends_all_to_the_first() -> None:
    assert routed(Global(), [1, 2], sender=2) == {0: [1, 2]}


def test_broadcast_sends_all_to_all() -> None:
    assert routed(Broadcast(), [1, 2]) == {0: [1, 2], 1: [1, 2], 2: [1, 2]}


@pytest.mark.parametrize("exchange", [Rebalance(), Rescale()])
def test_rebalance_takes_turns_across_batches(exchange: Exchange) -> None:
    split = exchange.splitter(1, 3, 128)
    parts: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for batch in ([0, 1], [2, 3, 4, 5], [], [6]):
        for target, part in split(Batch(batch)):
            parts[target] += part.values
    assert parts == {1: [0, 3, 6], 2: [1, 4], 0: [2, 5]}


def test_shuffle_is_even_and_repeats_itself() -> None:
    values = list(range(3000))
    once, again = routed(Shuffle(), values), routed(Shuffle(), values)
    assert once == again
    assert all(900 < len(part) < 1100 for part in once.values())
    assert routed(Shuffle(), values, sender=1) != once


def test_hash_sends_a_key_to_the_owner_of_its_group() -> None:
    records = [(f"key-{n % 50}", n) for n in range(500)]
    for target, part in Hash(first).splitter(0, 3, 128)(Batch(records)):
        assert part.keys == [record[0] for record in part.values]
        assert {subtask_of(key_group(key, 128), 3, 128) for key in part.keys} == {target}


def test_hash_gives_keys_even_to_a_single_receiver() -> None:
    ((target, part),) = Hash(first).splitter(0, 1, 128)(Batch([("a", 1), ("b", 2)]))
    assert (target, part.keys) == (0, ["a", "b"])


def test_custom_asks_the_partitioner() -> None:
    records = [(n, str(n)) for n in range(6)]
    assert routed(Custom(modulo, first), records, parallelism=2) == {
        0: [(0, "0"), (2, "2"), (4, "4")],
        1: [(1, "1"), (3, "3"), (5, "5")],
    }


@pytest.mark.parametrize("exchange", EVERY, ids=lambda exchange: exchange.label)
@given(
    values=st.lists(st.integers()),
    stamped=st.booleans(),
    sender=st.integers(0, 5),
    parallelism=st.integers(1, 5),
)
def test_records_keep_their_order_and_timestamps(
    exchange: Exchange, values: list[int], stamped: bool, sender: int, parallelism: int
) -> None:
    records = [value * 1000 + position for position, value in enumerate(values)]
    stamps: list[int | None] | None = [record * 7 for record in records] if stamped else None
    arrived: Counter[int] = Counter()
    for target, part in exchange.splitter(sender, parallelism, 128)(Batch(records, stamps)):
        assert 0 <= target < parallelism
        positions = [records.index(record) for record in part.values]
        assert positions == sorted(positions)
        assert part.timestamps == ([r * 7 for r in part.values] if stamped else None)
        assert part.keys is None or part.keys == [abs(r) for r in part.values]
        arrived.update(part.values)
    copies = parallelism if isinstance(exchange, Broadcast) else 1
    assert arrived == Counter(dict.fromkeys(records, copies))


def test_exchanges_compare_by_what_they_are() -> None:
    assert Forward() == Forward()
    assert Rebalance() != Rescale()
    assert Hash(first) == Hash(first)


@pytest.mark.parametrize("key", [["a"], {"a": [1]}, {"a"}, (1, ["a"]), Row(["a"])])
def test_a_list_or_a_dictionary_can_be_a_key(key: Any) -> None:
    split = Hash(first).splitter(0, 2, 128)
    (found,) = split(Batch([(key, 1), (pickle.loads(pickle.dumps(key)), 2)]))
    keys = found[1].keys
    assert keys is not None
    assert keys[0] == keys[1] == key
    assert len(set(keys)) == 1
    again = pickle.loads(pickle.dumps(keys[0]))
    assert (again, hash(again)) == (keys[0], hash(keys[0]))
    assert stable_hash(again) == stable_hash(keys[0])


@pytest.mark.parametrize("key", [[object()], {"a": bytearray()}, object()])
def test_a_key_that_cannot_be_one_is_named(key: Any) -> None:
    split = Hash(first).splitter(0, 2, 128)
    with pytest.raises(TypeMismatch, match="key") as caught:
        list(split(Batch([("fine", 1), (key, 2)])))
    assert "key selector" in str(caught.value.hint)


def test_a_failing_key_selector_names_the_record() -> None:
    with pytest.raises(RecordFailure) as caught:
        list(Hash(first).splitter(0, 2, 128)(Batch([("a",), (), ("b",)])))
    assert (caught.value.call, caught.value.record) == ("key selector", ())


@pytest.mark.parametrize("answer", [-1, 2, "1", None])
def test_a_partitioner_must_answer_with_a_partition(answer: Any) -> None:
    split = Custom(lambda key, partitions: answer, first).splitter(0, 2, 128)
    with pytest.raises(RecordFailure) as caught:
        list(split(Batch([("a", 1)])))
    assert isinstance(caught.value.error, InvalidArgument)
    assert "from 0 to 1" in str(caught.value.error.hint)
    assert caught.value.record == ("a", 1)
