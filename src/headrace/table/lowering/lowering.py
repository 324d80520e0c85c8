"""The frame of lowering: nodes, exchanges and what is known of the job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.core.config import parse_duration
from headrace.core.exchange import Exchange, Global, Hash
from headrace.core.expressions import Expression
from headrace.core.logical_types import LogicalType, is_rowtime
from headrace.core.operator import Operator
from headrace.core.source import SourceSpec
from headrace.core.table_connector import ChangelogMode
from headrace.datastream.graph_builder import GraphBuilder
from headrace.errors import Unsupported
from headrace.graph.nodes import Node, OperatorNode, PartitionNode, SourceNode, UnionNode
from headrace.graph.relations import Relation
from headrace.operators.table.awaited_calls import USUAL, AwaitedCalls
from headrace.plan.relational.changelog import Traits
from headrace.plan.relational.explain import line
from headrace.table.lowering.row_keys import check_key_types, key_of_expressions, row_key

Rule = Callable[["Lowering", Any], int]


@dataclass(frozen=True)
class LoweringSettings:
    """What operators want to know of a job's configuration."""

    per_record: bool = False
    """Whether every row is answered at once, not all of a micro-batch together."""
    ttl_ms: int | None = None
    zone: str = "UTC"
    batch: bool = False
    """All input is there, so nothing is late: BATCH mode, or tables that end."""
    final: bool = False
    """Whether operators answer once, when all input has been read."""
    idle_after_ms: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    lookups: AwaitedCalls = USUAL

    def duration_ms(self, key: str) -> int | None:
        text = self.options.get(key)
        return None if text is None else parse_duration(text).to_millis()


class Lowering:
    """Lowers the relations of one query; shared parts become one node."""

    def __init__(
        self, builder: GraphBuilder, settings: LoweringSettings, traits: Traits,
        rules: Mapping[type[Relation], Rule],
    ):  # fmt: skip
        self.builder = builder
        self.settings = settings
        self.traits = traits
        self._rules = rules
        self._done: dict[int, tuple[Relation, int]] = {}
        self._being_lowered: list[Relation] = []
        self.beside: list[int] = []
        """Sinks that the query has besides its own: of rows that could not be read."""

    def node(self, relation: Relation) -> int:
        """The node whose records are the relation's changes."""
        # Kept with its node, so that no other relation gets the same id.
        known = self._done.get(id(relation))
        if known is None:
            rule = self._rules.get(type(relation))
            if rule is None:
                raise Unsupported(f"{type(relation).__name__} cannot be run as a stream")
            self._being_lowered.append(relation)
            known = self._done[id(relation)] = relation, rule(self, relation)
            self._being_lowered.pop()
        return known[1]

    def mode(self, relation: Relation) -> ChangelogMode:
        return self.traits.mode(relation)

    def retracts(self, relation: Relation) -> bool:
        """Whether rows of the relation may be taken back."""
        return not self.mode(relation).insert_only

    def per_record(self, relation: Relation) -> bool:
        """Whether each row of the relation's input is answered at once."""
        return self.settings.per_record or self.traits.are_versions(relation)

    def ttl_ms(self, relation: Relation, side: int | None = None) -> int | None:
        """How long a relation's state lives, of a join that of one side; None: for ever. Where
        there is but one micro-batch nothing expires."""
        if self.settings.final:
            return None
        return self.traits.ttl_ms(relation, self.settings.ttl_ms, side)

    def changes(self, relation: Relation) -> dict[str, Any]:
        """What every operator that emits changes is told."""
        return {
            "per_record": self.per_record(relation),
            "emits_before": self.traits.wants_before(relation),
        }

    def time_column(self, relation: Relation) -> int | None:
        """The relation's time attribute of event time."""
        return next((at for at, type in enumerate(relation.types) if is_rowtime(type)), None)

    # Nodes.

    def add(self, kind: type[Node], name: str, inputs: Sequence[int] = (), **fields: Any) -> int:
        """A node of the relation being lowered, which its generated uid follows from."""
        relation = self._being_lowered[-1]
        meaning = f"{line(relation)}: {', '.join(map(str, relation.types))}"
        return self.builder.add(kind, name, inputs, meaning=meaning, **fields)

    def source(self, name: str, spec: SourceSpec) -> int:
        return self.add(SourceNode, f"Source: {name}", spec=spec)

    def operator(
        self, name: str, inputs: Sequence[int], operator: Operator, parallelism: int | None = None
    ) -> int:
        return self.add(OperatorNode, name, inputs, operator=operator, parallelism=parallelism)

    def exchanged(self, node: int, exchange: Exchange) -> int:
        return self.add(PartitionNode, "Exchange", (node,), exchange=exchange)

    def by_columns(
        self, node: int, columns: Sequence[int], types: Sequence[LogicalType], what: str
    ) -> int:
        chosen = [types[column] for column in columns]
        check_key_types(chosen, what)
        return self.exchanged(node, Hash(row_key(columns, chosen)))

    def exchanged_by_set(self, node: int, keys: Sequence[int], types: Sequence[LogicalType]) -> int:
        """By the keys of a grouping set, of these types, and its number, which stand after the
        input's columns."""
        return self.exchanged(node, Hash(row_key(keys, types)))

    def by_expressions(self, node: int, keys: tuple[Expression, ...], what: str) -> int:
        check_key_types([key.type for key in keys], what)
        return self.exchanged(node, Hash(key_of_expressions(keys)))

    def to_one(self, node: int) -> int:
        return self.exchanged(node, Global())

    def united(self, nodes: Sequence[int]) -> int:
        return nodes[0] if len(nodes) == 1 else self.add(UnionNode, "Union", tuple(nodes))
