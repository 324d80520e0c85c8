"""Queries whose functions fail: one form, whichever engine runs them and however they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import HeadraceError, SourceUnavailable
from headrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from headrace.table.udf import udaf, udf, udtf
from headrace.testing.servers.ports import free_ports

SOURCE = Path(__file__).read_text().splitlines()


def line_of(code: str) -> str:
    """Where in this file a piece of code is, as messages write it."""
    return f"{__file__}:{next(n for n, line in enumerate(SOURCE, start=1) if code in line)}"


@udf(result_type=DataTypes.STRING())
def shout(word: Any) -> Any:
    return word.upper() + 1  # in a scalar function


@udf(result_type=DataTypes.STRING(), func_type="pandas")
def shout_all(words: Any) -> Any:
    return words.nothing_like_it  # in a function of columns


@udf(result_type=DataTypes.STRING())
async def ask(word: Any) -> Any:
    raise ConnectionError(word)  # in a function that is awaited


@udf(result_type=DataTypes.INT())
def letters(word: Any) -> Any:
    return f"{len(word)} letters"


@udtf(result_types=[DataTypes.STRING()])
def split(word: Any) -> Iterator[Any]:
    yield word + 1  # in a table function


@udaf(result_type=DataTypes.BIGINT(), func_type="pandas")
def total(words: Any) -> Any:
    return words.nothing_like_it  # in an aggregate function


FUNCTIONS = {
    "shout": shout, "shout_all": shout_all, "ask": ask, "letters": letters, "split": split,
    "total": total,
}  # fmt: skip


@pytest.fixture(params=["micro-batch", "record"])
def tables(request: pytest.FixtureRequest) -> TableEnvironment:
    """Native queries, or operators that tell each change."""
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    options = tables.get_config()
    options.set("parallelism.default", "1")
    options.set("table.exec.async-scalar.max-attempts", "1")
    options.set("headrace.table.changes", request.param)
    tables.create_temporary_view("words", tables.from_elements([("to",)], ["word"]))
    for name, function in FUNCTIONS.items():
        tables.create_temporary_system_function(name, function)
    tables.execute_sql("CREATE TABLE nowhere (word STRING) WITH ('connector' = 'blackhole')")
    return tables


def failure(run: Callable[[], Any], *parts: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        run()
    text = str(raised.value)
    for part in parts:
        assert part in text, f"{part!r} is not in:\n{text}"
    assert "src/headrace" not in text
    assert "Python worker" not in text


def test_every_kind_of_function_fails_in_one_form(tables: TableEnvironment) -> None:
    def collected(query: str) -> Callable[[], Any]:
        return lambda: list(tables.execute_sql(query).collect())

    no_sum = "TypeError: can only concatenate str"
    failure(collected("SELECT shout(word) FROM words"), no_sum, "with shout()", "'to'",
            line_of("# in a scalar function"))  # fmt: skip
    failure(collected("SELECT shout_all(word) FROM words"), "AttributeError: 'Series' object",
            "with shout_all()", line_of("# in a function of columns"))  # fmt: skip
    failure(collected("SELECT ask(word) FROM words"), "ConnectionError: to", "in ask()",
            "record: ('to',)", line_of("# in a function that is awaited"))  # fmt: skip
    failure(collected("SELECT letters(word) FROM words"), "with letters()",
            "'2 letters' is no INT",
            line_of("return lambda: list(tables.execute_sql"))  # fmt: skip
    failure(collected("SELECT a FROM words, LATERAL TABLE(split(word)) AS t(a)"), no_sum,
            line_of("# in a table function"))  # fmt: skip
    failure(collected("SELECT total(word) FROM words"), "AttributeError: 'Series' object",
            line_of("# in an aggregate function"))  # fmt: skip


def test_a_function_fails_in_one_form_however_it_is_asked(tables: TableEnvironment) -> None:
    table = tables.sql_query("SELECT shout(word) AS word FROM words")
    for run in (
        lambda: table.execute().print(),
        table.to_pandas,
        lambda: table.execute_insert("nowhere").wait(),
    ):
        failure(run, "[user-function-failed] TypeError: can only concatenate str",
                "with shout()", "'to'", line_of("# in a scalar function"))  # fmt: skip


def test_a_socket_that_nobody_serves() -> None:
    (port,) = free_ports(1)  # one that the system gives to nobody meanwhile
    env = StreamExecutionEnvironment.get_execution_environment()
    env.socket_text_stream("127.0.0.1", port).print()  # nobody is there
    with pytest.raises(SourceUnavailable) as raised:
        env.execute()
    text = str(raised.value)
    assert f"nobody listens at 127.0.0.1:{port}" in text
    assert line_of(".print()  # nobody is there") in text
    assert f"nc -lk {port}" in text
