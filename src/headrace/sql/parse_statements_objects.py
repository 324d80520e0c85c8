"""Reading CREATE, ALTER and DROP of views, functions, catalogs and databases."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from headrace.sql import statements as st
from headrace.sql.parse_statements_tables import TableStatements

_KINDS = ("TABLE", "VIEW", "FUNCTION", "CATALOG", "DATABASE")
_ABSENT = {
    "MODEL": (
        "models for ML_PREDICT are served by providers that headrace has none of",
        "call the model in a Python function",
    ),
    "CONNECTION": (
        "there is no store for the secrets of connections",
        "write the connector's options into the table",
    ),
    "MATERIALIZED": (
        "materialized tables are refreshed by a workflow scheduler that headrace has none of",
        "create a table and insert into it with a continuous query",
    ),
}


class ObjectStatements(TableStatements):
    def create(self, start: Token) -> st.Statement:
        self.expect("CREATE")
        replace = self.accept("OR", "REPLACE")
        self.accept("OR", "ALTER")
        temporary = self.accept("TEMPORARY")
        system = temporary and self.accept("SYSTEM")
        if self.sees_any(_ABSENT):
            return self._absent("CREATE")
        kind = self.expect_any(_KINDS)
        if kind == "TABLE":
            return self.create_table(start, temporary, replace)
        if replace:
            self.fail("only tables can be replaced", start)
        if kind == "VIEW":
            return self._create_view(temporary)
        if kind == "FUNCTION":
            return self._create_function(temporary, system)
        return self._create_catalog() if kind == "CATALOG" else self._create_database()

    def replace_table(self, start: Token) -> st.Statement:
        self.expect("REPLACE", "TABLE")
        found = self.create_table(start, temporary=False, replace=True)
        assert isinstance(found, st.CreateTableAs)
        return st.CreateTableAs(table=found.table, query=found.query, replace=True, create=False)

    def _absent(self, verb: str) -> st.UnsupportedStatement:
        word = self.word()
        reason, hint = _ABSENT[word]
        what = f"{verb} MATERIALIZED TABLE" if word == "MATERIALIZED" else f"{verb} {word}"
        self.skip_statement()
        return st.UnsupportedStatement(what=what, reason=reason, hint=hint)

    def _create_view(self, temporary: bool) -> st.Statement:
        if_not_exists = self.if_not_exists()
        path = self.object_path("a view")
        columns = self.names_in_parens() if self.sees_sign(TokenType.L_PAREN) else None
        comment = self.comment()
        self.expect("AS")
        query, text = self.query_with_text()
        return st.CreateView(
            path=path, query=query, query_text=text, columns=columns, comment=comment,
            temporary=temporary, if_not_exists=if_not_exists,
        )  # fmt: skip

    def _create_function(self, temporary: bool, system: bool) -> st.Statement:
        if_not_exists = self.if_not_exists()
        path = self.object_path("a function")
        self.expect("AS")
        class_name = self.string("the function's class in '…'")
        language = self._language()
        resources: list[str] = []
        if self.accept("USING"):
            resources = self.list_of(self._resource)
        return st.CreateFunction(
            path=path, class_name=class_name, language=language, resources=tuple(resources),
            options=self.with_options(), temporary=temporary, system=system,
            if_not_exists=if_not_exists,
        )  # fmt: skip

    def _language(self) -> str:
        return self.expect_any(("JAVA", "SCALA", "PYTHON")) if self.accept("LANGUAGE") else "JAVA"

    def _resource(self) -> str:
        self.expect_any(("JAR", "ARTIFACT", "FILE", "ARCHIVE"))
        return self.string("a path in '…'")

    def _create_catalog(self) -> st.Statement:
        if_not_exists = self.if_not_exists()
        name = self.simple_name("a catalog")
        comment = self.comment()
        options = self.with_options()
        return st.CreateCatalog(
            name=name, options=options, comment=comment, if_not_exists=if_not_exists
        )

    def _create_database(self) -> st.Statement:
        if_not_exists = self.if_not_exists()
        path = self.database_path()
        comment = self.comment()
        options = self.with_options()
        return st.CreateDatabase(
            path=path, options=options, comment=comment, if_not_exists=if_not_exists
        )

    def database_path(self) -> st.Path:
        start = self._curr
        path = self.object_path("a database")
        if len(path) > 2:
            self.fail("the name of a database has at most two parts", start)
        return path

    def alter(self) -> st.Statement:
        self.expect("ALTER")
        if self.sees_any(_ABSENT):
            return self._absent("ALTER")
        temporary = self.accept("TEMPORARY")
        self.accept("SYSTEM")
        kind = self.expect_any(_KINDS)
        if kind == "TABLE":
            return self.alter_table()
        if kind == "VIEW":
            return self._alter_view()
        if kind == "FUNCTION":
            return self._alter_function(temporary)
        if kind == "CATALOG":
            name = self.simple_name("a catalog")
            return st.AlterCatalog(name=name, action=self._settings())
        path = self.database_path()
        return st.AlterDatabase(path=path, action=self._settings())

    def _settings(self) -> st.SetOptions | st.ResetOptions | st.SetComment:
        word = self.expect_any(("SET", "RESET", "COMMENT"))
        if word == "SET":
            return st.SetOptions(self.options())
        if word == "RESET":
            return st.ResetOptions(self.option_keys())
        return st.SetComment(self.string("a comment in '…'"))

    def _alter_view(self) -> st.Statement:
        if_exists = self.if_exists()
        path = self.object_path("a view")
        if self.accept("RENAME", "TO"):
            target = st.RenameTo(self.object_path("a view"))
            return st.AlterView(path=path, action=target, if_exists=if_exists)
        self.expect("AS")
        query, text = self.query_with_text()
        return st.AlterView(path=path, query=query, query_text=text, if_exists=if_exists)

    def _alter_function(self, temporary: bool) -> st.Statement:
        if_exists = self.if_exists()
        path = self.object_path("a function")
        self.expect("AS")
        class_name = self.string("the function's class in '…'")
        return st.AlterFunction(
            path=path, class_name=class_name, language=self._language(), temporary=temporary,
            if_exists=if_exists,
        )  # fmt: skip

    def drop(self) -> st.Statement:
        self.expect("DROP")
        temporary = self.accept("TEMPORARY")
        system = temporary and self.accept("SYSTEM")
        if self.sees_any(_ABSENT):
            return self._absent("DROP")
        kind = self.expect_any(_KINDS)
        if_exists = self.if_exists()
        path = self.object_path(f"a {kind.lower()}")
        cascade = self.accept("CASCADE") if kind == "DATABASE" else False
        if kind == "DATABASE" and not cascade:
            self.accept("RESTRICT")
        return st.Drop(
            kind=kind, path=path, if_exists=if_exists, temporary=temporary, system=system,
            cascade=cascade,
        )  # fmt: skip
