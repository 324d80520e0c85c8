"""Which messages of a queue are known, whatever happens to channels and checkpoints."""

from __future__ import annotations

import json

from headrace.connectors.rabbitmq.known_ids import KnownIds


def restored(known: KnownIds, clock=lambda: 0.0) -> KnownIds:
    return KnownIds(json.loads(json.dumps(known.saved())), clock)


def test_a_message_is_new_once() -> None:
    known = KnownIds()
    assert [known.add(id) for id in "abab"] == [True, True, False, False]


def test_what_a_checkpoint_has_is_known_after_a_restart() -> None:
    known = KnownIds()
    for id in "abc":
        known.add(id)
    known.acknowledge(1)
    again = restored(known)
    assert [again.add(id) for id in "abcd"] == [False, False, False, True]


def test_an_acknowledgement_that_the_server_forgot_does_no_harm() -> None:
    known = KnownIds()
    known.add("a")
    known.acknowledge(1)
    known.lose_channel()
    assert not known.add("a")


def test_a_checkpoint_is_not_changed_by_what_comes_later() -> None:
    known = KnownIds()
    known.add("a")
    saved = known.saved()
    known.add("b")
    known.lose_channel()
    assert saved["ids"] == [["a"]]


def test_ids_are_forgotten_long_after_their_acknowledgement() -> None:
    known = KnownIds()
    for number in range(30_000):
        known.add(str(number))
        known.acknowledge(number)
    assert known.add("0")
    assert not known.add("25000")
    assert sum(map(len, known.saved()["ids"])) < 12_000


def test_ids_of_a_lost_channel_outlast_many_others() -> None:
    now = [0.0]
    known = KnownIds(clock=lambda: now[0])
    known.add("held back")
    known.lose_channel()
    for number in range(30_000):
        known.add(str(number))
        known.acknowledge(number)
    assert not restored(known, lambda: now[0]).add("held back")
    now[0] = 4000.0
    known.acknowledge(known.count)
    assert known.add("held back")
