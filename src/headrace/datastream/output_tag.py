"""Names for side outputs."""

from headrace.core.output_tag import OutputTag

__all__ = ["OutputTag"]
