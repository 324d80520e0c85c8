"""The grammar of scalar expressions: operators by precedence, down to names and literals."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from headrace.sql.dialect_literals import LiteralGrammar
from headrace.sql.nodes import (
    Comparison,
    CompoundName,
    FieldAccess,
    ItemAccess,
    Operation,
    RowConstructor,
)

_COMPARISONS = {
    TokenType.EQ: "EQUALS",
    TokenType.NEQ: "NOT_EQUALS",
    TokenType.LT: "LESS_THAN",
    TokenType.LTE: "LESS_THAN_OR_EQUAL",
    TokenType.GT: "GREATER_THAN",
    TokenType.GTE: "GREATER_THAN_OR_EQUAL",
}
_ADDITIVE = {TokenType.PLUS: "PLUS", TokenType.DASH: "MINUS"}
_MULTIPLICATIVE = {
    TokenType.STAR: "TIMES",
    TokenType.SLASH: "DIVIDE",
    TokenType.MOD: "MOD",
    TokenType.DPIPE: "CONCAT2",
}
_RANGES = ("BETWEEN", "IN", "LIKE", "SIMILAR")
_QUERY_WORDS = ("SELECT", "WITH", "VALUES")


class ScalarGrammar(LiteralGrammar):
    def scalar(self) -> exp.Expr:
        return self._disjunction()

    def _applied(self, name: str, *arguments: exp.Expr, start: exp.Expr) -> Operation:
        return self.marked(Operation(this=name, expressions=list(arguments)), start)

    def _disjunction(self) -> exp.Expr:
        left = self._conjunction()
        while self.accept("OR"):
            left = self._applied("OR", left, self._conjunction(), start=left)
        return left

    def _conjunction(self) -> exp.Expr:
        left = self._negation()
        while self.accept("AND"):
            left = self._applied("AND", left, self._negation(), start=left)
        return left

    def _negation(self) -> exp.Expr:
        token = self._curr
        if self.accept("NOT"):
            return self.marked(Operation(this="NOT", expressions=[self._negation()]), token)
        return self._comparison()

    def _is_json(self, left: exp.Expr, negated: str) -> exp.Expr:
        kind = self.accept_any(("VALUE", "SCALAR", "ARRAY", "OBJECT")) or "VALUE"
        found = self._applied("IS_JSON", left, exp.Literal.string(kind), start=left)
        return self._applied("NOT", found, start=left) if negated else found

    def _comparison(self) -> exp.Expr:
        """Comparisons, and IS NULL and the like, which are about all that stands before them."""
        left = self._range()
        while True:
            name = self._comparison_name()
            if name is None and self.accept("IS"):
                left = self._test(left)
            elif name is None:
                return left
            elif self.sees_any(("SOME", "ANY", "ALL")) and self.sees_sign(TokenType.L_PAREN, 1):
                left = self._quantified(left, name)
            else:
                left = self._applied(name, left, self._range(), start=left)

    def _test(self, left: exp.Expr) -> exp.Expr:
        negated = "NOT_" if self.accept("NOT") else ""
        if self.accept("JSON"):
            return self._is_json(left, negated)
        what = self.expect_any(("NULL", "TRUE", "FALSE", "UNKNOWN"))
        return self._applied(f"IS_{negated}{what}", left, start=left)

    def _comparison_name(self) -> str | None:
        token = self.peek()
        if token is None:
            return None
        if token.token_type in _COMPARISONS:
            self._advance()
            return _COMPARISONS[token.token_type]
        if self.accept("OVERLAPS"):
            return "OVERLAPS"
        if self.accept("IS", "DISTINCT", "FROM"):
            return "IS_DISTINCT_FROM"
        return "IS_NOT_DISTINCT_FROM" if self.accept("IS", "NOT", "DISTINCT", "FROM") else None

    def _quantified(self, left: exp.Expr, name: str) -> exp.Expr:
        every = self.expect_any(("SOME", "ANY", "ALL")) == "ALL"
        if not self._query_ahead():
            values = self.list_in_parens(self.scalar)
            parts = [self._applied(name, left.copy(), value, start=left) for value in values]
            joined = parts[0]
            for part in parts[1:]:
                joined = self._applied("AND" if every else "OR", joined, part, start=left)
            return joined
        query = self.in_parens(self.query)
        return self.marked(Comparison(this=left, operator=name, query=query, every=every), left)

    def _range(self) -> exp.Expr:
        left = self._additive()
        while True:
            negated = self.sees("NOT") and self.sees_any(_RANGES, 1)
            if not negated and not self.sees_any(_RANGES):
                return left
            if negated:
                self._advance()
            left = self._range_operator(left, "NOT_" if negated else "")

    def _range_operator(self, left: exp.Expr, negated: str) -> exp.Expr:
        kind = self.expect_any(_RANGES)
        if kind == "BETWEEN":
            return self._between(left, negated)
        if kind == "IN":
            return self._in(left, negated)
        if kind == "SIMILAR":
            self.expect("TO")
        arguments = [left, self._additive()]
        if self.accept("ESCAPE"):
            arguments.append(self._additive())
        return self._applied(negated + kind, *arguments, start=left)

    def _between(self, left: exp.Expr, negated: str) -> exp.Expr:
        symmetric = self.accept("SYMMETRIC")
        if not symmetric:
            self.accept("ASYMMETRIC")
        low = self._additive()
        self.expect("AND")
        high = self._additive()
        found = self._applied(f"{negated}BETWEEN", left, low, high, start=left)
        if not symmetric:
            return found
        turned = self._applied(
            f"{negated}BETWEEN", left.copy(), high.copy(), low.copy(), start=left
        )
        return self._applied("AND" if negated else "OR", found, turned, start=left)

    def _in(self, left: exp.Expr, negated: str) -> exp.Expr:
        if self._query_ahead():
            query = self.in_parens(self.query)
            found = exp.In(this=left, query=query)
            found.set("negated", bool(negated))
            return self.marked(found, left)
        values = self.list_in_parens(self.scalar)
        return self._applied(f"{negated}IN", left, *values, start=left)

    def _query_ahead(self, ahead: int = 0) -> bool:
        """Whether a query in parentheses starts there."""
        if not self.sees_sign(TokenType.L_PAREN, ahead):
            return False
        inside = ahead + 1
        while self.sees_sign(TokenType.L_PAREN, inside):
            inside += 1
        if not self.sees_any(_QUERY_WORDS, inside) and not self.sees("TABLE", ahead=inside):
            return False
        return inside == ahead + 1 or self._parens_hold_query(ahead)

    def _parens_hold_query(self, ahead: int) -> bool:
        """Of `((SELECT …) …`: whether the outer parentheses are around a query, too."""
        depth = 0
        index = ahead + 1
        while (token := self.peek(index)) is not None:
            depth += (token.token_type == TokenType.L_PAREN) - (
                token.token_type == TokenType.R_PAREN
            )
            index += 1
            if depth == 0:
                break
        follows = self.peek(index)
        if follows is None or follows.token_type == TokenType.R_PAREN:
            return True
        return self.sees_any(
            ("UNION", "INTERSECT", "EXCEPT", "MINUS", "ORDER", "LIMIT", "OFFSET", "FETCH"), index
        )

    def _left_to_right(
        self, operators: dict[TokenType, str], operand: Callable[[], exp.Expr]
    ) -> exp.Expr:
        left = operand()
        while (token := self.peek()) is not None and token.token_type in operators:
            self._advance()
            left = self._applied(operators[token.token_type], left, operand(), start=left)
        return left

    def _additive(self) -> exp.Expr:
        return self._left_to_right(_ADDITIVE, self._multiplicative)

    def _multiplicative(self) -> exp.Expr:
        return self._left_to_right(_MULTIPLICATIVE, self._unary)

    def _unary(self) -> exp.Expr:
        token = self._curr
        if self.accept_sign(TokenType.PLUS):
            return self._unary()
        if not self.accept_sign(TokenType.DASH):
            return self._access()
        operand = self._unary()
        if isinstance(operand, exp.Literal) and not operand.is_string and operand.this[0] != "-":
            negative = exp.Literal(this="-" + operand.this, is_string=False)
            return self.marked(negative, token)
        return self.marked(Operation(this="NEGATE", expressions=[operand]), token)

    def _access(self) -> exp.Expr:
        """What an expression's elements and fields are."""
        found = self._primary()
        while True:
            if self.accept_sign(TokenType.L_BRACKET):
                index = self.scalar()
                self.expect_sign(TokenType.R_BRACKET, "]")
                found = self.marked(ItemAccess(this=found, index=index), found)
            elif self.sees_sign(TokenType.DOT) and not isinstance(found, exp.Literal):
                self._advance()
                found = self._field_of(found)
            else:
                return found

    def _field_of(self, found: exp.Expr) -> exp.Expr:
        if self.accept_sign(TokenType.STAR):
            self.fail("the fields of an expression cannot be listed with .*", self._prev)
        field = self.field_name()
        return self.marked(FieldAccess(this=found, field=field.name), found)

    def field_name(self) -> exp.Identifier:
        """A name after a dot."""
        return self.identifier("a field's name")

    def _primary(self) -> exp.Expr:
        literal = self.literal()
        if literal is not None:
            return literal
        if self._query_ahead():
            token = self._curr
            query = self.in_parens(self.query)
            return self.marked(exp.Subquery(this=query), token)
        if self.sees_sign(TokenType.L_PAREN):
            return self._parenthesized()
        return self.name_or_call()

    def _parenthesized(self) -> exp.Expr:
        token = self._curr
        items = self.list_in_parens(self.scalar)
        if len(items) == 1:
            return self.marked(exp.Paren(this=items[0]), token)
        return self.marked(RowConstructor(expressions=items), token)

    def compound_name(self) -> CompoundName:
        start = self._curr
        parts: list[exp.Expr] = [self._first_name()]
        while self.accept_sign(TokenType.DOT):
            star = self._curr
            if self.accept_sign(TokenType.STAR):
                parts.append(self.marked(exp.Star(), star))
                break
            parts.append(self.field_name())
        return self.marked(CompoundName(expressions=parts), start)

    def _first_name(self) -> exp.Identifier:
        return self.any_word() if self.sees("USER") else self.identifier("an expression")
