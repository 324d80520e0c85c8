"""ChangelogMode: which kinds of changes a stream of rows has."""

from __future__ import annotations

from headrace.core import table_connector as tc

__all__ = ["ChangelogMode"]


class ChangelogMode:
    """Insertions only, insertions and new versions by key, or all kinds."""

    def __init__(self, mode: tc.ChangelogMode) -> None:
        self.mode = mode

    @staticmethod
    def insert_only() -> ChangelogMode:
        return ChangelogMode(tc.APPEND)

    @staticmethod
    def upsert() -> ChangelogMode:
        """No old versions: a key says which row is meant."""
        return ChangelogMode(
            tc.ChangelogMode(updates_after=True, deletes=True, deletes_by_key=True)
        )

    @staticmethod
    def all() -> ChangelogMode:
        return ChangelogMode(tc.RETRACT)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangelogMode) and self.mode == other.mode

    def __hash__(self) -> int:
        return hash(self.mode)

    def __str__(self) -> str:
        return str(self.mode)
