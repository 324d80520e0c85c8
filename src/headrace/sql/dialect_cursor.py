"""Reading words one after the other: what every part of the grammar does."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import NoReturn, TypeVar

from sqlglot import exp
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import InvalidQuery
from headrace.sql.keywords import RESERVED
from headrace.sql.nodes import mark
from headrace.sql.position import Position, closest

Node = TypeVar("Node", bound=exp.Expr)
Item = TypeVar("Item")

_END_OF_TEXT = "the end of the statement"
_SIGNS = {
    ",": "a comma",
    "(": "an opening parenthesis",
    ")": "a closing parenthesis",
    "[": "an opening bracket",
    "]": "a closing bracket",
    "=": "an equals sign",
    ";": "a semicolon",
}
"""How signs are called where they are missing: among words they would be overlooked."""
_CLOSING = ")]"
_CLAUSES = (
    "FROM",
    "WHERE",
    "GROUP BY",
    "HAVING",
    "WINDOW",
    "ORDER BY",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "JOIN",
    "WITH",
)
_BEFORE_BY = ("GROUP", "ORDER", "PARTITION", "PARTITIONED")


class Cursor(Parser):
    """A place among the words of a text.

    `accept…` moves on if the words are there and says whether they were, `expect…` raises if they
    are not, `sees…` only looks.
    """

    _after_item = -1
    """Where the last list ended: a comma would have let it go on."""

    def open(self, tokens: list[Token], text: str) -> None:
        self.reset()
        self.sql = text
        self._tokens = tokens
        self._tokens_size = len(tokens)
        self._advance(0)

    # What grammars further down ask of those further up.

    @abstractmethod
    def scalar(self) -> exp.Expr:
        """An expression."""

    @abstractmethod
    def query(self) -> exp.Expr:
        """SELECT, VALUES, or several with UNION and the like."""

    @abstractmethod
    def type_name(self, nullability: bool = True) -> exp.Expr:
        """A type, with NOT NULL if that may follow."""

    @property
    def at_end(self) -> bool:
        return self._index >= self._tokens_size

    def peek(self, ahead: int = 0) -> Token | None:
        index = self._index + ahead
        return self._tokens[index] if 0 <= index < self._tokens_size else None

    def word(self, ahead: int = 0) -> str:
        """The word there in upper case; "" if it is quoted, a literal or a sign."""
        token = self.peek(ahead)
        return token.text.upper() if token and token.token_type == TokenType.VAR else ""

    def sees(self, *words: str, ahead: int = 0) -> bool:
        return all(self.word(ahead + index) == word for index, word in enumerate(words))

    def sees_any(self, words: Iterable[str], ahead: int = 0) -> bool:
        found = self.word(ahead)
        return bool(found) and found in words

    def sees_sign(self, sign: TokenType, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        return token is not None and token.token_type == sign

    def accept(self, *words: str) -> bool:
        if not self.sees(*words):
            return False
        self._advance(len(words))
        return True

    def accept_any(self, words: Iterable[str]) -> str | None:
        if not self.sees_any(words):
            return None
        found = self.word()
        self._advance()
        return found

    def accept_sign(self, sign: TokenType) -> bool:
        if not self.sees_sign(sign):
            return False
        self._advance()
        return True

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.accept(word):
                self.fail_expecting(word)

    def expect_any(self, words: Iterable[str]) -> str:
        found = self.accept_any(words)
        if found is None:
            self.fail_expecting(*words)
        return found

    def expect_sign(self, sign: TokenType, shown: str) -> None:
        if not self.accept_sign(sign):
            self.fail_expecting(shown)

    def open_paren(self) -> None:
        self.expect_sign(TokenType.L_PAREN, "(")

    def close_paren(self) -> None:
        self.expect_sign(TokenType.R_PAREN, ")")

    def in_parens(self, read: Callable[[], Item]) -> Item:
        self.open_paren()
        found = read()
        self.close_paren()
        return found

    def list_of(self, read: Callable[[], Item]) -> list[Item]:
        found = [read()]
        while self.accept_sign(TokenType.COMMA):
            found.append(read())
        self._after_item = self._index
        return found

    def list_in_parens(self, read: Callable[[], Item]) -> list[Item]:
        return self.in_parens(lambda: self.list_of(read))

    def is_name(self, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        if token is None:
            return False
        if token.token_type == TokenType.IDENTIFIER:
            return True
        return token.token_type == TokenType.VAR and token.text.upper() not in RESERVED

    def identifier(self, what: str = "a name") -> exp.Identifier:
        if not self.is_name():
            self._fail_name(what)
        return self.any_word()

    def any_word(self) -> exp.Identifier:
        """The word there, whatever it is, as an identifier."""
        token = self._curr
        self._advance()
        quoted = token.token_type == TokenType.IDENTIFIER
        return self.marked(exp.Identifier(this=token.text, quoted=quoted), token)

    def path(self, what: str = "a name") -> list[exp.Identifier]:
        """Names with dots between."""
        parts = [self.identifier(what)]
        while self.accept_sign(TokenType.DOT):
            parts.append(self.identifier(what))
        return parts

    def identifiers_in_parens(self) -> list[exp.Identifier]:
        return self.list_in_parens(lambda: self.identifier("a column"))

    def string(self, what: str = "a text in '…'") -> str:
        token = self.peek()
        if token is None or token.token_type != TokenType.STRING:
            self.fail_expecting(what)
        self._advance()
        return token.text

    def whole_number(self, what: str = "a whole number") -> int:
        token = self.peek()
        if token is None or token.token_type != TokenType.NUMBER or not token.text.isdigit():
            self.fail_expecting(what)
        self._advance()
        return int(token.text)

    def marked(self, node: Node, start: Token | exp.Expr) -> Node:
        """The node with its place: from `start` to the last word read."""
        first = start.start if isinstance(start, Token) else start.meta["start"]
        mark(node, self.sql, first, max(first, self._prev.end))
        return node

    def text_since(self, start: Token) -> str:
        return self.sql[start.start : self._prev.end + 1]

    def position(self, token: Token | None = None) -> Position:
        token = token or self.peek()
        if token is None:
            end = self._tokens[-1].end + 1 if self._tokens else 0
            return Position.at_offset(self.sql, end)
        return Position.at_offset(self.sql, token.start, token.end + 1)

    def shown(self, token: Token | None = None) -> str:
        token = token or self.peek()
        if token is None:
            return _END_OF_TEXT
        text = self.sql[token.start : token.end + 1]
        if text == '"':
            return "a double quote"
        return text if text[:1].isalnum() or text[:1] in "'`_" else f'"{text}"'

    def fail(self, message: str, token: Token | None = None, hint: str | None = None) -> NoReturn:
        raise InvalidQuery(message, origin=self.position(token), hint=hint)

    def fail_expecting(self, *wanted: str, hint: str | None = None) -> NoReturn:
        """Raise that something else was expected here."""
        if wanted[0] in _CLOSING:
            self._expect_by()
            if self._index == self._after_item:
                wanted = (",", *wanted)
        token = self.peek()
        if token is not None and token.token_type == TokenType.UNKNOWN and token.text == '"':
            hint = "quote names with `…` and text with '…'"
        if hint is None and token is not None and token.token_type == TokenType.VAR:
            near = closest(token.text, [word for word in wanted if word.isupper()])
            hint = None if near is None or near == token.text.upper() else f"did you mean {near}?"
        self.fail(f"expected {_listed(wanted)}, found {self.shown()}", hint=hint)

    def fail_left_over(self, hint: str | None = None) -> NoReturn:
        """Raise that there is something left that nothing can be made of."""
        self._expect_by()
        word = self.word()
        if hint is None and word and word not in _CLAUSES:
            near = closest(word, _CLAUSES)
            hint = None if near is None else f"did you mean {near}?"
        self.fail(f"did not expect {self.shown()} here", hint=hint)

    def _expect_by(self) -> None:
        """GROUP and the like mean nothing without the word after them."""
        if self.sees_any(_BEFORE_BY) and not self.sees("BY", ahead=1):
            self._advance()
            self.fail_expecting("BY")

    def _fail_name(self, what: str) -> NoReturn:
        token = self.peek()
        if token is not None and token.token_type == TokenType.VAR:
            self.fail(
                f"expected {what}, found the reserved word {token.text}",
                hint=f"if it is a name, quote it: `{token.text}`",
            )
        self.fail_expecting(what)


def _listed(wanted: Iterable[str]) -> str:
    named = [_SIGNS.get(each, each if each[0].isalpha() else f'"{each}"') for each in wanted]
    if len(named) < 3:
        return " or ".join(named)
    return "one of " + ", ".join(named)
