"""Windows over keyed streams."""

from headrace.operators.windows.contents import Aggregating, Contents, Listing, Reducing
from headrace.operators.windows.factory import window_operator

__all__ = ["Aggregating", "Contents", "Listing", "Reducing", "window_operator"]
