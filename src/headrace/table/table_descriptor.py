"""TableDescriptor: a table as a program declares it, with its connector and options."""

from __future__ import annotations

from typing import Any

from headrace.common.config_options import ConfigOption
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin
from headrace.table.schema import Schema

__all__ = ["FormatDescriptor", "TableDescriptor"]


def option_texts(key: Any, value: Any) -> tuple[str, str]:
    """An option's key and value as text."""
    name = key.key if isinstance(key, ConfigOption) else str(key)
    return name, str(value).lower() if isinstance(value, bool) else str(value)


class FormatDescriptor:
    """A format with its options."""

    def __init__(self, format: str, options: dict[str, str]) -> None:
        self._format = format
        self._options = options

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        return FormatDescriptor.Builder(format)

    def get_format(self) -> str:
        return self._format

    def get_options(self) -> dict[str, str]:
        return dict(self._options)

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self._options.items())
        return f"{self._format}[{{{options}}}]"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(str(self))

    class Builder:
        def __init__(self, format: str) -> None:
            self._format = format
            self._options: dict[str, str] = {}

        def option(self, key: str | ConfigOption[Any], value: Any) -> FormatDescriptor.Builder:
            name, text = option_texts(key, value)
            self._options[name] = text
            return self

        def build(self) -> FormatDescriptor:
            return FormatDescriptor(self._format, self._options)


class TableDescriptor:
    """Columns, connector, options and partitions of a table."""

    def __init__(self, builder: TableDescriptor.Builder) -> None:
        self._schema = builder._schema
        self._options = dict(builder._options)
        self._partition_keys = list(builder._partition_keys)
        self._comment = builder._comment

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        return TableDescriptor.Builder(connector)

    def get_schema(self) -> Schema | None:
        return self._schema

    def get_options(self) -> dict[str, str]:
        return dict(self._options)

    def get_partition_keys(self) -> list[str]:
        return list(self._partition_keys)

    def get_comment(self) -> str | None:
        return self._comment

    def __str__(self) -> str:
        schema = "" if self._schema is None else str(self._schema)
        comment = "" if self._comment is None else f"COMMENT '{self._comment}'\n"
        keys = ", ".join(f"`{key}`" for key in self._partition_keys)
        parts = f"PARTITIONED BY ({keys})\n" if keys else ""
        options = ",\n".join(f"  '{key}' = '{value}'" for key, value in self._options.items())
        return f"{schema}\n{comment}{parts}WITH (\n{options}\n)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableDescriptor) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    class Builder:
        """Says a table's parts one by one."""

        def __init__(self, connector: str) -> None:
            self._schema: Schema | None = None
            self._options = {"connector": connector}
            self._partition_keys: list[str] = []
            self._comment: str | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            self._schema = schema
            return self

        def option(self, key: str | ConfigOption[Any], value: Any) -> TableDescriptor.Builder:
            name, text = option_texts(key, value)
            self._options[name] = text
            return self

        def format(
            self, format: str | FormatDescriptor, format_option: ConfigOption[str] | None = None
        ) -> TableDescriptor.Builder:
            """The format of the table's data; its options get its name before theirs."""
            key = "format" if format_option is None else format_option.key
            if isinstance(format, str):
                self._options[key] = format
                return self
            if not key.endswith("format"):
                raise InvalidArgument(
                    f"the option of a format ends in 'format', not {key!r}",
                    origin=calling_origin(),
                )
            name = format.get_format()
            self._options[key] = name
            before = key.removesuffix("format") + name
            for option, value in format.get_options().items():
                self._options[f"{before}.{option}"] = value
            return self

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            self._partition_keys += partition_keys
            return self

        def comment(self, comment: str) -> TableDescriptor.Builder:
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
            return TableDescriptor(self)
