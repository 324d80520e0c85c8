"""What statements have in common: paths, options, and their texts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.sql.dialect import FlinkParser
from headrace.sql.position import Position
from headrace.sql.statements import Path, Statement

AnyStatement = TypeVar("AnyStatement", bound=Statement)


class StatementBase(FlinkParser):
    @abstractmethod
    def statement(self) -> Statement:
        """One statement of any kind."""

    _subject: Position | None = None
    """Where the name is of what the statement is about."""

    def placed(self, found: AnyStatement, start: Token) -> AnyStatement:
        """The statement with its text, and the place that its errors point at."""
        at = self._subject or self.position(start)
        self._subject = None
        return replace(found, text=self.text_since(start), at=at)

    def object_path(self, what: str) -> Path:
        start = self._curr
        parts = self.path(what)
        self._note_subject(start)
        if len(parts) > 3:
            self.fail(f"the name of {what} has at most three parts", start)
        return tuple(part.name for part in parts)

    def _note_subject(self, start: Token) -> None:
        if self._subject is None:
            end = self._prev.end + 1
            self._subject = Position.at_offset(self.sql, start.start, end)

    def simple_name(self, what: str) -> str:
        start = self._curr
        name: str = self.identifier(what).name
        self._note_subject(start)
        return name

    def names_in_parens(self) -> Path:
        return tuple(part.name for part in self.identifiers_in_parens())

    def if_exists(self) -> bool:
        return self.accept("IF", "EXISTS")

    def if_not_exists(self) -> bool:
        return self.accept("IF", "NOT", "EXISTS")

    def comment(self) -> str | None:
        return self.string("a comment in '…'") if self.accept("COMMENT") else None

    def options(self) -> dict[str, str]:
        """('key' = 'value', …)"""
        self.open_paren()
        found: dict[str, str] = {}
        while not self.sees_sign(TokenType.R_PAREN):
            token = self._curr
            key = self.string("an option as 'key' = 'value'")
            self.expect_sign(TokenType.EQ, "=")
            if key in found:
                self.fail(f"the option {key} is there twice", token)
            found[key] = self.string("the option's value in '…'")
            if not self.accept_sign(TokenType.COMMA):
                self._after_item = self._index
                break
        self.close_paren()
        return found

    def with_options(self) -> dict[str, str]:
        return self.options() if self.accept("WITH") else {}

    def option_keys(self) -> Path:
        if self.sees_sign(TokenType.L_PAREN) and self.sees_sign(TokenType.R_PAREN, 1):
            self.fail("RESET needs the key of an option", self._curr)
        return tuple(self.list_in_parens(lambda: self.string("an option's key in '…'")))

    def partition(self) -> dict[str, exp.Expr | None]:
        """(key = literal, key, …)"""
        self.open_paren()
        found: dict[str, exp.Expr | None] = {}
        while True:
            name = self.simple_name("a partition column")
            value = self.scalar() if self.accept_sign(TokenType.EQ) else None
            found[name] = value
            if not self.accept_sign(TokenType.COMMA):
                self._after_item = self._index
                break
        self.close_paren()
        return found

    def partition_texts(self) -> Mapping[str, str]:
        """A partition with every key's value as text."""
        start = self._curr
        found: dict[str, str] = {}
        for name, value in self.partition().items():
            if not isinstance(value, exp.Literal):
                self.fail(f"the partition needs a literal for {name}", start)
            found[name] = str(value.this)
        return found

    def query_with_text(self) -> tuple[exp.Expr, str]:
        start = self._curr
        query = self.query()
        return query, self.text_since(start)

    def skip_statement(self) -> None:
        """Move to the end of the statement without reading it."""
        while not self.at_end and not self.sees_sign(TokenType.SEMICOLON):
            self._advance()
