"""The options of WITH (…), checked."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from headrace.core.config import parse_duration
from headrace.errors import InvalidArgument

_EVERYWHERE = {"connector", "property-version", "scan.parallelism", "sink.parallelism"}


class Options:
    """Reads options of one table and notices those nobody asked for."""

    def __init__(self, connector: str, options: Mapping[str, str]):
        self._connector = connector
        self._options = dict(options)
        self._asked = set(_EVERYWHERE)

    def text(self, name: str, default: str | None = None) -> str | None:
        self._asked.add(name)
        return self._options.get(name, default)

    def required(self, name: str) -> str:
        found = self.text(name)
        if found is None:
            raise InvalidArgument(
                f"a table of connector '{self._connector}' needs the option '{name}'",
                hint=f"Add '{name}' = '…' to WITH (…).",
            )
        return found

    def whole(self, name: str, default: int | None = None) -> int | None:
        found = self.text(name)
        if found is None:
            return default
        try:
            return int(found)
        except ValueError:
            raise self._wrong(name, found, "a whole number") from None

    def flag(self, name: str, default: bool = False) -> bool:
        found = self.text(name)
        if found is None:
            return default
        if found.lower() not in ("true", "false"):
            raise self._wrong(name, found, "true or false")
        return found.lower() == "true"

    def duration_ms(self, name: str) -> int | None:
        found = self.text(name)
        if found is None:
            return None
        try:
            return parse_duration(found).to_millis()
        except ValueError:
            raise self._wrong(name, found, "a duration such as '10 s'") from None

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        found = self.text(name, default)
        if found not in choices:
            raise self._wrong(name, found, f"one of {', '.join(choices)}")
        return found

    def starting_with(self, prefix: str) -> dict[str, str]:
        """Options of a name space, without its prefix."""
        found = {key: value for key, value in self._options.items() if key.startswith(prefix)}
        self._asked.update(found)
        return {key.removeprefix(prefix): value for key, value in found.items()}

    def done(self) -> None:
        """Refuse what nobody asked for: a misspelt option must not be ignored."""
        for name in self._options:
            if name not in self._asked:
                close = difflib.get_close_matches(name, self._asked, n=1)
                raise InvalidArgument(
                    f"connector '{self._connector}' has no option '{name}'",
                    hint=f"Did you mean '{close[0]}'?" if close
                    else f"It has: {', '.join(sorted(self._asked))}.",
                )  # fmt: skip

    def _wrong(self, name: str, found: Any, wanted: str) -> InvalidArgument:
        return InvalidArgument(
            f"option '{name}' of connector '{self._connector}' is {wanted}, not '{found}'"
        )
