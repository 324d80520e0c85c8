"""The grammar of types: INT, DECIMAL(10, 2), ROW<a INT, b STRING NOT NULL>, STRING ARRAY, …"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.sql.dialect_cursor import Cursor
from headrace.sql.keywords import INTERVAL_UNITS, singular
from headrace.sql.nodes import TypeField, TypeName
from headrace.sql.position import did_you_mean

_SIMPLE = {
    "BOOLEAN": "BOOLEAN", "TINYINT": "TINYINT", "SMALLINT": "SMALLINT", "INT": "INT",
    "INTEGER": "INT", "BIGINT": "BIGINT", "FLOAT": "FLOAT", "REAL": "FLOAT", "STRING": "STRING",
    "BYTES": "BYTES", "DATE": "DATE", "VARIANT": "VARIANT", "BITMAP": "BITMAP", "NULL": "NULL",
    "DESCRIPTOR": "DESCRIPTOR",
}  # fmt: skip
_SIZED = {
    "DECIMAL": "DECIMAL", "DEC": "DECIMAL", "NUMERIC": "DECIMAL", "VARCHAR": "VARCHAR",
    "VARBINARY": "VARBINARY",
}  # fmt: skip
_TIMES = ("TIME", "TIMESTAMP", "TIMESTAMP_LTZ")
_PARTS = ("ARRAY", "MAP", "MULTISET")
TYPE_WORDS = (
    *_SIMPLE, *_SIZED, "CHAR", "CHARACTER", "BINARY", "DOUBLE", *_TIMES, *_PARTS, "ROW", "RAW",
    "INTERVAL", "STRUCTURED",
)  # fmt: skip


class TypeGrammar(Cursor):
    def type_name(self, nullability: bool = True) -> TypeName:
        """A type with its nullability and all ARRAY or MULTISET after it."""
        start = self._curr
        if not nullability:
            return self._plain_type()
        found = self._nullability(self._plain_type())
        while collection := self.accept_any(("ARRAY", "MULTISET")):
            outer = TypeName(this=collection, expressions=[found])
            found = self._nullability(self.marked(outer, start))
        return found

    def _nullability(self, found: TypeName) -> TypeName:
        if self.sees("NOT", "NULL"):
            self._advance(2)
            found.set("nullable", False)
        elif self.sees("NULL"):
            self._advance()
            found.set("nullable", True)
        return found

    def _plain_type(self) -> TypeName:
        start = self._curr
        name = self.word()
        if not name or name not in TYPE_WORDS:
            self.fail_expecting("a type", hint=self._type_hint())
        self._advance()
        if name in _SIMPLE:
            return self._made(start, _SIMPLE[name])
        if name in _SIZED:
            return self._made(start, _SIZED[name], self._numbers())
        if name in _PARTS:
            return self._collection(start, name)
        if name in _TIMES:
            return self._time(start, name)
        return self._other_type(start, name)

    def _type_hint(self) -> str | None:
        token = self.peek()
        if token is None:
            return None
        return did_you_mean(token.text, TYPE_WORDS, f"types are {', '.join(TYPE_WORDS[:14])}, …")

    def _other_type(self, start: Token, name: str) -> TypeName:
        if name in ("CHAR", "CHARACTER", "BINARY"):
            kind = "BINARY" if name == "BINARY" else "CHAR"
            varying = "VAR" if self.accept("VARYING") else ""
            return self._made(start, varying + kind, self._numbers())
        if name == "DOUBLE":
            self.accept("PRECISION")
            return self._made(start, "DOUBLE")
        if name == "ROW":
            return self._row(start)
        if name == "RAW":
            texts = self.list_in_parens(self.string)
            return self._made(start, "RAW", texts)
        if name == "STRUCTURED":
            return self._structured(start)
        return self._interval_type(start)

    def _made(self, start: Token, name: str, parameters: Sequence[object] = ()) -> TypeName:
        return self.marked(TypeName(this=name, parameters=list(parameters)), start)

    def _numbers(self) -> list[object]:
        if not self.sees_sign(TokenType.L_PAREN):
            return []
        return list(self.list_in_parens(lambda: self.whole_number("a length or precision")))

    def _collection(self, start: Token, name: str) -> TypeName:
        self.expect_sign(TokenType.LT, "<")
        parts: list[exp.Expr] = [self.type_name()]
        if name == "MAP":
            self.expect_sign(TokenType.COMMA, ",")
            parts.append(self.type_name())
        self.expect_sign(TokenType.GT, ">")
        return self.marked(TypeName(this=name, expressions=parts), start)

    def _time(self, start: Token, name: str) -> TypeName:
        precision = self._numbers()
        kind = name
        if self.accept("WITH", "LOCAL", "TIME", "ZONE") and name == "TIMESTAMP":
            kind = "TIMESTAMP_LTZ"
        elif self.accept("WITH", "TIME", "ZONE"):
            kind = f"{name} WITH TIME ZONE"
        else:
            self.accept("WITHOUT", "TIME", "ZONE")
        return self._made(start, kind, precision)

    def _row(self, start: Token) -> TypeName:
        if self.accept_sign(TokenType.NEQ):  # ROW<>
            return self.marked(TypeName(this="ROW", expressions=[]), start)
        closing, shown = (TokenType.GT, ">")
        if self.accept_sign(TokenType.L_PAREN):
            closing, shown = (TokenType.R_PAREN, ")")
        else:
            self.expect_sign(TokenType.LT, "<")
        fields: list[exp.Expr] = []
        if not self.sees_sign(closing):
            fields = list(self.list_of(self._field))
        self.expect_sign(closing, shown)
        return self.marked(TypeName(this="ROW", expressions=fields), start)

    def _field(self) -> TypeField:
        start = self._curr
        name = self.identifier("a field's name")
        kind = self.type_name()
        comment = self.string() if self.sees_sign(TokenType.STRING) else None
        return self.marked(TypeField(this=name, kind=kind, comment=comment), start)

    def _structured(self, start: Token) -> TypeName:
        self.expect_sign(TokenType.LT, "<")
        name = self.string("the name of a class in '…'")
        fields: list[exp.Expr] = []
        while self.accept_sign(TokenType.COMMA):
            fields.append(self._field())
        self.expect_sign(TokenType.GT, ">")
        found = TypeName(this="STRUCTURED", parameters=[name], expressions=fields)
        return self.marked(found, start)

    def _interval_type(self, start: Token) -> TypeName:
        first = self._curr
        self._unit_with_precision()
        if self.accept("TO"):
            self._unit_with_precision()
        resolution = self.text_since(first).upper()
        return self.marked(TypeName(this="INTERVAL", resolution=resolution), start)

    def _unit_with_precision(self) -> str:
        unit = singular(self.word())
        if unit not in INTERVAL_UNITS:
            self.fail_expecting(*sorted(INTERVAL_UNITS))
        self._advance()
        self._numbers()
        return unit
