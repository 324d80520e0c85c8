"""The grammar of queries: SELECT, VALUES, set operations, WITH, ORDER BY and LIMIT."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.sql.dialect_match import MatchGrammar
from headrace.sql.nodes import CompoundName, Default, RowConstructor

_SET_OPERATIONS: dict[str, type[exp.SetOperation]] = {
    "UNION": exp.Union,
    "EXCEPT": exp.Except,
    "MINUS": exp.Except,
    "INTERSECT": exp.Intersect,
}
QUERY_WORDS = ("SELECT", "WITH", "VALUES", "TABLE")


class QueryGrammar(MatchGrammar):
    def query(self) -> exp.Expr:
        """A whole query with WITH before and ORDER BY, LIMIT after it."""
        start = self._curr
        with_clause = self._with() if self.sees("WITH") else None
        found = self._union()
        if with_clause is not None:
            found.set("with_", with_clause)
        if self.sees("ORDER", "BY"):
            at = self._curr
            found.set("order", self.marked(exp.Order(expressions=self.order_by()), at))
        self._limits(found)
        return self.marked(found, start)

    def _with(self) -> exp.With:
        start = self._curr
        self.expect("WITH")
        recursive = self.accept("RECURSIVE")
        tables = self.list_of(self._common_table)
        return self.marked(exp.With(expressions=tables, recursive=recursive), start)

    def _common_table(self) -> exp.CTE:
        start = self._curr
        name = self.identifier("a name for the common table")
        columns = self.identifiers_in_parens() if self.sees_sign(TokenType.L_PAREN) else None
        alias = self.marked(exp.TableAlias(this=name, columns=columns), start)
        self.expect("AS")
        query = self.in_parens(self.query)
        return self.marked(exp.CTE(this=query, alias=alias), start)

    def _union(self) -> exp.Expr:
        left = self._intersection()
        while word := self.accept_any(("UNION", "EXCEPT", "MINUS")):
            left = self._set_operation(word, left, self._distinct(), self._intersection())
        return left

    def _intersection(self) -> exp.Expr:
        left = self._query_leaf()
        while self.accept("INTERSECT"):
            left = self._set_operation("INTERSECT", left, self._distinct(), self._query_leaf())
        return left

    def _distinct(self) -> bool:
        if self.accept("ALL"):
            return False
        self.accept("DISTINCT")
        return True

    def _set_operation(
        self, word: str, left: exp.Expr, distinct: bool, right: exp.Expr
    ) -> exp.Expr:
        kind = _SET_OPERATIONS[word]
        return self.marked(kind(this=left, expression=right, distinct=distinct), left)

    def _query_leaf(self) -> exp.Expr:
        start = self._curr
        if self.sees("SELECT"):
            return self._select()
        if self.accept("VALUES"):
            rows = self.list_of(self._values_row)
            return self.marked(exp.Values(expressions=rows), start)
        if self.accept("TABLE"):
            table = self.table_factor_name()
            everything = self.marked(exp.Star(), start)
            source = self.marked(exp.From(this=table), start)
            return self.marked(exp.Select(expressions=[everything], from_=source), start)
        if not self.sees_sign(TokenType.L_PAREN):
            self.fail_expecting("a query", hint="queries start with SELECT, WITH, VALUES or TABLE")
        return self.marked(exp.Subquery(this=self.in_parens(self.query)), start)

    def _values_row(self) -> exp.Expr:
        start = self._curr
        self.accept("ROW")
        if self.accept_sign(TokenType.L_PAREN):
            is_row = self.sees("ROW")
            items = self.list_of(self._value)
            self.close_paren()
            if is_row and len(items) == 1 and isinstance(items[0], RowConstructor):
                items = items[0].expressions  # as in Flink, (ROW(a, b)) is ROW(a, b)
        else:
            items = [self._value()]
        return self.marked(exp.Tuple(expressions=items), start)

    def _value(self) -> exp.Expr:
        start = self._curr
        return self.marked(Default(), start) if self.accept("DEFAULT") else self.scalar()

    def _select(self) -> exp.Select:
        start = self._curr
        self.expect("SELECT")
        select = exp.Select()
        if self.sees_sign(TokenType.HINT):
            select.set("hint", self.hints())
        if self.accept("DISTINCT"):
            select.set("distinct", exp.Distinct())
        else:
            self.accept("ALL")
        select.set("expressions", self.list_of(self._select_item))
        if self.sees("FROM"):
            self.from_clause(select)
            self._clauses(select)
        return self.marked(select, start)

    def _select_item(self) -> exp.Expr:
        start = self._curr
        if self.accept_sign(TokenType.STAR):
            return self.marked(exp.Star(), start)
        if self.sees("FROM") or self.at_end:
            self.fail_expecting("an expression", hint="name the columns, or write * for all")
        found = self.scalar()
        if isinstance(found, CompoundName) and isinstance(found.expressions[-1], exp.Star):
            return found
        if self.accept("AS"):
            return self._aliased(found, self.identifier("an alias"), start)
        if self.is_name():
            return self._aliased(found, self.any_word(), start)
        return found

    def _aliased(self, found: exp.Expr, alias: exp.Identifier, start: Token) -> exp.Expr:
        return self.marked(exp.Alias(this=found, alias=alias), start)

    def _clauses(self, select: exp.Select) -> None:
        start = self._curr
        if self.accept("WHERE"):
            select.set("where", self.marked(exp.Where(this=self.scalar()), start))
        if self.sees("GROUP", "BY"):
            select.set("group", self._group())
        start = self._curr
        if self.accept("HAVING"):
            select.set("having", self.marked(exp.Having(this=self.scalar()), start))
        if self.accept("WINDOW"):
            select.set("windows", self.list_of(self._named_window))
        start = self._curr
        if self.accept("QUALIFY"):
            select.set("qualify", self.marked(exp.Qualify(this=self.scalar()), start))

    def _group(self) -> exp.Group:
        start = self._curr
        self.expect("GROUP", "BY")
        group = exp.Group()
        if self.accept("DISTINCT"):
            group.set("distinct", True)
        else:
            self.accept("ALL")
        group.set("expressions", self.list_of(self._grouping))
        return self.marked(group, start)

    def _grouping(self) -> exp.Expr:
        start = self._curr
        if self.accept("GROUPING", "SETS"):
            sets = self.list_in_parens(self._grouping)
            return self.marked(exp.GroupingSets(expressions=sets), start)
        if self.sees_any(("ROLLUP", "CUBE")):
            kind = exp.Rollup if self.expect_any(("ROLLUP", "CUBE")) == "ROLLUP" else exp.Cube
            return self.marked(kind(expressions=self.list_in_parens(self._grouping)), start)
        if self.sees_sign(TokenType.L_PAREN) and self.sees_sign(TokenType.R_PAREN, 1):
            self._advance(2)
            return self.marked(exp.Tuple(expressions=[]), start)
        found = self.scalar()
        return self._as_grouping_tuple(found, start)

    def _as_grouping_tuple(self, found: exp.Expr, start: Token) -> exp.Expr:
        """(a, b) in GROUP BY is a list of keys, not a row; ROW(a, b) stays one."""
        if isinstance(found, RowConstructor) and start.token_type == TokenType.L_PAREN:
            return self.marked(exp.Tuple(expressions=found.expressions), start)
        return found.this if isinstance(found, exp.Paren) else found

    def _named_window(self) -> exp.Expr:
        start = self._curr
        name = self.identifier("a window's name")
        self.expect("AS")
        over = self.in_parens(self.over_clause)
        return self._aliased(over, name, start)

    def _limits(self, found: exp.Expr) -> None:
        while self.sees_any(("LIMIT", "OFFSET", "FETCH")):
            start = self._curr
            word = self.expect_any(("LIMIT", "OFFSET", "FETCH"))
            if word == "LIMIT":
                self._limit(found, start)
            elif word == "OFFSET":
                self._set_once(found, "offset", exp.Offset(expression=self._count()), start)
                self.accept_any(("ROW", "ROWS"))
            else:
                self._fetch(found, start)

    def _limit(self, found: exp.Expr, start: Token) -> None:
        if self.accept("ALL"):
            return
        count = self._count()
        if self.accept_sign(TokenType.COMMA):
            self._set_once(found, "offset", exp.Offset(expression=count), start)
            count = self._count()
        self._set_once(found, "limit", exp.Limit(expression=count), start)

    def _fetch(self, found: exp.Expr, start: Token) -> None:
        self.expect_any(("FIRST", "NEXT"))
        counted = not self.sees_any(("ROW", "ROWS"))
        count = self._count() if counted else exp.Literal.number(1)
        self.expect_any(("ROW", "ROWS"))
        self.expect("ONLY")
        self._set_once(found, "limit", exp.Limit(expression=count), start)

    def _count(self) -> exp.Expr:
        token = self._curr
        return self.marked(exp.Literal.number(self.whole_number("a number of rows")), token)

    def _set_once(self, found: exp.Expr, key: str, value: exp.Expr, start: Token) -> None:
        if found.args.get(key) is not None:
            self.fail(f"a query has only one {key.upper()}", start)
        found.set(key, self.marked(value, start))
