"""The grammar of FROM: tables, joins, table functions, UNNEST, and hints."""

from __future__ import annotations

from abc import abstractmethod

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import Unsupported
from headrace.sql.dialect_forms import FormGrammar
from headrace.sql.nodes import HintCall

_JOIN_WORDS = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL")
_REFUSED = {
    "TABLESAMPLE": "samples of tables",
    "PIVOT": "PIVOT",
    "UNPIVOT": "UNPIVOT",
}


class TableGrammar(FormGrammar):
    @abstractmethod
    def match_recognize(self, table: exp.Expr, start: Token) -> exp.Expr:
        """The clause after a table."""

    def from_clause(self, select: exp.Select) -> None:
        """FROM with its joins; of a list, each table's own joins come first."""
        start = self._curr
        self.expect("FROM")
        first = self._table()
        select.set("from_", self.marked(exp.From(this=first), start))
        joins = list(iter(self._join, None))
        while self.accept_sign(TokenType.COMMA):
            at = self._curr
            table = self._joined_table()
            joins.append(self.marked(exp.Join(this=table, kind="COMMA"), at))
        select.set("joins", joins or None)

    def _joined_table(self) -> exp.Expr:
        table = self._table()
        joins = list(iter(self._join, None))
        if joins:
            table.set("joins", [*(table.args.get("joins") or []), *joins])
        return table

    def _join(self) -> exp.Join | None:
        if not self.sees_any(_JOIN_WORDS):
            return None
        start = self._curr
        join = exp.Join()
        if self.accept("NATURAL"):
            join.set("method", "NATURAL")
        if side := self.accept_any(("LEFT", "RIGHT", "FULL")):
            join.set("side", side)
            self.accept("OUTER")
        else:
            join.set("kind", self.accept_any(("INNER", "CROSS")) or "INNER")
        self.expect("JOIN")
        join.set("this", self._table())
        self._condition(join)
        return self.marked(join, start)

    def _condition(self, join: exp.Join) -> None:
        if self.accept("ON"):
            join.set("on", self.scalar())
        elif self.accept("USING"):
            join.set("using", self.identifiers_in_parens())

    def _table(self) -> exp.Expr:
        start = self._curr
        table = self._factor()
        if word := self.accept_any(_REFUSED):
            raise Unsupported(
                f"{_REFUSED[word]} cannot be had", origin=self.position(self._prev),
                hint="filter or aggregate the table in a subquery",
            )  # fmt: skip
        if self.sees("MATCH_RECOGNIZE"):
            table = self.match_recognize(table, start)
        alias = self.table_alias()
        if alias is not None:
            table.set("alias", alias)
        return self.marked(table, start)

    def _factor(self) -> exp.Expr:
        start = self._curr
        if self.accept("LATERAL"):
            return self._lateral(start)
        if self.sees("TABLE") and self.sees_sign(TokenType.L_PAREN, 1):
            self._advance()
            call = self.in_parens(self._table_call)
            return self.marked(exp.TableFromRows(this=call), start)
        if self.sees("UNNEST") and self.sees_sign(TokenType.L_PAREN, 1):
            return self._unnest(start)
        if self._query_ahead():
            return self.marked(exp.Subquery(this=self.in_parens(self.query)), start)
        if self.sees_sign(TokenType.L_PAREN):
            return self.in_parens(self._joined_table)
        if self._call_ahead() is not None:
            return self.marked(exp.TableFromRows(this=self._table_call()), start)
        return self._named_table()

    def _table_call(self) -> exp.Expr:
        names = self._call_ahead()
        if names is None:
            self.fail_expecting("the call of a table function")
        return self._call(names)

    def _lateral(self, start: Token) -> exp.Expr:
        if self.accept("TABLE"):
            inner: exp.Expr = self.in_parens(self._table_call)
        elif self.sees("UNNEST"):
            return self._unnest(self._curr)
        elif self._query_ahead():
            inner = self.in_parens(self.query)
        else:
            inner = self._table_call()
        return self.marked(exp.Lateral(this=inner), start)

    def _unnest(self, start: Token) -> exp.Expr:
        self.expect("UNNEST")
        arguments = self.list_in_parens(self.scalar)
        ordinality = self.accept("WITH", "ORDINALITY")
        return self.marked(exp.Unnest(expressions=arguments, offset=ordinality), start)

    def _named_table(self) -> exp.Expr:
        start = self._curr
        table = self.table_factor_name()
        if self.accept("FOR", "SYSTEM_TIME", "AS", "OF"):
            table.set("version", self._additive())
        return self.marked(table, start)

    def table_factor_name(self) -> exp.Table:
        start = self._curr
        table = self.table_named(self.path("a table"), start)
        if self.sees_sign(TokenType.HINT):
            table.set("hints", [self.hints()])
        return self.marked(table, start)

    def table_named(self, parts: list[exp.Identifier], start: Token) -> exp.Table:
        if len(parts) > 3:
            self.fail(
                "a table's name has at most three parts", start,
                hint="write catalog.database.table",
            )  # fmt: skip
        this, *qualifiers = reversed(parts)
        database, catalog = (*qualifiers, None, None)[:2]
        return self.marked(exp.Table(this=this, db=database, catalog=catalog), start)

    def table_alias(self) -> exp.TableAlias | None:
        start = self._curr
        if self.accept("AS"):
            name = self.identifier("an alias")
        elif self.is_name():
            name = self.any_word()
        else:
            return None
        columns = None
        if self.sees_sign(TokenType.L_PAREN):
            columns = self.identifiers_in_parens()
        return self.marked(exp.TableAlias(this=name, columns=columns), start)

    def hints(self) -> exp.Hint:
        start = self._curr
        self.expect_sign(TokenType.HINT, "/*+")
        found: list[exp.Expr] = []
        while not self.sees_sign(TokenType.HINT):
            found.append(self._hint())
            self.accept_sign(TokenType.COMMA)
        self._advance()
        return self.marked(exp.Hint(expressions=found), start)

    def _hint(self) -> HintCall:
        start = self._curr
        if not self.word() and not self.is_name():
            self.fail_expecting("a hint", hint="hints are written /*+ NAME('key' = 'value') */")
        hint = HintCall(this=self.any_word().name.upper())
        if self.accept_sign(TokenType.L_PAREN):
            options: list[tuple[str, str]] = []
            values: list[str] = []
            while not self.sees_sign(TokenType.R_PAREN):
                self._hint_item(options, values)
                if not self.accept_sign(TokenType.COMMA):
                    break
            self.close_paren()
            hint.set("options", options)
            hint.set("expressions", values)
        return self.marked(hint, start)

    def _hint_item(self, options: list[tuple[str, str]], values: list[str]) -> None:
        token = self._curr
        if self.sees_sign(TokenType.R_PAREN) or self.sees_sign(TokenType.HINT):
            self.fail_expecting("an option")
        self._advance()
        key = token.text
        while self.accept_sign(TokenType.DOT):
            key += "." + self.any_word().name
        if self.accept_sign(TokenType.EQ):
            options.append((key, self._curr.text))
            self._advance()
        else:
            values.append(key)
