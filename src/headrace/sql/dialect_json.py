"""The grammar of JSON functions, whose behaviours become trailing text arguments.

| call | arguments |
|---|---|
| JSON_EXISTS | text, path, on error: TRUE, FALSE, UNKNOWN, ERROR |
| JSON_VALUE | text, path, type, on empty, its default, on error, its default: NULL, ERROR, DEFAULT |
| JSON_QUERY | text, path, type, wrapper: WITHOUT, CONDITIONAL, UNCONDITIONAL, on empty, on error: NULL, ERROR, EMPTY ARRAY, EMPTY OBJECT |
| JSON_OBJECT | key, value, …, on null: NULL, ABSENT |
| JSON_ARRAY | value, …, on null |
| JSON_OBJECTAGG | key, value, on null |
| JSON_ARRAYAGG | value, on null |

A type is its text; without RETURNING it is STRING.
"""  # noqa: E501

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.sql.dialect_calls import CallGrammar
from headrace.sql.nodes import FunctionCall, text_of


class JsonGrammar(CallGrammar):
    @abstractmethod
    def called(self, name: str, arguments: list[exp.Expr], start: Token) -> FunctionCall:
        """A call of a function."""

    def json_form(self, name: str, start: Token) -> exp.Expr | None:
        readers: dict[str, Callable[[], list[exp.Expr]]] = {
            "JSON_EXISTS": self._exists_arguments,
            "JSON_VALUE": self._value_arguments,
            "JSON_QUERY": self._query_arguments,
            "JSON_OBJECT": self._object_arguments,
            "JSON_ARRAY": self._array_arguments,
            "JSON_OBJECTAGG": self._object_aggregate,
            "JSON_ARRAYAGG": self._array_aggregate,
        }
        if name not in readers:
            return None
        self._advance()
        arguments = self.in_parens(readers[name])
        call = self.called(name, arguments, start)
        return self.call_suffixes(call) if name.endswith("AGG") else call

    def _said(self, text: str) -> exp.Expr:
        return exp.Literal.string(text)

    def _text_and_path(self) -> list[exp.Expr]:
        text = self.scalar()
        self.accept("FORMAT", "JSON")
        self.expect_sign(TokenType.COMMA, ",")
        return [text, self.scalar()]

    def _returning(self) -> exp.Expr:
        return self._said(
            text_of(self.type_name(nullability=False)) if self.accept("RETURNING") else "STRING"
        )

    def _exists_arguments(self) -> list[exp.Expr]:
        arguments = self._text_and_path()
        behaviour = self.accept_any(("TRUE", "FALSE", "UNKNOWN", "ERROR"))
        if behaviour:
            self.expect("ON", "ERROR")
        return [*arguments, self._said(behaviour or "FALSE")]

    def _value_arguments(self) -> list[exp.Expr]:
        arguments = [*self._text_and_path(), self._returning()]
        found: dict[str, list[exp.Expr]] = {}
        while behaviour := self.accept_any(("NULL", "ERROR", "DEFAULT")):
            value = self.scalar() if behaviour == "DEFAULT" else exp.Null()
            self.expect("ON")
            found[self.expect_any(("EMPTY", "ERROR"))] = [self._said(behaviour), value]
        unsaid: list[exp.Expr] = [self._said("NULL"), exp.Null()]
        empty, error = found.get("EMPTY", unsaid), found.get("ERROR", unsaid)
        return [*arguments, *(each.copy() for each in (*empty, *error))]

    def _query_arguments(self) -> list[exp.Expr]:
        arguments = [*self._text_and_path(), self._returning(), self._said(self._wrapper())]
        found = {"EMPTY": "NULL", "ERROR": "NULL"}
        while behaviour := self.accept_any(("NULL", "ERROR", "EMPTY")):
            if behaviour == "EMPTY":
                behaviour += " " + self.expect_any(("ARRAY", "OBJECT"))
            self.expect("ON")
            found[self.expect_any(("EMPTY", "ERROR"))] = behaviour
        return [*arguments, self._said(found["EMPTY"]), self._said(found["ERROR"])]

    def _wrapper(self) -> str:
        if self.accept("WITHOUT"):
            kind = "WITHOUT"
        elif self.accept("WITH"):
            kind = self.accept_any(("CONDITIONAL", "UNCONDITIONAL")) or "UNCONDITIONAL"
        else:
            return "WITHOUT"
        self.accept("ARRAY")
        self.expect("WRAPPER")
        return kind

    def _on_null(self, otherwise: str) -> exp.Expr:
        behaviour = self.accept_any(("NULL", "ABSENT"))
        if behaviour:
            self.expect("ON", "NULL")
        return self._said(behaviour or otherwise)

    def _null_behaviour_ahead(self) -> bool:
        return self.sees_any(("NULL", "ABSENT")) and self.sees("ON", "NULL", ahead=1)

    def _pair(self) -> list[exp.Expr]:
        # KEY is a name, too: JSON_OBJECT(KEY VALUE 1) has a column called KEY.
        if self.sees("KEY") and not self.sees("VALUE", ahead=1):
            self._advance()
        key = self.scalar()
        if not self.accept("VALUE") and not self.accept_sign(TokenType.COLON):
            self.fail_expecting("VALUE", hint="pairs are written KEY 'name' VALUE expression")
        value = self.scalar()
        self.accept("FORMAT", "JSON")
        return [key, value]

    def _object_arguments(self) -> list[exp.Expr]:
        pairs: list[list[exp.Expr]] = []
        if not self.sees_sign(TokenType.R_PAREN) and not self._null_behaviour_ahead():
            pairs = self.list_of(self._pair)
        return [*(part for pair in pairs for part in pair), self._on_null("NULL")]

    def _array_arguments(self) -> list[exp.Expr]:
        values: list[exp.Expr] = []
        if not self.sees_sign(TokenType.R_PAREN) and not self._null_behaviour_ahead():
            values = self.list_of(self.scalar)
        return [*values, self._on_null("ABSENT")]

    def _object_aggregate(self) -> list[exp.Expr]:
        return [*self._pair(), self._on_null("NULL")]

    def _array_aggregate(self) -> list[exp.Expr]:
        return [self.scalar(), self._on_null("ABSENT")]
