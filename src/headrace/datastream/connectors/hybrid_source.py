"""Sources that are read one after the other."""

from headrace.connectors.hybrid_source import HybridSource, HybridSourceBuilder

__all__ = ["HybridSource", "HybridSourceBuilder"]
