"""Reading SHOW, DESCRIBE, USE, SET, modules and jars."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from headrace.sql import statements as st
from headrace.sql.parse_statements_objects import ObjectStatements

_SHOWN = (
    ("CATALOGS",), ("CURRENT", "CATALOG"), ("DATABASES",), ("CURRENT", "DATABASE"), ("TABLES",),
    ("VIEWS",), ("COLUMNS",), ("PARTITIONS",), ("USER", "FUNCTIONS"), ("FUNCTIONS",),
    ("PROCEDURES",), ("FULL", "MODULES"), ("MODULES",), ("JARS",), ("JOBS",), ("MODELS",),
    ("CONNECTIONS",), ("MATERIALIZED", "TABLES"),
)  # fmt: skip
_CREATED = ("TABLE", "VIEW", "CATALOG", "MODEL", "CONNECTION", "MATERIALIZED")
_DESCRIBED = ("CATALOG", "DATABASE", "FUNCTION", "MODEL", "CONNECTION", "JOB")


class SessionStatements(ObjectStatements):
    def show(self) -> st.Statement:
        self.expect("SHOW")
        if self.accept("CREATE"):
            return self._show_create()
        found = next((words for words in _SHOWN if self.accept(*words)), None)
        if found is None:
            self.fail_expecting(*(" ".join(words) for words in _SHOWN))
        return self._show_listed(" ".join(found))

    def _show_create(self) -> st.Statement:
        if self.sees_any(("MODEL", "CONNECTION", "MATERIALIZED")):
            return self._absent("SHOW CREATE")
        kind = self.expect_any(_CREATED[:3])
        return st.ShowCreate(kind=kind, path=self.object_path(f"a {kind.lower()}"))

    def _show_listed(self, what: str) -> st.Statement:
        path: st.Path = ()
        partition = None
        if what == "PARTITIONS":
            path = self.object_path("a table")
            partition = self.partition_texts() if self.accept("PARTITION") else None
        elif self.accept_any(("FROM", "IN")):
            path = self.object_path("where to look")
        negated = self.sees("NOT") and self.accept("NOT")
        word = self.accept_any(("LIKE", "ILIKE"))
        if negated and word is None:
            self.fail_expecting("LIKE")
        return st.Show(
            what=what, path=path, negated=negated, ignore_case=word == "ILIKE", partition=partition,
            pattern=None if word is None else self.string("a pattern in '…'"),
        )  # fmt: skip

    def describe(self) -> st.Statement:
        self.expect_any(("DESCRIBE", "DESC"))
        kind = "TABLE"
        if self.sees_any(_DESCRIBED) and not self.sees_sign(TokenType.DOT, 1) and self.peek(1):
            if self.sees_any(("MODEL", "CONNECTION")):
                return self._absent("DESCRIBE")
            kind = self.expect_any(_DESCRIBED)
        extended = self.accept("EXTENDED")
        if kind == "JOB":
            return st.Describe(kind=kind, path=(self.string("the job's id in '…'"),))
        path = self.object_path(f"a {kind.lower()}")
        return st.Describe(kind=kind, path=path, extended=extended)

    def use(self) -> st.Statement:
        self.expect("USE")
        if self.accept("CATALOG"):
            return st.UseCatalog(name=self.simple_name("a catalog"))
        if self.accept("MODULES"):
            return st.UseModules(names=tuple(self.list_of(lambda: self.simple_name("a module"))))
        return st.UseDatabase(path=self.database_path())

    def load(self) -> st.Statement:
        if self.accept("UNLOAD"):
            self.expect("MODULE")
            return st.UnloadModule(name=self.simple_name("a module"))
        self.expect("LOAD", "MODULE")
        return st.LoadModule(name=self.simple_name("a module"), options=self.with_options())

    def set_option(self) -> st.Statement:
        self.expect("SET")
        if self._statement_ends():
            return st.SetOption()
        key = self._option_text(TokenType.EQ)
        self.expect_sign(TokenType.EQ, "=")
        return st.SetOption(key=key, value=self._option_text(None))

    def reset_option(self) -> st.Statement:
        self.expect("RESET")
        return st.ResetOption(key=None if self._statement_ends() else self._option_text(None))

    def _statement_ends(self) -> bool:
        return self.at_end or self.sees_sign(TokenType.SEMICOLON)

    def _option_text(self, until: TokenType | None) -> str:
        """A text in quotes, or the words up to a sign as they were written."""
        if self.sees_sign(TokenType.STRING):
            return self.string()
        start = self._curr
        if self._statement_ends() or (until is not None and self.sees_sign(until)):
            self.fail_expecting("a key or value in '…'")
        while not self._statement_ends() and not (until is not None and self.sees_sign(until)):
            self._advance()
        return self.text_since(start)

    def jar(self, start: Token) -> st.Statement:
        verb = self.expect_any(("ADD", "REMOVE"))
        self.expect("JAR")
        self.string("a path in '…'")
        return st.UnsupportedStatement(
            what=f"{verb} JAR",
            reason="headrace runs no Java code of Flink",
            hint="write functions and connectors in Python",
        )
