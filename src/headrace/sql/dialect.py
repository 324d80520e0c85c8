"""Flink's SQL as a sqlglot dialect: text to trees whose parts know where they were written.

The grammar is in the modules `dialect_…`, each a class over the one below it: words, types,
literals, scalar expressions, calls, tables, MATCH_RECOGNIZE, queries. It takes what Flink takes and
raises `InvalidQuery` with line and column for the rest. `headrace.sql.nodes` lists the trees'
shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy
from sqlglot.tokenizer_core import Token, TokenType

from headrace.sql.dialect_queries import QueryGrammar
from headrace.sql.dialect_tokens import FlinkTokenizer, tokens_of

Found = TypeVar("Found")


class FlinkParser(QueryGrammar):
    """Queries and expressions; statements are read by `headrace.sql.parse_statements`."""

    def _parse_statement(self) -> exp.Expr | None:
        return self.query() if not self.at_end else None


class Flink(Dialect):
    NORMALIZATION_STRATEGY = NormalizationStrategy.CASE_SENSITIVE

    class Tokenizer(FlinkTokenizer):
        pass

    Parser = FlinkParser


def opened(text: str) -> FlinkParser:
    """A parser at the start of a text."""
    parser = FlinkParser(dialect=Flink)
    parser.open(tokens_of(text, Flink), text)
    return parser


def tokens(text: str) -> list[Token]:
    return tokens_of(text, Flink)


def whole(text: str, read: Callable[[FlinkParser], Found]) -> Found:
    """What is read from a text, of which nothing may be left."""
    parser = opened(text)
    found = read(parser)
    parser.accept_sign(TokenType.SEMICOLON)
    if not parser.at_end:
        parser.fail_left_over()
    return found


def parse_query(text: str) -> exp.Expr:
    """The tree of a query."""
    return whole(text, lambda parser: parser.query())


def parse_expression(text: str) -> exp.Expr:
    """The tree of a scalar expression, which may have an alias or be `*`."""
    return whole(text, lambda parser: parser._select_item())
