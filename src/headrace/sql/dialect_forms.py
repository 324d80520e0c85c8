"""The grammar of forms that have words between their arguments: CAST, CASE, EXTRACT, TRIM, …"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.sql.dialect_json import JsonGrammar
from headrace.sql.keywords import TIME_UNITS, singular
from headrace.sql.nodes import CollectionQuery, FunctionCall, Operation, RowConstructor

_ROUNDING = {"FLOOR": "FLOOR_TO", "CEIL": "CEIL_TO", "CEILING": "CEIL_TO"}
_TRIM_MODES = ("BOTH", "LEADING", "TRAILING")


class FormGrammar(JsonGrammar):
    def special_form(self, name: str, start: Token) -> exp.Expr | None:
        if name == "CASE":
            return self._case(start)
        if name in ("RUNNING", "FINAL") and self.word(1) and self.sees_sign(TokenType.L_PAREN, 2):
            self._advance()
            return self.marked(Operation(this=name, expressions=[self.name_or_call()]), start)
        if name in ("ARRAY", "MAP", "MULTISET") and self.sees_sign(TokenType.L_BRACKET, 1):
            return self._constructor(name, start)
        if not self.sees_sign(TokenType.L_PAREN, 1):
            return None
        read = self._forms().get(name)
        if read is not None:
            self._advance()
            return read(name, start)
        return self.json_form(name, start)

    def _forms(self) -> dict[str, Callable[[str, Token], exp.Expr]]:
        return {
            "CAST": self._cast, "TRY_CAST": self._cast, "EXISTS": self._exists, "ROW": self._row_of,
            "ARRAY": self._collection_query, "MAP": self._collection_query,
            "MULTISET": self._collection_query, "EXTRACT": self._extract, "FLOOR": self._round,
            "CEIL": self._round, "CEILING": self._round, "TRIM": self._trim,
            "POSITION": self._in_text, "SUBSTRING": self._substring, "OVERLAY": self._overlay,
            "TIMESTAMPADD": self._with_unit, "TIMESTAMPDIFF": self._with_unit,
        }  # fmt: skip

    def called(self, name: str, arguments: list[exp.Expr], start: Token) -> FunctionCall:
        """A form as a plain call; it is at the place of its name."""
        function = exp.Identifier(this=name)
        call = self.marked(FunctionCall(this=function, expressions=arguments), start)
        function.meta.update(call.meta | {"end": start.end})
        return call

    def _case(self, start: Token) -> exp.Expr:
        self._advance()
        operand = None if self.sees("WHEN") else self.scalar()
        branches = []
        while self.accept("WHEN"):
            conditions = self.list_of(self.scalar)
            self.expect("THEN")
            result = self.scalar()
            branches += [exp.If(this=condition, true=result.copy()) for condition in conditions]
        if not branches:
            self.fail_expecting("WHEN")
        otherwise = self.scalar() if self.accept("ELSE") else None
        self.expect("END")
        return self.marked(exp.Case(this=operand, ifs=branches, default=otherwise), start)

    def _cast(self, name: str, start: Token) -> exp.Expr:
        self.open_paren()
        operand = self.scalar()
        self.expect("AS")
        target = self.type_name()
        self.close_paren()
        kind = exp.TryCast if name == "TRY_CAST" else exp.Cast
        return self.marked(kind(this=operand, to=target), start)

    def _exists(self, name: str, start: Token) -> exp.Expr:
        return self.marked(exp.Exists(this=self.in_parens(self.query)), start)

    def _row_of(self, name: str, start: Token) -> exp.Expr:
        self.open_paren()
        items = [] if self.sees_sign(TokenType.R_PAREN) else self.list_of(self.scalar)
        self.close_paren()
        return self.marked(RowConstructor(expressions=items), start)

    def _constructor(self, name: str, start: Token) -> exp.Expr:
        self._advance(2)
        items = [] if self.sees_sign(TokenType.R_BRACKET) else self.list_of(self.scalar)
        self.expect_sign(TokenType.R_BRACKET, "]")
        return self.called(name, items, start)

    def _collection_query(self, name: str, start: Token) -> exp.Expr:
        if not self._query_ahead():
            self.fail_expecting("[", hint=f"a list of elements is written {name}[…]")
        query = self.in_parens(self.query)
        return self.marked(CollectionQuery(this=query, kind=name), start)

    def _time_unit(self) -> exp.Expr:
        token = self._curr
        written = self.word()
        unit = singular(written.removeprefix("SQL_TSI_"))
        if unit == "FRAC_SECOND":
            unit = "MICROSECOND"
        if unit not in TIME_UNITS:
            self.fail_expecting("a unit of time", hint=f"units are {', '.join(sorted(TIME_UNITS))}")
        self._advance()
        return self.marked(exp.Literal.string(unit), token)

    def _extract(self, name: str, start: Token) -> exp.Expr:
        self.open_paren()
        unit = self._time_unit()
        self.expect("FROM")
        value = self.scalar()
        self.close_paren()
        return self.called("EXTRACT", [unit, value], start)

    def _round(self, name: str, start: Token) -> exp.Expr:
        self.open_paren()
        arguments = self.list_of(self.scalar)
        if self.accept("TO"):
            arguments.append(self._time_unit())
            name = _ROUNDING[name]
        self.close_paren()
        return self.called(name, arguments, start)

    def _trim(self, name: str, start: Token) -> exp.Expr:
        self.open_paren()
        mode = self.accept_any(_TRIM_MODES)
        what: exp.Expr = exp.Literal.string(" ")
        if mode and self.accept("FROM"):
            text = self.scalar()
        else:
            text = self.scalar()
            if self.accept("FROM"):
                what, text = text, self.scalar()
            elif mode:
                self.fail_expecting("FROM")
        self.close_paren()
        return self.called("TRIM", [exp.Literal.string(mode or "BOTH"), what, text], start)

    def _in_text(self, name: str, start: Token) -> exp.Expr:
        self.open_paren()
        part = self._additive()
        self.expect("IN")
        arguments = [part, self.scalar()]
        if self.accept("FROM"):
            arguments.append(self.scalar())
        self.close_paren()
        return self.called("POSITION", arguments, start)

    def _substring(self, name: str, start: Token) -> exp.Expr:
        self.open_paren()
        arguments = self.list_of(self.scalar)
        if self.accept("FROM"):
            arguments.append(self.scalar())
            if self.accept("FOR"):
                arguments.append(self.scalar())
        self.close_paren()
        return self.called("SUBSTRING", arguments, start)

    def _overlay(self, name: str, start: Token) -> exp.Expr:
        self.open_paren()
        arguments = self.list_of(self.scalar)
        if self.accept("PLACING"):
            arguments.append(self.scalar())
            self.expect("FROM")
            arguments.append(self.scalar())
            if self.accept("FOR"):
                arguments.append(self.scalar())
        self.close_paren()
        return self.called("OVERLAY", arguments, start)

    def _with_unit(self, name: str, start: Token) -> exp.Expr:
        self.open_paren()
        arguments = [self._time_unit()]
        while self.accept_sign(TokenType.COMMA):
            arguments.append(self.scalar())
        self.close_paren()
        return self.called(name, arguments, start)
