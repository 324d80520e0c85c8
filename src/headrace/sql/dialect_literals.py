"""The grammar of literals: numbers, text, binary, dates, times and intervals."""

from __future__ import annotations

import re
from abc import abstractmethod

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.sql.dialect_types import TypeGrammar
from headrace.sql.keywords import INTERVAL_UNITS, singular
from headrace.sql.nodes import IntervalLiteral, Operation, TimeLiteral, TypeName

_CONSTANTS = ("TRUE", "FALSE", "NULL", "UNKNOWN")
_TIME_WORDS = ("DATE", "TIME", "TIMESTAMP")


class LiteralGrammar(TypeGrammar):
    def literal(self) -> exp.Expr | None:
        """A literal, or None if what is there is none."""
        token = self.peek()
        if token is None:
            return None
        if token.token_type in (TokenType.NUMBER, TokenType.DOT):
            return self._number(token)
        if token.token_type in (TokenType.STRING, TokenType.NATIONAL_STRING):
            return self._text(token)
        if token.token_type == TokenType.HEX_STRING:
            return self._binary(token)
        if token.token_type == TokenType.UNICODE_STRING:
            return self._unicode(token)
        return self._word_literal(token) if token.token_type == TokenType.VAR else None

    def _word_literal(self, token: Token) -> exp.Expr | None:
        word = token.text.upper()
        if word in _CONSTANTS:
            self._advance()
            return self._constant(word, token)
        if word in _TIME_WORDS and self.sees_sign(TokenType.STRING, 1):
            self._advance()
            text = self.string()
            return self.marked(TimeLiteral(this=text, kind=word), token)
        if word == "INTERVAL":
            self._advance()
            return self._interval(token)
        follows = self.peek(1)
        if follows is None or follows.token_type != TokenType.STRING:
            return None
        if word.startswith("_") and token.end + 1 == follows.start:
            # A character set, such as in _UTF16'…'; text has only one here.
            self._advance()
            return self._text(follows)
        return None

    def _constant(self, word: str, token: Token) -> exp.Expr:
        if word == "NULL":
            return self.marked(exp.Null(), token)
        if word == "UNKNOWN":
            empty = self.marked(exp.Null(), token)
            return self.marked(exp.Cast(this=empty, to=TypeName(this="BOOLEAN")), token)
        return self.marked(exp.Boolean(this=word == "TRUE"), token)

    def _number(self, token: Token) -> exp.Expr | None:
        text = token.text
        if token.token_type == TokenType.DOT:
            if not self.sees_sign(TokenType.NUMBER, 1):
                return None
            self._advance()
            text = "." + self._curr.text
        self._advance()
        follows = self.peek()
        if follows and follows.start == self._prev.end + 1 and follows.token_type == TokenType.VAR:
            self.fail(
                f"{text}{follows.text} is neither a number nor a name", token,
                hint=f"quote names that start with a digit: `{text}{follows.text}`",
            )  # fmt: skip
        return self.marked(exp.Literal.number(text), token)

    def _text(self, token: Token) -> exp.Expr:
        """A text; texts on lines below belong to it."""
        self._advance()
        parts = [token.text]
        while self.sees_sign(TokenType.STRING):
            parts.append(self.string())
        return self.marked(exp.Literal.string("".join(parts)), token)

    def _binary(self, token: Token) -> exp.Expr:
        if self.sql[token.start : token.start + 1] == "0":
            self.fail("numbers are decimal", token, hint="write binary data as x'0AFF'")
        self._advance()
        if len(token.text) % 2:
            self.fail(
                "a binary literal has an odd number of digits", token,
                hint="write two digits for each byte, such as x'0AFF'",
            )  # fmt: skip
        return self.marked(exp.HexString(this=token.text), token)

    def _unicode(self, token: Token) -> exp.Expr:
        self._advance()
        escape = "\\"
        if self.accept("UESCAPE"):
            escape = self.string("the escape character in '…'")
        sign = re.escape(escape)
        pattern = rf"{sign}{sign}|{sign}\+([0-9A-Fa-f]{{6}})|{sign}([0-9A-Fa-f]{{4}})"

        def decoded(match: re.Match[str]) -> str:
            digits = match.group(1) or match.group(2)
            return chr(int(digits, 16)) if digits else escape

        return self.marked(exp.Literal.string(re.sub(pattern, decoded, token.text)), token)

    def _interval(self, start: Token) -> exp.Expr:
        negative = self.accept_sign(TokenType.DASH)
        if not negative:
            self.accept_sign(TokenType.PLUS)
        if self.sees_sign(TokenType.STRING):
            return self._quoted_interval(start, negative)
        amount = self._interval_amount()
        one = self._interval_of("-1" if negative else "1", start)
        return self.marked(Operation(this="TIMES", expressions=[amount, one]), start)

    def _interval_amount(self) -> exp.Expr:
        if self.sees_sign(TokenType.L_PAREN):
            return self.in_parens(self.scalar)
        found = self.literal() if self.sees_sign(TokenType.NUMBER) else self.name_or_call()
        if found is None:
            self.fail_expecting("the interval's length, such as '5'")
        return found

    @abstractmethod
    def name_or_call(self) -> exp.Expr:
        """A column, or a call of a function."""

    def _quoted_interval(self, start: Token, negative: bool) -> exp.Expr:
        text = self.string()
        return self._interval_of("-" + text if negative else text, start)

    def _interval_of(self, text: str, start: Token) -> IntervalLiteral:
        unit, precision = self._unit()
        to, scale = self._unit() if self.accept("TO") else (None, [])
        found = IntervalLiteral(this=text, unit=unit, precision=precision, to=to, scale=scale)
        return self.marked(found, start)

    def _unit(self) -> tuple[str, list[object]]:
        unit = singular(self.word())
        if unit not in INTERVAL_UNITS:
            self.fail_expecting(
                *sorted(INTERVAL_UNITS), hint="an interval is written INTERVAL '5' MINUTE"
            )
        self._advance()
        return unit, self._numbers()
