"""The options of WITH (…), checked."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from headrace.core.config import parse_duration
from headrace.errors import InvalidArgument

_SIZE = re.compile(r"(\d+)\s*(|b|bytes|k|kb|m|mb|g|gb)")
_THOUSANDS = {"k": 1, "m": 2, "g": 3}
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

    def size_bytes(self, name: str, default: int) -> int:
        found = self.text(name)
        if found is None:
            return default
        parts = _SIZE.fullmatch(found.strip().lower())
        if parts is None:
            raise self._wrong(name, found, "a size such as '2mb'")
        return int(parts[1]) << 10 * _THOUSANDS.get(parts[2][:1], 0)

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        found = self.text(name, default)
        if found not in choices:
            raise self._wrong(name, found, f"one of {', '.join(choices)}")
        return found

    def word(self, name: str, choices: tuple[str, ...], default: str) -> str:
        """One of some words in capitals, however it is written."""
        found = (self.text(name) or default).upper().replace("-", "_")
        if found not in choices:
            raise self._wrong(name, self.text(name), f"one of {', '.join(choices)}")
        return found

    def known(self, *names: str) -> None:
        """Options that mean something, though not here."""
        self._asked.update(names)

    def starting_with(self, prefix: str) -> dict[str, str]:
        """Options of a name space, without its prefix."""
        found = {key: value for key, value in self._options.items() if key.startswith(prefix)}
        self._asked.update(found)
        return {key.removeprefix(prefix): value for key, value in found.items()}

    def below(self, prefix: str) -> Options:
        """The options whose names begin with a prefix, asked for without it."""
        return _Below(self, prefix)

    def character(self, name: str, default: str | None = None) -> str | None:
        """One character, or an escape such as \\t."""
        found = self.text(name, default)
        if found is None:
            return None
        if found.startswith("\\") and len(found) > 1:
            found = found.encode("latin-1", "backslashreplace").decode("unicode_escape")
        if len(found) != 1:
            raise InvalidArgument(f"option '{name}' is one character, not '{found}'")
        return found

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


class _Below(Options):
    """A name space of a table's options; what is asked for here counts as asked for there."""

    def __init__(self, whole: Options, prefix: str):
        super().__init__(whole._connector, {})
        self._whole, self._prefix = whole, prefix

    def text(self, name: str, default: str | None = None) -> str | None:
        return self._whole.text(self._prefix + name, default)

    def required(self, name: str) -> str:
        return self._whole.required(self._prefix + name)

    def starting_with(self, prefix: str) -> dict[str, str]:
        return self._whole.starting_with(self._prefix + prefix)

    def _wrong(self, name: str, found: Any, wanted: str) -> InvalidArgument:
        return self._whole._wrong(self._prefix + name, found, wanted)
