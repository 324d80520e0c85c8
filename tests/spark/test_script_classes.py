"""Classes of the user's script travel as records, as keys and in state."""

from __future__ import annotations

from collections import Counter

import pytest

SCRIPT = """
from dataclasses import dataclass
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.state import ListStateDescriptor


@dataclass(frozen=True)
class Word:
    text: str


@dataclass
class Count:
    word: Word
    seen: int


class Counting(KeyedProcessFunction):
    def open(self, ctx):
        self.counts = ctx.get_list_state(ListStateDescriptor("counts"))

    def process_element(self, value, ctx):
        self.counts.add(Count(ctx.get_current_key(), 1))
        yield Count(value, len(self.counts.get()))


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
words = env.from_collection([Word("a"), Word("b"), Word("a")])
counted = words.key_by(lambda word: word).process(Counting()).key_by(lambda count: count.word)
results = list(counted.map(lambda count: (count.word.text, count.seen)).execute_and_collect())
"""


@pytest.mark.smoke
def test_classes_of_a_script_travel(mode):
    """They have no module a worker could import, so they must travel themselves."""
    names = {"__name__": "__main__"}
    exec(compile(SCRIPT, "script.py", "exec"), names)
    assert Counter(names["results"]) == Counter([("a", 1), ("a", 2), ("b", 1)])
