"""Sources and formats that know the type of what they produce."""

from __future__ import annotations

from abc import ABC, abstractmethod

from headrace.core.type_information import TypeInformation

__all__ = ["ResultTypeQueryable"]


class ResultTypeQueryable(ABC):
    """Says which type its records have, so that the user need not."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the records."""
