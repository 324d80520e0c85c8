"""Relations become nodes of the program's graph, with operators that keep changelogs."""

from headrace.table.lowering.lowering import Lowering, LoweringSettings

__all__ = ["Lowering", "LoweringSettings"]
