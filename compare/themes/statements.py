"""Statements that tell something: SHOW, DESCRIBE, what DDL refuses, what is printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compare.case import Case, Outcome, Session, Setting, plannable, query
from compare.describing import describe_row
from compare.printing import printed_text
from compare.texts import read_texts

_TABLE = (
    "CREATE TABLE t (a INT NOT NULL COMMENT 'the key', b STRING, c AS UPPER(b), ts TIMESTAMP(3),"
    " d DECIMAL(10, 2), e ARRAY<INT>, f MAP<STRING, BIGINT>, g ROW<x INT, y VARCHAR(5)>,"
    " p TIMESTAMP_LTZ(3) METADATA FROM 'file.modification-time' VIRTUAL,"
    " WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (a) NOT ENFORCED)"
    " COMMENT 'a table' PARTITIONED BY (b)"
    " WITH ('connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'json')"
)
_BOUNDED = (
    "CREATE TABLE t (a INT NOT NULL, b STRING, ts TIMESTAMP(3), e ARRAY<INT>,"
    " f MAP<STRING, BIGINT>, g ROW<x INT, y VARCHAR(5)>, WATERMARK FOR ts AS ts)"
    " WITH ('connector' = 'datagen', 'number-of-rows' = '1')"
)
"""A table that can be read, for plans that look at what they will read."""
_VIEW = "CREATE VIEW v AS SELECT a, b FROM t"
_THERE = Setting(statements=(_TABLE, _VIEW, "CREATE DATABASE other COMMENT 'more'"))
_SINK = "CREATE TABLE sink (x INT NOT NULL, y STRING) WITH ('connector' = 'blackhole')"
_BREAKS = "SELECT 'a\nb' AS s, 'c\td' AS t"


def cases() -> list[Case]:
    told = [query(text, text, _THERE, core=True) for text in read_texts("told")["told"]]
    work = [Case(n, _steps(lines), core=True) for n, lines in read_texts("statements").items()]
    work.append(Case("an empty statement", _steps([""]), core=True))
    work.append(Case("a comment", _steps(["-- nothing\nSHOW TABLES"]), core=True))
    queries = {text: text for text in read_texts("queries")["queries"]}
    with_sink = Setting(statements=(*_THERE.statements, _SINK))
    bad = plannable("queries", queries, with_sink)
    there = Setting(statements=(_BOUNDED, *with_sink.statements[1:])).in_batch_mode()
    batch = plannable("queries in batch mode", queries, there, core=False)
    return [*told, *work, bad, batch, *_prints(Setting()), *_prints(Setting().in_batch_mode())]


def _steps(statements: Sequence[str]) -> Callable[[Session], Outcome]:
    """Statement after statement; the rows of those that are told are parts."""

    def run(session: Session) -> Outcome:
        tables = _THERE.enter(session)
        outcome: Outcome = {}
        for number, statement in enumerate(statements, 1):
            if statement.startswith("SELECT"):
                tables.explain_sql(statement)
                continue
            result = tables.execute_sql(statement)
            if statement.startswith(("SHOW", "DESC")):
                outcome[f"{number}. {statement}"] = sorted(
                    describe_row(r) for r in result.collect()
                )
            else:
                outcome[f"{number}. {statement}"] = "done"
        return outcome

    return run


def _prints(setting: Setting) -> list[Case]:
    def case(name: str, text: str) -> Case:
        def show(session: Session) -> Outcome:
            result = setting.enter(session).execute_sql(text)
            with session.running():
                return {"printed": sorted(printed_text(result.print).splitlines())}

        return Case(f"print {name}, {setting.mode}", show, core=True)

    texts = {name: lines[0] for name, lines in read_texts("printed").items()}
    return [case(name, text) for name, text in {**texts, "line breaks": _BREAKS}.items()]
