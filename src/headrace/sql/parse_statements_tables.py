"""Reading CREATE TABLE and ALTER TABLE."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

from headrace.core import logical_types as lt
from headrace.core.logical_types import Field
from headrace.core.table_connector import TableColumn, WatermarkText
from headrace.sql import statements as st
from headrace.sql.parse_statements_base import StatementBase
from headrace.sql.types import logical_type

_CHOICES = ("INCLUDING", "EXCLUDING", "OVERWRITING")
_FEATURES = (
    "ALL", "CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS",
    "WATERMARKS",
)  # fmt: skip


@dataclass
class _Parts:
    """Parts of a table while they are read."""

    columns: list[st.ColumnPart] = field(default_factory=list)
    watermark: WatermarkText | None = None
    primary_key: st.Path | None = None
    primary_key_name: str | None = None
    distribution: str | None = None


class TableStatements(StatementBase):
    def create_table(self, start: Token, temporary: bool, replace: bool) -> st.Statement:
        """Behind CREATE [OR REPLACE] [TEMPORARY] TABLE."""
        if_not_exists = self.if_not_exists()
        path = self.object_path("a table")
        parts = self._table_parts() if self.sees_sign(TokenType.L_PAREN) else st.TableParts()
        comment = self.comment()
        distribution = self._distribution("DISTRIBUTED")
        keys: st.Path = ()
        if self.accept("PARTITIONED", "BY"):
            keys = self.names_in_parens()
        options = self.with_options()
        like = self._like() if self.sees("LIKE") else None
        table = st.CreateTable(
            path=path, parts=parts, options=options, partition_keys=keys, comment=comment,
            distribution=distribution, temporary=temporary, if_not_exists=if_not_exists, like=like,
        )  # fmt: skip
        if self.accept("AS"):
            table = self.placed(table, start)
            self._subject = table.at
            return st.CreateTableAs(table=table, query=self.query(), replace=replace)
        if replace:
            self.fail_expecting("AS", hint="a table is only replaced by a query's rows")
        if parts.names is not None:
            self.fail(
                "columns without types need AS and a query", start, hint="write the columns' types"
            )
        return table

    def _table_parts(self) -> st.TableParts:
        """The parentheses of CREATE TABLE: columns and constraints, or only names."""
        if self.is_name(1) and (
            self.sees_sign(TokenType.COMMA, 2) or self.sees_sign(TokenType.R_PAREN, 2)
        ):
            return st.TableParts(names=self.names_in_parens())
        found = _Parts()
        self.open_paren()
        if not self.sees_sign(TokenType.R_PAREN):
            self.list_of(lambda: self._part(found, moving=False))
        self.close_paren()
        return self._finished(found)

    def _finished(self, found: _Parts) -> st.TableParts:
        key = found.primary_key
        marked = tuple(part.column.field.name for part in found.columns if part.primary_key)
        if marked and (key is not None or len(marked) > 1):
            self.fail(
                "a table has only one primary key", self._prev,
                hint="name all its columns in PRIMARY KEY (…) NOT ENFORCED",
            )  # fmt: skip
        return st.TableParts(
            columns=tuple(found.columns), watermark=found.watermark,
            distribution=found.distribution, primary_key=key or marked or None,
            primary_key_name=found.primary_key_name,
        )  # fmt: skip

    def _part(self, found: _Parts, moving: bool) -> None:
        if self.sees("WATERMARK", "FOR"):
            found.watermark = self._watermark(found)
        elif self.sees("PRIMARY", "KEY") or self.sees("CONSTRAINT") or self.sees("UNIQUE"):
            self._constraint(found)
        else:
            found.columns.append(self._column(moving))

    def _watermark(self, found: _Parts) -> WatermarkText:
        if found.watermark is not None:
            self.fail("a table has only one watermark")
        self._advance(2)
        column = ".".join(part.name for part in self.path("a column"))
        self.expect("AS")
        start = self._curr
        self.scalar()
        return WatermarkText(column, self.text_since(start))

    def _constraint(self, found: _Parts) -> None:
        if found.primary_key is not None:
            self.fail("a table has only one primary key")
        if self.accept("CONSTRAINT"):
            found.primary_key_name = self.simple_name("the constraint's name")
        if self.sees("UNIQUE"):
            self.fail("UNIQUE constraints do not exist", hint="use PRIMARY KEY (…) NOT ENFORCED")
        self.expect("PRIMARY", "KEY")
        found.primary_key = self.names_in_parens()
        self._not_enforced()

    def _not_enforced(self) -> None:
        if not self.accept("NOT", "ENFORCED"):
            self.fail_expecting(
                "NOT ENFORCED",
                hint="primary keys are not checked: write PRIMARY KEY … NOT ENFORCED",
            )

    def _column(self, moving: bool) -> st.ColumnPart:
        start = self._curr
        name = self.simple_name("a column's name")
        if self.accept("AS"):
            column, key = self._computed(name), False
        else:
            column, key = self._typed(name)
        first, after = False, None
        if moving and self.accept("FIRST"):
            first = True
        elif moving and self.accept("AFTER"):
            after = self.simple_name("a column")
        return st.ColumnPart(column, key, first, after, at=self.position(start))

    def _computed(self, name: str) -> TableColumn:
        start = self._curr
        self.scalar()
        text = self.text_since(start)
        # The type is known when the table is created, by what it computes.
        return TableColumn(Field(name, lt.NULL, self.comment()), computed=text)

    def _typed(self, name: str) -> tuple[TableColumn, bool]:
        kind = logical_type(self.type_name())
        if self.accept("METADATA"):
            key = self.string("the metadata's key in '…'") if self.accept("FROM") else name
            virtual = self.accept("VIRTUAL")
            field = Field(name, kind, self.comment())
            return TableColumn(field, metadata=key, virtual=virtual), False
        primary = False
        if self.accept("CONSTRAINT"):
            self.simple_name("the constraint's name")
        if self.accept("PRIMARY", "KEY"):
            self._not_enforced()
            primary, kind = True, kind.not_null()
        return TableColumn(Field(name, kind, self.comment())), primary

    def _distribution(self, word: str) -> str | None:
        """DISTRIBUTED [BY [HASH|RANGE] (a, b)] [INTO n BUCKETS], as it was written."""
        start = self._curr
        if not self.accept(word):
            return None
        if self.accept("BY"):
            self.accept_any(("HASH", "RANGE"))
            self.names_in_parens()
        if self.accept("INTO"):
            self.whole_number("a number of buckets")
            self.expect("BUCKETS")
        return self.text_since(start)[len(word) :].strip()

    def _like(self) -> st.LikeClause:
        start = self._curr
        self.expect("LIKE")
        path = self.object_path("a table")
        choices: list[tuple[str, str]] = []
        if self.accept_sign(TokenType.L_PAREN):
            while choice := self.accept_any(_CHOICES):
                choices.append((choice, self.expect_any(_FEATURES)))
            self.close_paren()
        return st.LikeClause(path, tuple(choices), at=self.position(start))

    def alter_table(self) -> st.Statement:
        """Behind ALTER TABLE."""
        if_exists = self.if_exists()
        path = self.object_path("a table")
        return st.AlterTable(path=path, action=self._alteration(), if_exists=if_exists)

    def _alteration(self) -> Any:
        word = self.expect_any(("RENAME", "SET", "RESET", "ADD", "MODIFY", "DROP"))
        if word == "RENAME":
            return self._rename()
        if word == "SET":
            return st.SetOptions(self.options())
        if word == "RESET":
            return st.ResetOptions(self.option_keys())
        if word == "DROP":
            return self._dropped()
        if word == "ADD" and (self.sees("PARTITION") or self.sees("IF", "NOT", "EXISTS")):
            return self._added_partitions()
        return st.ChangeParts(self._changed_parts(), modify=word == "MODIFY")

    def _rename(self) -> Any:
        if self.accept("TO"):
            return st.RenameTo(self.object_path("a table"))
        old = self.simple_name("a column")
        self.expect("TO")
        return st.RenameColumn(old, self.simple_name("the column's new name"))

    def _changed_parts(self) -> st.TableParts:
        found = _Parts()
        distribution = self._distribution("DISTRIBUTION")
        if distribution is not None:
            return st.TableParts(distribution=distribution)
        if self.accept_sign(TokenType.L_PAREN):
            self.list_of(lambda: self._part(found, moving=True))
            self.close_paren()
        else:
            self._part(found, moving=True)
        return self._finished(found)

    def _dropped(self) -> Any:
        if self.accept("PRIMARY", "KEY"):
            return st.DropPart("primary key")
        if self.accept("CONSTRAINT"):
            return st.DropPart("constraint", self.simple_name("the constraint's name"))
        if part := self.accept_any(("WATERMARK", "DISTRIBUTION")):
            return st.DropPart(part.lower())
        if self.sees("PARTITION") or self.sees("IF", "EXISTS"):
            if_exists = self.if_exists()
            return st.DropPartitions(tuple(self.list_of(self._partition)), if_exists)
        if self.sees_sign(TokenType.L_PAREN):
            return st.DropColumns(self.names_in_parens())
        return st.DropColumns((self.simple_name("a column"),))

    def _partition(self) -> Any:
        self.expect("PARTITION")
        return self.partition_texts()

    def _added_partitions(self) -> st.AddPartitions:
        if_not_exists = self.if_not_exists()
        found = []
        while self.sees("PARTITION"):
            partition = self._partition()
            found.append((partition, self.with_options()))
            self.accept_sign(TokenType.COMMA)
        return st.AddPartitions(tuple(found), if_not_exists)
