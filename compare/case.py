"""A case: something both engines do, and the parts of what came of it."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compare.describing import describe_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.table import StreamTableEnvironment, Table, TableResult

Outcome = dict[str, Any]
"""Parts of a result by name, each a text or texts; `refused` tells when it was refused."""

STREAMING, BATCH = "streaming", "batch"
PLANNING, RUNNING = "planning", "running"
_FEW, _MANY = 2, 30  # a job of PyFlink is dear to start, one of headrace to make large


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison. A core case is also part of the test suite, where each second counts."""

    name: str
    run: Callable[[Session], Outcome]
    core: bool = False


class Session:
    """Makes environments that are alike on both engines, and notes how far a case has come."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings  # how PyFlink finds the cluster that all cases share
        self._folder = Path(tempfile.mkdtemp(prefix="compare-"))
        self._numbers = itertools.count(1)
        self.is_flink = bool(settings)
        self.queries_in_a_job = _MANY if settings else _FEW
        self.stage = PLANNING

    def streams(self, mode: str = STREAMING) -> StreamExecutionEnvironment:
        """An environment with one subtask for each operator."""
        from pyflink.common import Configuration
        from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment

        env = StreamExecutionEnvironment.get_execution_environment()
        if self._settings:
            configuration = Configuration()
            for key, value in self._settings.items():
                configuration.set_string(key, value)
            env.configure(configuration)  # after the environment has chosen to be a local one
        env.set_parallelism(1)
        if mode == BATCH:
            env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        return env

    def tables(self, mode: str = STREAMING, setup: Sequence[str] = ()) -> StreamTableEnvironment:
        """A table environment in which the statements of `setup` have run."""
        from pyflink.table import EnvironmentSettings, StreamTableEnvironment

        env = self.streams(mode)
        chosen = EnvironmentSettings.new_instance()
        chosen = chosen.in_batch_mode() if mode == BATCH else chosen.in_streaming_mode()
        tables = StreamTableEnvironment.create(env, chosen.build())
        tables.get_config().set("table.local-time-zone", "UTC")
        for statement in setup:
            tables.execute_sql(statement)
        return tables

    def new_folder(self) -> Path:
        """A folder that is there until the session ends."""
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        return folder

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        """What fails inside was accepted first."""
        self.stage = RUNNING
        yield
        self.stage = PLANNING


def result_of(
    session: Session, result: TableResult, *, ordered: bool = False, final: bool = False
) -> Outcome:
    """Columns and changes of a result; with `final`, the rows that are left in the end."""
    schema = result.get_resolved_schema()
    columns = zip(schema.get_column_names(), schema.get_column_data_types(), strict=True)
    outcome: Outcome = {"columns": [f"{name} {kind!r}" for name, kind in columns]}
    with session.running(), result.collect() as rows:
        changes = [describe_row(row) for row in rows]
    if final:
        changes = final_rows(changes)
    outcome["rows"] = changes if ordered else sorted(changes)
    return outcome


def final_rows(changes: Iterable[str]) -> list[str]:
    """What a changelog leaves. Where inputs race, the way there is not defined."""
    left: Counter[str] = Counter()
    for change in changes:
        left[change[3:]] += -1 if change.startswith("-") else 1
    return list(left.elements())


@dataclass(frozen=True, slots=True)
class Rows:
    """A table over a file of CSV lines: it ends, and may have a watermark."""

    name: str
    columns: str
    lines: tuple[str, ...]

    def create(self, session: Session) -> str:
        """Write the file, and give the statement that makes the table."""
        file = session.new_folder() / f"{self.name}.csv"
        file.write_text("".join(f"{line}\n" for line in self.lines), encoding="utf-8")
        return (
            f"CREATE TABLE {self.name} ({self.columns}) WITH ('connector' = 'filesystem',"
            f" 'path' = '{file}', 'format' = 'csv', 'csv.null-literal' = 'NULL')"
        )


@dataclass(frozen=True, slots=True)
class Setting:
    """What is there before a statement: tables, statements that ran, a mode."""

    tables: tuple[Rows, ...] = ()
    statements: tuple[str, ...] = ()
    mode: str = STREAMING

    def enter(self, session: Session) -> StreamTableEnvironment:
        creating = [table.create(session) for table in self.tables]
        return session.tables(self.mode, [*creating, *self.statements])

    def in_batch_mode(self) -> Setting:
        return Setting(self.tables, self.statements, BATCH)


NOTHING = Setting()


def query(
    name: str,
    statement: str,
    setting: Setting = NOTHING,
    *,
    ordered: bool = False,
    final: bool = False,
    core: bool = False,
) -> Case:
    """A statement with a result: its columns and its changes."""

    def run(session: Session) -> Outcome:
        result = setting.enter(session).execute_sql(statement)
        return result_of(session, result, ordered=ordered, final=final)

    return Case(name, run, core)


def table_of(
    name: str,
    build: Callable[[StreamTableEnvironment], Table],
    setting: Setting = NOTHING,
    *,
    final: bool = False,
    core: bool = False,
) -> Case:
    """A table that is written with the Table API."""

    def run(session: Session) -> Outcome:
        return result_of(session, build(setting.enter(session)).execute(), final=final)

    return Case(name, run, core)


def plannable(
    name: str, statements: Mapping[str, str], setting: Setting = NOTHING, *, core: bool = True
) -> Case:
    """Which statements are accepted; nothing runs."""

    def run(session: Session) -> Outcome:
        tables = setting.enter(session)
        accepted = {part: plans(tables, text) for part, text in statements.items()}
        return {part: "accepted" if yes else "refused" for part, yes in accepted.items()}

    return Case(name, run, core)


def plans(tables: StreamTableEnvironment, statement: str) -> bool:
    """Whether a statement is accepted."""
    try:
        tables.explain_sql(statement)
    except Exception:
        return False
    return True
