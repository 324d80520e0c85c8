"""Settings as keys and values, and the options that describe them."""

from __future__ import annotations

import csv
import re
from collections import ChainMap
from collections.abc import Callable, Mapping, MutableMapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from headrace.core.time import Duration
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin

__all__ = ["ConfigOption", "ConfigOptions", "Configuration"]

T = TypeVar("T")


@dataclass(frozen=True)
class ConfigOption(Generic[T]):
    """A setting: its key, its type and its value when nothing was set."""

    key: str
    value_type: type
    default: T | None = None


class ConfigOptions:
    """Builds options.

    >>> ConfigOptions.key("tmp.dir").string_type().default_value("/tmp").key
    'tmp.dir'
    """

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        _require_key(key)
        return ConfigOptions.OptionBuilder(key)

    @dataclass(frozen=True)
    class OptionBuilder:
        """An option that has a key and no type yet."""

        option_key: str

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            return ConfigOptions.TypedConfigOptionBuilder(self.option_key, bool)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            return ConfigOptions.TypedConfigOptionBuilder(self.option_key, int)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            return ConfigOptions.TypedConfigOptionBuilder(self.option_key, int)

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            return ConfigOptions.TypedConfigOptionBuilder(self.option_key, float)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            return ConfigOptions.TypedConfigOptionBuilder(self.option_key, float)

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            return ConfigOptions.TypedConfigOptionBuilder(self.option_key, str)

        def duration_type(self) -> ConfigOptions.TypedConfigOptionBuilder[Duration]:
            return ConfigOptions.TypedConfigOptionBuilder(self.option_key, Duration)

    @dataclass(frozen=True)
    class TypedConfigOptionBuilder(Generic[T]):
        """An option that has a key and a type."""

        option_key: str
        value_type: type

        def default_value(self, value: T) -> ConfigOption[T]:
            return ConfigOption(self.option_key, self.value_type, value)

        def no_default_value(self) -> ConfigOption[T]:
            return ConfigOption(self.option_key, self.value_type)


class Configuration:
    """Settings by key. A value is kept as it was set and read as the type asked for."""

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: MutableMapping[str, Any] = {} if other is None else dict(other._values)

    @classmethod
    def from_dict(cls, map: Mapping[str, str]) -> Configuration:
        configuration = cls()
        for key, value in map.items():
            configuration._put(key, value)
        return configuration

    def over(self, outer: Configuration) -> Configuration:
        """These settings, and those of `outer` where nothing is set here. It is a view: what is set
        in it is set here, and what either sets later is seen."""
        view = Configuration()
        view._values = ChainMap(cast("dict[str, Any]", self._values), outer._values)
        return view

    def get(self, option: ConfigOption[T], default_value: T | None = None) -> T | None:
        """The value of an option, else `default_value`, else the option's own default."""
        fallback = option.default if default_value is None else default_value
        return cast("T | None", self._read(option.key, option.value_type, fallback))

    def set(self, option: ConfigOption[T], value: T) -> Configuration:
        return self._put(option.key, _convert(option.key, value, option.value_type))

    def get_string(self, key: str, default_value: str) -> str:
        return cast(str, self._read(key, str, default_value))

    def set_string(self, key: str, value: str) -> Configuration:
        return self._put(key, _require(key, value, str))

    def get_integer(self, key: str, default_value: int) -> int:
        return cast(int, self._read(key, int, default_value))

    def set_integer(self, key: str, value: int) -> Configuration:
        return self._put(key, _require(key, value, int))

    def get_boolean(self, key: str, default_value: bool) -> bool:
        return cast(bool, self._read(key, bool, default_value))

    def set_boolean(self, key: str, value: bool) -> Configuration:
        return self._put(key, _require(key, value, bool))

    def get_float(self, key: str, default_value: float) -> float:
        return float(self._read(key, float, default_value))

    def set_float(self, key: str, value: float) -> Configuration:
        return self._put(key, float(_require(key, value, float)))

    def get_duration(self, key: str, default_value: Duration) -> Duration:
        """A length of time, written as `10 s`, `200ms`, `1 min` or plain milliseconds."""
        return cast(Duration, self._read(key, Duration, default_value))

    def set_duration(self, key: str, value: Duration) -> Configuration:
        return self._put(key, _require(key, value, Duration))

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        return bytearray(self._read(key, bytearray, default_value))

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        return self._put(key, bytearray(_require(key, value, (bytes, bytearray))))

    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """The parts of a list written as `a;b`, `[a, b]` or one `- a` per line."""
        text = value.strip() if value else ""
        if not text:
            return []
        if text.startswith("[") and text.endswith("]"):
            cells = next(csv.reader([text[1:-1]], skipinitialspace=True), [])
            return [_unquoted(cell) for cell in cells if cell.strip()]
        if text.startswith("- "):
            return [_unquoted(line.lstrip()[2:]) for line in text.splitlines() if line.strip()]
        return value.split(";")

    def key_set(self) -> AbstractSet[str]:
        return {*self._values}

    def contains_key(self, key: str) -> bool:
        return key in self._values

    def remove_config(self, key: str) -> bool:
        """Forget a key; whether it was there."""
        layers = self._values.maps if isinstance(self._values, ChainMap) else [self._values]
        found = [layer.pop(key, None) for layer in layers]
        return any(value is not None for value in found)

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        for key, value in other._values.items():
            self._values[(prefix or "") + key] = value
        return self

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        target_dict.update(self._values)

    def to_dict(self) -> dict[str, str]:
        return {key: as_text(value) for key, value in self._values.items()}

    def _put(self, key: str, value: Any) -> Configuration:
        _require_key(key)
        if value is None:
            raise InvalidArgument(
                f"setting {key!r} cannot be None",
                origin=calling_origin(),
                hint="Call remove_config() to unset it.",
            )
        self._values[key] = value
        return self

    def _read(self, key: str, kind: type, fallback: Any) -> Any:
        value = self._values.get(key)
        return fallback if value is None else _convert(key, value, kind)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Configuration:
        return Configuration(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.to_dict().items()))

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{key}={value}' for key, value in self.to_dict().items())}}}"


def as_text(value: Any) -> str:
    """A setting as Flink writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytearray):
        return value.hex()
    return str(value)


def _unquoted(cell: str) -> str:
    return cell.strip().strip("'\"")


def _require_key(key: object) -> None:
    if not isinstance(key, str) or not key:
        raise InvalidArgument(
            f"a setting's key is a non-empty string, not {key!r}", origin=calling_origin()
        )


def _require(key: str, value: Any, kinds: type | tuple[type, ...]) -> Any:
    fits = isinstance(value, (int, float) if kinds is float else kinds)
    if fits and not (isinstance(value, bool) and kinds is not bool):
        return value
    names = " or ".join(k.__name__ for k in (kinds if isinstance(kinds, tuple) else (kinds,)))
    raise TypeMismatch(
        f"setting {key!r} takes {names}, not {value!r} of type {type(value).__name__}",
        origin=calling_origin(),
    )


def _convert(key: str, value: Any, kind: type) -> Any:
    if isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool):
        return value
    convert = _READERS.get(kind)
    if convert is None:
        return _require(key, value, kind)
    try:
        return convert(as_text(value))
    except ValueError:
        raise InvalidArgument(
            f"setting {key!r} is {value!r}, which cannot be read as {kind.__name__}",
            origin=calling_origin(),
        ) from None


def _boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError(text)
    return lowered == "true"


_NANOS_PER_UNIT: dict[str, int] = {
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1),
    **dict.fromkeys(("µs", "us", "micro", "micros", "microsecond", "microseconds"), 1_000),
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1_000_000),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000_000_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60 * 1_000_000_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600 * 1_000_000_000),
    **dict.fromkeys(("d", "day", "days"), 86_400 * 1_000_000_000),
}


def parse_duration(text: str) -> Duration:
    """A length of time such as `10 s`; ValueError if it is none."""
    found = re.fullmatch(r"(\d+)\s*([a-zµ]*)", text.strip().lower())
    if found is None or found[2] not in _NANOS_PER_UNIT:
        raise ValueError(text)
    return Duration(int(found[1]) * _NANOS_PER_UNIT[found[2]])


_READERS: dict[type, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    bool: _boolean,
    Duration: parse_duration,
}
