"""The two parts of an environment that can be exchanged: who plans a query, and who runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from headrace.graph.relations import Insert, Relation
from headrace.jobs.client import JobClient
from headrace.jobs.results import Collector
from headrace.plan.relational.optimizer import RULES, Rule, optimize


class Planner(ABC):
    """Turns what a query asks for into what is run."""

    @abstractmethod
    def optimized(self, relation: Relation) -> Relation:
        """A relation with the same rows."""


class RulePlanner(Planner):
    """Applies rules in their order; give it more, or fewer."""

    def __init__(self, rules: Sequence[Rule] = RULES):
        self._rules = tuple(rules)

    def optimized(self, relation: Relation) -> Relation:
        return optimize(relation, self._rules)


class Executor(ABC):
    """Runs relations as jobs."""

    @abstractmethod
    def run(self, inserts: Sequence[Insert], name: str) -> JobClient:
        """Start INSERT statements as one job."""

    @abstractmethod
    def collect(self, relation: Relation, collector: Collector, name: str) -> JobClient:
        """Start a query and hand over its changes: tuples (kind, column, …) in internal form."""
