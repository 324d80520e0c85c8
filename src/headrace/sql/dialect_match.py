"""The grammar of MATCH_RECOGNIZE: rows that follow a pattern."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.sql.dialect_tables import TableGrammar
from headrace.sql.nodes import MatchRecognize, MatchSkip, Operation, PatternPart


class MatchGrammar(TableGrammar):
    def match_recognize(self, table: exp.Expr, start: Token) -> MatchRecognize:
        self.expect("MATCH_RECOGNIZE")
        self.open_paren()
        found = MatchRecognize(this=table)
        if self.accept("PARTITION", "BY"):
            found.set("partition_by", self.list_of(self.scalar))
        if self.sees("ORDER", "BY"):
            found.set("order", self.order_by())
        if self.accept("MEASURES"):
            found.set("measures", self.list_of(self._measure))
        found.set("rows", self.rows_per_match())
        if self.accept("AFTER", "MATCH"):
            found.set("skip", self.match_skip())
        self.pattern_clause(found)
        if self.accept("WITHIN"):
            found.set("within", self.scalar())
        if self.accept("SUBSET"):
            found.set("subsets", self.list_of(self._subset))
        self.expect("DEFINE")
        found.set("define", self.list_of(self._definition))
        self.close_paren()
        return self.marked(found, start)

    def _measure(self) -> exp.Expr:
        start = self._curr
        frame = None
        calls = self.word(1) and self.sees_sign(TokenType.L_PAREN, 2)
        if self.sees_any(("FINAL", "RUNNING")) and not calls:
            frame = self.expect_any(("FINAL", "RUNNING"))
        value = self.scalar()
        if frame is not None:
            value = self.marked(Operation(this=frame, expressions=[value]), start)
        self.expect("AS")
        alias = self.identifier("the measure's name")
        return self.marked(exp.Alias(this=value, alias=alias), start)

    def rows_per_match(self) -> str | None:
        if self.accept("ONE", "ROW", "PER", "MATCH"):
            return "ONE ROW PER MATCH"
        if not self.accept("ALL", "ROWS", "PER", "MATCH"):
            return None
        for words in (("SHOW", "EMPTY", "MATCHES"), ("OMIT", "EMPTY", "MATCHES"),
                      ("WITH", "UNMATCHED", "ROWS")):  # fmt: skip
            if self.accept(*words):
                return "ALL ROWS PER MATCH " + " ".join(words)
        return "ALL ROWS PER MATCH"

    def match_skip(self) -> MatchSkip:
        start = self._curr
        self.expect("SKIP")
        if self.accept("PAST"):
            self.expect("LAST", "ROW")
            return self.marked(MatchSkip(kind="past_last"), start)
        self.expect("TO")
        if self.accept("NEXT"):
            self.expect("ROW")
            return self.marked(MatchSkip(kind="to_next"), start)
        if self.accept("FIRST"):
            return self.marked(MatchSkip(kind="to_first", this=self._variable()), start)
        self.accept("LAST")
        return self.marked(MatchSkip(kind="to_last", this=self._variable()), start)

    def _variable(self) -> exp.Identifier:
        return self.identifier("a pattern variable")

    def pattern_clause(self, found: MatchRecognize) -> None:
        self.expect("PATTERN")
        self.open_paren()
        found.set("pattern", self._alternation())
        self.close_paren()

    def _alternation(self) -> PatternPart:
        start = self._curr
        parts = [self._sequence()]
        while self.accept_sign(TokenType.PIPE):
            parts.append(self._sequence())
        if len(parts) == 1:
            return parts[0]
        return self.marked(PatternPart(kind="alternation", expressions=parts), start)

    def _sequence(self) -> PatternPart:
        start = self._curr
        parts = [self._quantified_part()]
        while self._part_ahead():
            parts.append(self._quantified_part())
        if len(parts) == 1:
            return parts[0]
        return self.marked(PatternPart(kind="sequence", expressions=parts), start)

    def _part_ahead(self) -> bool:
        signs = (TokenType.L_PAREN, TokenType.L_BRACE, TokenType.CARET)
        words = self.is_name() or self.sees_any(("PERMUTE", "$"))
        return words or any(map(self.sees_sign, signs))

    def _quantified_part(self) -> PatternPart:
        start = self._curr
        part = self._pattern_primary()
        bounds = self._quantifier()
        if bounds is not None:
            if part.args.get("low") is not None or part.args["kind"] == "anchor":
                part = PatternPart(kind="sequence", expressions=[part])
            part.set("low", bounds[0])
            part.set("high", bounds[1])
            part.set("reluctant", self.accept_sign(TokenType.PLACEHOLDER))
        return self.marked(part, start)

    def _pattern_primary(self) -> PatternPart:
        start = self._curr
        if self.accept_sign(TokenType.CARET):
            return self.marked(PatternPart(kind="anchor", at_end=False), start)
        if self.accept("$"):
            return self.marked(PatternPart(kind="anchor", at_end=True), start)
        if self.accept_sign(TokenType.L_PAREN):
            if self.accept_sign(TokenType.R_PAREN):
                return self.marked(PatternPart(kind="sequence", expressions=[]), start)
            inner = self._alternation()
            self.close_paren()
            if inner.args.get("low") is not None:
                return self.marked(PatternPart(kind="sequence", expressions=[inner]), start)
            return inner
        if self.accept_sign(TokenType.L_BRACE):
            self.expect_sign(TokenType.DASH, "-")
            inner = self._alternation()
            self.expect_sign(TokenType.DASH, "-")
            self.expect_sign(TokenType.R_BRACE, "}")
            return self.marked(PatternPart(kind="exclusion", expressions=[inner]), start)
        if self.accept("PERMUTE"):
            parts = self.list_in_parens(self._alternation)
            return self.marked(PatternPart(kind="permute", expressions=parts), start)
        return self.marked(PatternPart(kind="variable", this=self._variable()), start)

    def _quantifier(self) -> tuple[int, int | None] | None:
        if self.accept_sign(TokenType.STAR):
            return (0, None)
        if self.accept_sign(TokenType.PLUS):
            return (1, None)
        if self.accept_sign(TokenType.PLACEHOLDER):
            return (0, 1)
        braces = self.sees_sign(TokenType.L_BRACE) and not self.sees_sign(TokenType.DASH, 1)
        if not braces:
            return None
        self._advance()
        bounds = self._bounds()
        self.expect_sign(TokenType.R_BRACE, "}")
        return bounds

    def _bounds(self) -> tuple[int, int | None]:
        if self.accept_sign(TokenType.COMMA):
            return (0, None if self.sees_sign(TokenType.R_BRACE) else self.whole_number())
        low = self.whole_number()
        if not self.accept_sign(TokenType.COMMA):
            return (low, low)
        return (low, None if self.sees_sign(TokenType.R_BRACE) else self.whole_number())

    def _subset(self) -> exp.Expr:
        start = self._curr
        name = self._variable()
        self.expect_sign(TokenType.EQ, "=")
        parts = self.list_in_parens(self._variable)
        return self.marked(exp.Alias(this=exp.Tuple(expressions=parts), alias=name), start)

    def _definition(self) -> exp.Expr:
        start = self._curr
        name = self._variable()
        self.expect("AS")
        return self.marked(exp.Alias(this=self.scalar(), alias=name), start)
