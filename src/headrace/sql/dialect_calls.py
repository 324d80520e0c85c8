"""The grammar of calls: arguments, and what may follow a call (FILTER, WITHIN GROUP, OVER)."""

from __future__ import annotations

from abc import abstractmethod

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.sql.dialect_scalars import ScalarGrammar
from headrace.sql.keywords import CONTEXT_FUNCTIONS, NOT_FUNCTIONS
from headrace.sql.nodes import (
    Default,
    Descriptor,
    FrameEdge,
    FunctionCall,
    ModelParameter,
    OverClause,
    TableParameter,
)


class CallGrammar(ScalarGrammar):
    @abstractmethod
    def special_form(self, name: str, start: Token) -> exp.Expr | None:
        """What looks like a call but has words between its arguments."""

    @abstractmethod
    def table_factor_name(self) -> exp.Expr:
        """A table by name, with its hints."""

    def name_or_call(self) -> exp.Expr:
        start = self._curr
        word = self.word()
        if word:
            special = self.special_form(word, start)
            if special is not None:
                return special
        if word in CONTEXT_FUNCTIONS and not self.sees_sign(TokenType.L_PAREN, 1):
            return self.marked(FunctionCall(this=self.any_word(), expressions=[]), start)
        length = self._call_ahead()
        return self.compound_name() if length is None else self._call(length)

    def _call_ahead(self) -> int | None:
        """How many names stand before the function's name; None if there is no call here."""
        names = 0
        while self.is_name(names * 2) and self.sees_sign(TokenType.DOT, names * 2 + 1):
            names += 1
        last = names * 2
        if not self.sees_sign(TokenType.L_PAREN, last + 1):
            return None
        callable_word = self.word(last) and self.word(last) not in NOT_FUNCTIONS
        return names if self.is_name(last) or callable_word else None

    def _call(self, names: int) -> exp.Expr:
        start = self._curr
        path = []
        for _ in range(names):
            path.append(self.identifier())
            self._advance()
        function = self.any_word()
        call = FunctionCall(this=function, path=path)
        self.open_paren()
        if not self.accept_sign(TokenType.R_PAREN):
            self._arguments(call)
            self.close_paren()
        return self.call_suffixes(self.marked(call, start))

    def _arguments(self, call: FunctionCall) -> None:
        if self.sees_sign(TokenType.STAR) and self.sees_sign(TokenType.R_PAREN, 1):
            self._advance()
            call.set("star", True)
            return
        if self.accept("DISTINCT"):
            call.set("distinct", True)
        else:
            self.accept("ALL")
        call.set("expressions", self.list_of(self.argument))
        self.nulls_treatment(call)
        if self.sees("ORDER", "BY"):
            call.set("order", self.order_by())

    def argument(self) -> exp.Expr:
        start = self._curr
        if self.sees_sign(TokenType.FARROW, 1):
            name = self.any_word()
            self._advance()
            return self.marked(exp.Kwarg(this=name, expression=self._argument_value()), start)
        return self._argument_value()

    def _argument_value(self) -> exp.Expr:
        start = self._curr
        if self.sees("TABLE"):
            return self._table_parameter()
        if self.sees("DESCRIPTOR") and self.sees_sign(TokenType.L_PAREN, 1):
            self._advance()
            names = self.list_in_parens(self.compound_name)
            return self.marked(Descriptor(expressions=names), start)
        if self.sees("MODEL") and self.is_name(1):
            self._advance()
            return self.marked(ModelParameter(expressions=self.path("a model")), start)
        if self.accept("DEFAULT"):
            return self.marked(Default(), start)
        value = self.scalar()
        if isinstance(value, exp.Subquery) and self.sees_any(("PARTITION", "ORDER")):
            return self._partitioned(TableParameter(this=value), start)
        return value

    def _table_parameter(self) -> exp.Expr:
        start = self._curr
        self.expect("TABLE")
        if self.sees_sign(TokenType.L_PAREN):
            table: exp.Expr = self.in_parens(self.query_or_table)
        else:
            table = self.table_factor_name()
        return self._partitioned(TableParameter(this=table), start)

    def query_or_table(self) -> exp.Expr:
        """What stands in TABLE(…)."""
        if self.sees_any(("SELECT", "WITH", "VALUES")):
            start = self._curr
            return self.marked(exp.Subquery(this=self.query()), start)
        return self.table_factor_name()

    def _partitioned(self, found: TableParameter, start: Token) -> TableParameter:
        if self.accept("PARTITION", "BY"):
            found.set("partition_by", self._one_or_list())
        if self.accept("ORDER", "BY"):
            if self.accept_sign(TokenType.L_PAREN):
                found.set("order", self.list_of(self.ordered))
                self.close_paren()
            else:
                found.set("order", [self.ordered()])
        return self.marked(found, start)

    def _one_or_list(self) -> list[exp.Expr]:
        if self.sees_sign(TokenType.L_PAREN):
            return self.list_in_parens(self.scalar)
        return [self.scalar()]

    def call_suffixes(self, call: FunctionCall) -> FunctionCall:
        self.nulls_treatment(call)
        if self.accept("WITHIN", "GROUP"):
            call.set("order", self.in_parens(self.order_by))
        if self.sees("FILTER") and self.sees_sign(TokenType.L_PAREN, 1):
            self._advance()
            call.set("filter", self.in_parens(self._where))
        self.nulls_treatment(call)
        if self.accept("OVER"):
            call.set("over", self._over())
        return call

    def nulls_treatment(self, call: FunctionCall) -> None:
        if self.accept("IGNORE", "NULLS"):
            call.set("ignore_nulls", True)
        else:
            self.accept("RESPECT", "NULLS")

    def _where(self) -> exp.Expr:
        self.expect("WHERE")
        return self.scalar()

    def _over(self) -> OverClause:
        start = self._curr
        if not self.sees_sign(TokenType.L_PAREN):
            name = self.identifier("a window")
            return self.marked(OverClause(window=name.name), start)
        return self.in_parens(self.over_clause)

    def over_clause(self) -> OverClause:
        start = self._curr
        found = OverClause()
        if self.is_name() and not self.sees_any(("RANGE", "ROWS", "PARTITION", "ORDER")):
            found.set("window", self.any_word().name)
        if self.accept("PARTITION", "BY"):
            found.set("partition_by", self.list_of(self.scalar))
        if self.sees("ORDER", "BY"):
            found.set("order", self.order_by())
        if unit := self.accept_any(("ROWS", "RANGE")):
            self._frame(found, unit)
        return self.marked(found, start)

    def _frame(self, found: OverClause, unit: str) -> None:
        found.set("unit", unit.lower())
        if self.accept("BETWEEN"):
            found.set("start", self._edge())
            self.expect("AND")
            found.set("end", self._edge())
        else:
            found.set("start", self._edge())

    def _edge(self) -> FrameEdge:
        start = self._curr
        if self.accept("CURRENT", "ROW") or self.accept("CURRENT_ROW"):
            return self.marked(FrameEdge(kind="current"), start)
        value = None if self.accept("UNBOUNDED") else self.scalar()
        kind = self.expect_any(("PRECEDING", "FOLLOWING"))
        return self.marked(FrameEdge(kind=kind.lower(), this=value), start)

    def order_by(self) -> list[exp.Ordered]:
        self.expect("ORDER", "BY")
        return self.list_of(self.ordered)

    def ordered(self) -> exp.Ordered:
        start = self._curr
        found = exp.Ordered(this=self.scalar())
        if not self.accept("ASC"):
            found.set("desc", self.accept("DESC"))
        if self.accept("NULLS"):
            found.set("nulls_first", self.expect_any(("FIRST", "LAST")) == "FIRST")
        return self.marked(found, start)
