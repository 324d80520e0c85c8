"""Number sequences."""

from headrace.connectors.number_sequence import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
