"""Cases about many expressions: those of SQL share a query, those of Python need no job at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from compare.case import NOTHING, PLANNING, Case, Outcome, Session, Setting, plans
from compare.describing import describe, describe_error
from compare.packing import by_halves

if TYPE_CHECKING:
    from pyflink.table import StreamTableEnvironment

ONE_ROW = "(VALUES (1)) AS t (n)"


def expressions(
    name: str,
    texts: Iterable[str],
    *,
    source: str = ONE_ROW,
    by: str = "",
    setting: Setting = NOTHING,
    core: bool = False,
) -> Case:
    """The type and the values of each expression over the rows of a source.

    Those that can be planned run as one query; where that fails, each runs for itself. Rows are in
    the order of the column `by`, where the source has more than one.
    """

    def run(session: Session) -> Outcome:
        tables = setting.enter(session)
        fine = [text for text in texts if plans(tables, _select(source, by, [text]))]
        outcome: Outcome = {text: f"refused {PLANNING}" for text in texts if text not in fine}
        return {**outcome, **_evaluate(session, tables, source, by, fine)}

    texts = list(texts)
    return Case(name, run, core)


def _evaluate(
    session: Session, tables: StreamTableEnvironment, source: str, by: str, texts: list[str]
) -> Outcome:
    def together(some: Sequence[str]) -> Outcome:
        kinds, columns = _collect(session, tables, _select(source, by, some))
        first = 1 if by else 0
        columns = columns or [[]] * len(kinds)
        return {
            text: [kind, *column]
            for text, kind, column in zip(some, kinds[first:], columns[first:], strict=True)
        }

    return by_halves(texts, together)


def _collect(
    session: Session, tables: StreamTableEnvironment, statement: str
) -> tuple[list[str], list[list[str]]]:
    result = tables.execute_sql(statement)
    kinds = [repr(kind) for kind in result.get_resolved_schema().get_column_data_types()]
    with session.running(), result.collect() as rows:
        described = sorted([describe(value) for value in row] for row in rows)
    return kinds, [list(column) for column in zip(*described, strict=True)]


def _select(source: str, by: str, texts: Sequence[str]) -> str:
    named = ", ".join(f"{text} AS c{number}" for number, text in enumerate(texts))
    return f"SELECT {by + ', ' if by else ''}{named} FROM {source}"


def python_expressions(name: str, imports: str, texts: Iterable[str]) -> Case:
    """What each expression of Python gives, after some imports; nothing runs in a job."""

    def run(_session: Session) -> Outcome:
        names: dict[str, object] = {}
        exec(imports, names)
        return {text: value_of(text, names) for text in texts}

    texts = list(texts)
    return Case(name, run, core=True)


def value_of(text: str, names: dict[str, object]) -> str:
    """What an expression of Python gives or raises."""
    try:
        return describe(eval(text, names))
    except Exception as error:
        return f"raises {describe_error(error)}".rstrip()
