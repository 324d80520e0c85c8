"""ModelDescriptor: a model as a program declares it, with its provider and options."""

from __future__ import annotations

from typing import Any

from headrace.common.config_options import ConfigOption
from headrace.sql.catalog import CatalogModel
from headrace.table.schema import Schema
from headrace.table.table_descriptor import option_texts

__all__ = ["ModelDescriptor"]


class ModelDescriptor:
    """What a model takes and gives. It can be kept by name; nothing here can call it."""

    def __init__(self, model: CatalogModel) -> None:
        self.model = model

    @staticmethod
    def for_provider(provider: str) -> ModelDescriptor.Builder:
        return ModelDescriptor.Builder(provider)

    def get_options(self) -> dict[str, str]:
        return dict(self.model.options)

    def get_input_schema(self) -> Schema | None:
        schema: Schema | None = self.model.input_schema
        return schema

    def get_output_schema(self) -> Schema | None:
        schema: Schema | None = self.model.output_schema
        return schema

    def get_comment(self) -> str | None:
        return self.model.comment

    def __str__(self) -> str:
        options = ",\n".join(f"  '{key}' = '{value}'" for key, value in self.get_options().items())
        comment = "" if self.model.comment is None else f"COMMENT '{self.model.comment}'\n"
        return (
            f"{self.model.input_schema}\n{self.model.output_schema}\n{comment}WITH (\n{options}\n)"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModelDescriptor) and self.model == other.model

    def __hash__(self) -> int:
        return hash(str(self))

    class Builder:
        """Collects what a model is declared with."""

        def __init__(self, provider: str) -> None:
            self._options = {"provider": provider}
            self._input: Schema | None = None
            self._output: Schema | None = None
            self._comment: str | None = None

        def input_schema(self, input_schema: Schema) -> ModelDescriptor.Builder:
            self._input = input_schema
            return self

        def output_schema(self, output_schema: Schema) -> ModelDescriptor.Builder:
            self._output = output_schema
            return self

        def option(self, key: str | ConfigOption[Any], value: Any) -> ModelDescriptor.Builder:
            name, text = option_texts(key, value)
            self._options[name] = text
            return self

        def comment(self, comment: str) -> ModelDescriptor.Builder:
            self._comment = comment
            return self

        def build(self) -> ModelDescriptor:
            made = CatalogModel(self._input, self._output, dict(self._options), self._comment)
            return ModelDescriptor(made)
