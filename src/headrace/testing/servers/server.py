"""What the servers of tests have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

__all__ = ["Server"]


class Server(ABC):
    """A server that is there within a `with` block."""

    @abstractmethod
    def start(self) -> None:
        """Start it, with what it had before; returns when it answers."""

    @abstractmethod
    def stop(self) -> None:
        """End it for good."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
