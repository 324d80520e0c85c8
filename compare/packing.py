"""Many cases in one job: starting a job is dear, and most of them never fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from compare.case import NOTHING, PLANNING, RUNNING, Case, Outcome, Session, Setting, final_rows
from compare.describing import describe_row

if TYPE_CHECKING:
    from pyflink.table import StreamTableEnvironment

T = TypeVar("T")


def by_halves(items: Sequence[T], run: Callable[[Sequence[T]], Outcome]) -> Outcome:
    """Run all at once; where that fails, halves of them, until what fails is alone."""
    if not items:
        return {}
    try:
        return run(items)
    except Exception:
        if len(items) == 1:
            return {str(items[0]): f"refused {RUNNING}"}
    half = len(items) // 2
    return {**by_halves(items[:half], run), **by_halves(items[half:], run)}


def batched(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """The items in parts of a size."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def queries(
    name: str,
    texts: Mapping[str, str],
    setting: Setting = NOTHING,
    *,
    final: bool = False,
    core: bool = False,
) -> Case:
    """Queries whose results have the same columns: they run as one, each row with its query's name.

    The types are those of each query by itself.
    """

    def run(session: Session) -> Outcome:
        tables = setting.enter(session)
        outcome = {part: _columns(tables, text) for part, text in texts.items()}
        fine = [part for part, columns in outcome.items() if columns[0] != "refused"]

        def together(parts: Sequence[str]) -> Outcome:
            return _changes(session, tables, {part: texts[part] for part in parts}, final)

        for some in batched(fine, session.queries_in_a_job):
            for part, found in by_halves(some, together).items():
                outcome[part] += [found] if isinstance(found, str) else found
        return dict(outcome)

    return Case(name, run, core)


def _columns(tables: StreamTableEnvironment, text: str) -> list[str]:
    try:
        schema = tables.sql_query(text).get_resolved_schema()
        tables.explain_sql(text)
    except Exception:
        return ["refused", PLANNING]
    columns = zip(schema.get_column_names(), schema.get_column_data_types(), strict=True)
    return [", ".join(f"{name} {kind!r}" for name, kind in columns)]


def _changes(
    session: Session, tables: StreamTableEnvironment, texts: Mapping[str, str], final: bool
) -> Outcome:
    parts = list(texts)
    union = " UNION ALL ".join(
        f"SELECT {number} AS part, q{number}.* FROM ({text}) AS q{number}"
        for number, text in enumerate(texts.values())
    )
    found: dict[str, list[str]] = {part: [] for part in parts}
    with session.running(), tables.execute_sql(union).collect() as rows:
        for row in rows:
            kind, _, values = describe_row(row).partition(" ")
            number, _, others = values.partition(", ")
            found[parts[int(number)]].append(f"{kind} {others}")
    if final:
        found = {part: final_rows(changes) for part, changes in found.items()}
    return {part: sorted(changes) for part, changes in found.items()}
