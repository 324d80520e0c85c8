"""A SQL script as a list of statements."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import InvalidQuery
from headrace.sql import statements as st
from headrace.sql.dialect import Flink
from headrace.sql.dialect_queries import QUERY_WORDS
from headrace.sql.dialect_tokens import tokens_of
from headrace.sql.nodes import HintCall
from headrace.sql.parse_statements_session import SessionStatements
from headrace.sql.position import Position, did_you_mean
from headrace.sql.to_unresolved import unresolved, unresolved_all
from headrace.sql.unresolved import Unresolved

_DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")


def parse_script(text: str) -> list[st.Statement]:
    """The statements of a text, which are separated by semicolons."""
    parser = StatementParser(dialect=Flink)
    parser.open(tokens_of(text, Flink), text)
    try:
        return parser.script()
    except RecursionError as error:
        raise InvalidQuery(
            "the statement is nested too deeply", origin=Position(text, 1, 1),
            hint="name parts of it with WITH or a view",
        ) from error  # fmt: skip


def parse_statement(text: str) -> st.Statement:
    """The one statement of a text."""
    found = parse_script(text)
    if len(found) != 1:
        at = found[1].at if len(found) > 1 else None
        raise InvalidQuery(
            f"expected one statement, found {len(found)}", origin=at,
            hint="run statements one after the other",
        )  # fmt: skip
    return found[0]


class StatementParser(SessionStatements):
    def script(self) -> list[st.Statement]:
        found = []
        while not self.at_end:
            if self.accept_sign(TokenType.SEMICOLON):
                continue
            found.append(self.statement())
            if not self.at_end and not self.accept_sign(TokenType.SEMICOLON):
                self.fail_left_over(self._leftover_hint())
        return found

    def _leftover_hint(self) -> str | None:
        if self.sees_any(self._readers()):
            return "separate statements with ;"
        return None

    def statement(self) -> st.Statement:
        start = self._curr
        self._subject = None
        if self.sees_any(QUERY_WORDS) or self.sees_sign(TokenType.L_PAREN):
            return self.placed(st.Query(tree=self.query()), start)
        read = self._readers().get(self.word())
        if read is None:
            self.fail_expecting("a statement", hint=self._statement_hint())
        return self.placed(read(start), start)

    def _statement_hint(self) -> str:
        known = (*QUERY_WORDS, *self._readers())
        hint = did_you_mean(self._curr.text, known, f"statements start with {', '.join(known)}")
        assert hint is not None
        return hint

    def _readers(self) -> dict[str, Callable[[Token], st.Statement]]:
        return {
            "CREATE": self.create, "REPLACE": self.replace_table, "ALTER": lambda _: self.alter(),
            "DROP": lambda _: self.drop(), "SHOW": lambda _: self.show(),
            "DESCRIBE": lambda _: self.describe(), "DESC": lambda _: self.describe(),
            "USE": lambda _: self.use(), "LOAD": lambda _: self.load(),
            "UNLOAD": lambda _: self.load(), "SET": lambda _: self.set_option(),
            "RESET": lambda _: self.reset_option(), "ADD": self.jar, "REMOVE": self.jar,
            "INSERT": lambda _: self._insert(), "UPDATE": lambda _: self._update(),
            "DELETE": lambda _: self._delete(), "TRUNCATE": lambda _: self._truncate(),
            "EXECUTE": lambda _: self._execute(), "BEGIN": lambda _: self._begin(),
            "END": lambda _: self._end(),
            "EXPLAIN": lambda _: self._explain(), "COMPILE": lambda _: self._compile(),
            "ANALYZE": lambda _: self._analyze(), "CALL": lambda _: self._call_procedure(),
            "STOP": lambda _: self._stop(),
        }  # fmt: skip

    def _insert(self) -> st.Statement:
        self.expect("INSERT")
        overwrite = self.expect_any(("INTO", "OVERWRITE")) == "OVERWRITE"
        self.accept("TABLE")
        path = self.object_path("a table")
        options = self._table_options()
        partition = self.partition() if self.accept("PARTITION") else {}
        columns = None
        if self.sees_sign(TokenType.L_PAREN) and not self._query_ahead():
            columns = self.names_in_parens()
        query = self.query()
        conflict = None
        if self.accept("ON"):
            self.expect("CONFLICT", "DO")
            conflict = self.expect_any(("ERROR", "NOTHING", "DEDUPLICATE"))
        values = {name: value for name, value in partition.items() if value is not None}
        return st.Insert(
            path=path, query=query, overwrite=overwrite, columns=columns, conflict=conflict,
            partition={name: unresolved(value) for name, value in values.items()}, options=options,
        )  # fmt: skip

    def _table_options(self) -> dict[str, str]:
        if not self.sees_sign(TokenType.HINT):
            return {}
        found: dict[str, str] = {}
        for hint in self.hints().expressions:
            if isinstance(hint, HintCall) and hint.this == "OPTIONS":
                found.update(hint.pairs)
        return found

    def _update(self) -> st.Statement:
        self.expect("UPDATE")
        path = self.object_path("a table")
        self.expect("SET")
        assignments = tuple(self.list_of(self._assignment))
        return st.Update(path=path, assignments=assignments, where=self._optional_where())

    def _assignment(self) -> tuple[str, Unresolved]:
        name = self.simple_name("a column")
        self.expect_sign(TokenType.EQ, "=")
        return name, unresolved(self.scalar())

    def _optional_where(self) -> Unresolved | None:
        return unresolved(self.scalar()) if self.accept("WHERE") else None

    def _delete(self) -> st.Statement:
        self.expect("DELETE", "FROM")
        return st.Delete(path=self.object_path("a table"), where=self._optional_where())

    def _truncate(self) -> st.Statement:
        self.expect("TRUNCATE", "TABLE")
        return st.Truncate(path=self.object_path("a table"))

    def _execute(self) -> st.Statement:
        self.expect("EXECUTE")
        if self.accept("PLAN"):
            return st.ExecutePlan(file=self.string("a path in '…'"))
        if self.sees("STATEMENT", "SET"):
            return self._bracketed_set()
        return self.statement()

    def _begin(self) -> st.Statement:
        self.expect("BEGIN", "STATEMENT", "SET")
        semicolon = self.sees_sign(TokenType.SEMICOLON)
        if self.peek(1 if semicolon else 0) is None:
            return st.BeginStatementSet()
        self.expect_sign(TokenType.SEMICOLON, ";")
        return self._statement_set()

    def _end(self) -> st.Statement:
        self.expect("END")
        return st.EndStatementSet()

    def _bracketed_set(self) -> st.StatementSet:
        """STATEMENT SET BEGIN …; END"""
        self.expect("STATEMENT", "SET", "BEGIN")
        return self._statement_set()

    def _statement_set(self) -> st.StatementSet:
        inserts = []
        while not self.sees("END"):
            if self.accept_sign(TokenType.SEMICOLON):
                continue
            if not self.sees("INSERT") and not self.sees("CREATE") and not self.sees("REPLACE"):
                self.fail_expecting("INSERT", "END", hint="a statement set has INSERT statements")
            inserts.append(self.statement())
            if not self.sees("END"):
                self.expect_sign(TokenType.SEMICOLON, ";")
        self.expect("END")
        return st.StatementSet(inserts=tuple(inserts))

    def _explain(self) -> st.Statement:
        self.expect("EXPLAIN")
        details: list[str] = []
        if self.accept("PLAN"):
            self.expect("FOR")
        elif self.sees_any(_DETAILS):
            details = self.list_of(lambda: self.expect_any(_DETAILS))
        self.accept("EXECUTE")
        if self.sees("STATEMENT", "SET"):
            start = self._curr
            inner: st.Statement = self.placed(self._bracketed_set(), start)
        else:
            inner = self.statement()
        return st.Explain(statement=inner, details=tuple(details))

    def _compile(self) -> st.Statement:
        self.expect("COMPILE")
        execute = self.accept("AND", "EXECUTE")
        self.expect("PLAN")
        file = self.string("a path in '…'")
        if_not_exists = self.if_not_exists()
        self.expect("FOR")
        if self.sees("STATEMENT", "SET"):
            start = self._curr
            inner: st.Statement = self.placed(self._bracketed_set(), start)
        else:
            inner = self.statement()
        return st.CompilePlan(
            file=file, statement=inner, if_not_exists=if_not_exists, execute=execute
        )

    def _analyze(self) -> st.Statement:
        self.expect("ANALYZE", "TABLE")
        path = self.object_path("a table")
        partition: dict[str, str | None] = {}
        if self.accept("PARTITION"):
            for name, value in self.partition().items():
                partition[name] = str(value.this) if isinstance(value, exp.Literal) else None
        self.expect("COMPUTE", "STATISTICS")
        columns: st.Path | None = None
        if self.accept("FOR"):
            if self.accept("ALL"):
                self.expect("COLUMNS")
                columns = ()
            else:
                self.expect("COLUMNS")
                columns = tuple(self.list_of(lambda: self.simple_name("a column")))
        return st.Analyze(path=path, partition=partition, columns=columns)

    def _call_procedure(self) -> st.Statement:
        self.expect("CALL")
        path = self.object_path("a procedure")
        self.open_paren()
        arguments = [] if self.sees_sign(TokenType.R_PAREN) else self.list_of(self.argument)
        self.close_paren()
        return st.Call(path=path, arguments=unresolved_all(arguments))

    def _stop(self) -> st.Statement:
        self.expect("STOP", "JOB")
        job = self.string("the job's id in '…'")
        savepoint = self.accept("WITH", "SAVEPOINT")
        drain = self.accept("WITH", "DRAIN")
        return st.StopJob(job_id=job, savepoint=savepoint, drain=drain)
