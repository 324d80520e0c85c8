"""The words of a SQL text: Flink's rules for names, text, numbers, comments and hints."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from headrace.errors import InvalidQuery
from headrace.sql.position import Position

_HINT_START, _HINT_END = "/*+", "*/"


class FlinkTokenizer(Tokenizer):
    """All words are VAR: which of them are keywords depends on where they stand."""

    IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`"]
    QUOTES: ClassVar[list[tuple[str, str] | str]] = ["'"]
    STRING_ESCAPES: ClassVar[list[str]] = ["'"]
    HEX_STRINGS: ClassVar[list[str | tuple[str, str]]] = [("x'", "'"), ("X'", "'")]
    UNICODE_STRINGS: ClassVar[list[str | tuple[str, str]]] = [("u&'", "'"), ("U&'", "'")]
    VAR_SINGLE_TOKENS: ClassVar[set[str]] = {"$"}
    COMMENTS: ClassVar[list[str | tuple[str, str]]] = ["--", "//", ("/*", "*/")]
    NESTED_COMMENTS = False
    TOKENS_PRECEDING_HINT: ClassVar[set[TokenType]] = {
        TokenType.VAR,
        TokenType.IDENTIFIER,
        TokenType.R_PAREN,
    }
    COMMANDS: ClassVar[set[TokenType]] = set()
    KEYWORDS: ClassVar[dict[str, TokenType]] = {
        _HINT_START: TokenType.HINT,
        "||": TokenType.DPIPE,
        "<>": TokenType.NEQ,
        "!=": TokenType.NEQ,
        ">=": TokenType.GTE,
        "<=": TokenType.LTE,
        "=>": TokenType.FARROW,
    }


def tokens_of(text: str, dialect: type[Dialect]) -> list[Token]:
    """The words of a text; the words of a hint stand between two HINT tokens."""
    found: list[Token] = []
    for token in _scan(text, dialect):
        if token.token_type == TokenType.HINT:
            found.extend(_hint(text, token, dialect))
        else:
            found.append(token)
    return found


def _scan(text: str, dialect: type[Dialect]) -> list[Token]:
    tokenizer = FlinkTokenizer(dialect=dialect)
    try:
        return tokenizer.tokenize(text)
    except TokenError as error:
        raise _unreadable(text, tokenizer._core) from error


def _unreadable(text: str, core: Any) -> InvalidQuery:
    """Only text and quoted names can go wrong: what was begun did not end."""
    start = min(core._start, max(0, len(text) - 1))
    opening = text[start : start + 1]
    at = Position.at_offset(text, start)
    if opening in ("x", "X"):
        return InvalidQuery(
            "a binary literal has other characters than hexadecimal digits", origin=at,
            hint="write two digits for each byte, such as x'0AFF'",
        )  # fmt: skip
    if opening == "/":
        return InvalidQuery(
            "the comment that starts here does not end", origin=at, hint="close it with */"
        )
    what = "quoted name" if opening == "`" else "text"
    return InvalidQuery(
        f"the {what} that starts here does not end", origin=at,
        hint=f"close it with {opening}; inside it, write {opening} twice",
    )  # fmt: skip


def _hint(text: str, token: Token, dialect: type[Dialect]) -> list[Token]:
    start, end = token.start, token.end
    inside = text[start + len(_HINT_START) : end + 1 - len(_HINT_END)]
    offset = start + len(_HINT_START)
    words = [
        Token(word.token_type, word.text, start=word.start + offset, end=word.end + offset)
        for word in _scan(inside, dialect)
    ]
    opening = Token(TokenType.HINT, _HINT_START, start=start, end=start + 2)
    closing = Token(TokenType.HINT, _HINT_END, start=end - 1, end=end)
    return [opening, *words, closing]
