"""Files of CSV lines as Flink's tables had them before 1.11: 'connector.type' and its like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from compare.case import BATCH, STREAMING, Case, Outcome, Session
from compare.describing import describe_row

_OPTIONS = {"connector.type": "filesystem", "format.type": "csv"}
_PLAIN = "a INT, b STRING"
_READ: dict[str, tuple[str, str, dict[str, str]]] = {
    "plain lines": (_PLAIN, "1,a\n2,b\n", {}),
    "no last line break": (_PLAIN, "1,a\n2,b", {}),
    "an empty file": (_PLAIN, "", {}),
    "line breaks of Windows": (_PLAIN, "1,a\r\n2,b\r\n", {}),
    "quotes": (_PLAIN, '1,"a"\n2,b"c\n', {}),
    "a quoted delimiter": (_PLAIN, '1,"a,b"\n', {"quote-character": '"'}),
    "quoted quotes": (_PLAIN, '1,"a ""b"""\n2,c\n', {"quote-character": '"'}),
    "quotes in the middle": (_PLAIN, '1,a"b"c\n', {"quote-character": '"'}),
    "an open quote": (_PLAIN, '1,"abc\n2,b\n', {"quote-character": '"'}),
    "a quoted number": (_PLAIN, '"1",a\n', {"quote-character": '"'}),
    "single quotes": (_PLAIN, "1,'a,b'\n", {"quote-character": "''"}),
    "a quoted line break": (_PLAIN, '1,"a\nb"\n2,c\n', {"quote-character": '"'}),
    "two characters as quote": (_PLAIN, "1,a\n", {"quote-character": '""'}),
    "another delimiter": (_PLAIN, "1|a,b\n", {"field-delimiter": "|"}),
    "a long delimiter": (_PLAIN, "1::a:b\n", {"field-delimiter": "::"}),
    "a tab": (_PLAIN, "1\ta\n", {"field-delimiter": "\t"}),
    "other line ends": (_PLAIN, "1,a;2,b\nc;", {"line-delimiter": ";"}),
    "long line ends": (_PLAIN, "1,a||2,b|c||", {"line-delimiter": "||"}),
    "line ends of Windows said": (_PLAIN, "1,a\r\n2,b\r\n", {"line-delimiter": "\r\n"}),
    "comments": (_PLAIN, "#x,y\n1,a\n2,#b\n", {"comment-prefix": "#"}),
    "long comments": (_PLAIN, "//x\n1,a\n /2,b\n", {"comment-prefix": "//"}),
    "comments that are not said": (_PLAIN, "#1,a\n", {}),
    "a header": (_PLAIN, "a,b\n1,a\n", {"ignore-first-line": "true"}),
    "no header": (_PLAIN, "1,a\n", {"ignore-first-line": "false"}),
    "a bad number": (_PLAIN, "x,a\n2,b\n", {}),
    "a bad number ignored": (_PLAIN, "x,a\n2,b\n", {"ignore-parse-errors": "true"}),
    "too few ignored": (_PLAIN, "1\n2,b\n", {"ignore-parse-errors": "true"}),
    "too large ignored": (_PLAIN, "99999999999,a\n2,b\n", {"ignore-parse-errors": "true"}),
    "too few": (_PLAIN, "1\n", {}),
    "too many": (_PLAIN, "1,a,x\n2,b\n", {}),
    "empty fields": (_PLAIN, "1,\n2,b\n", {}),
    "an empty number": (_PLAIN, ",a\n2,b\n", {}),
    "empty lines": (_PLAIN, "1,a\n\n2,b\n", {}),
    "blanks": (_PLAIN, "1, a \n", {}),
    "blanks at a number": (_PLAIN, " 1,a\n", {}),
    "a sign": (_PLAIN, "+1,a\n-2,b\n", {}),
    "letters beyond ASCII": (_PLAIN, "1,ü漢\n", {}),
    "the word null": (_PLAIN, "1,null\n2,NULL\n", {}),
    "small integers": ("a TINYINT, b SMALLINT, c BIGINT", "1,2,3\n-128,-32768,0003\n", {}),
    "too large": ("a TINYINT", "128\n", {}),
    "an empty integer": ("a TINYINT, b SMALLINT, c BIGINT", ",,\n", {}),
    "floats": ("a FLOAT, b DOUBLE", "1.5,2.5\n1e3,.5\n-1.,NaN\n", {}),
    "an empty float": ("a FLOAT, b DOUBLE, c STRING", ",,x\n", {}),
    "a float with blanks": ("a DOUBLE, b STRING", " 1.5,x\n", {}),
    "bools": ("a BOOLEAN", "true\nFALSE\nTrue\n", {}),
    "an empty bool": ("a BOOLEAN, b STRING", ",x\n", {}),
    "a date": ("a DATE", "2020-01-02\n1969-12-31\n", {}),
    "a short date": ("a DATE", "2020-1-2\n", {}),
    "an empty date": ("a DATE, b STRING", ",x\n", {}),
    "a time": ("a TIME", "10:11:12\n00:00:00\n", {}),
    "a time stamp": ("a TIMESTAMP(3)", "2020-01-02 10:11:12.123\n1969-12-31 23:59:59\n", {}),
    "an empty time stamp": ("a TIMESTAMP(3), b STRING", ",x\n", {}),
    "a time stamp of an instant": ("a TIMESTAMP_LTZ(3)", "2020-01-02 10:11:12.123\n", {}),
    "an empty decimal": ("a DECIMAL(10, 2), b STRING", ",x\n", {}),
    "bytes": ("a BYTES", "abc\n", {}),
    "one column": ("a STRING", "x\n\ny\n", {}),
    "two empty texts": ("a STRING, b STRING", ",\n", {}),
    "a comment after blanks": (_PLAIN, " #x,y\n", {"comment-prefix": "#"}),
    "two lines as header": (_PLAIN, "a,b\n1,a\n2,b\n", {"ignore-first-line": "true"}),
    "a bad last column ignored": ("a STRING, b INT", "a,x\nb,2\n", {"ignore-parse-errors": "true"}),
    "too many ignored": (_PLAIN, "1,a,x\n2,b\n", {"ignore-parse-errors": "true"}),
    "an empty line ignored": (_PLAIN, "1,a\n\n2,b\n", {"ignore-parse-errors": "true"}),
    "a bad date": ("a DATE", "2020-13-45\n", {}),
    "a bad bool": ("a BOOLEAN", "yes\n", {}),
    "a number as bool": ("a BOOLEAN", "1\n0\n", {}),
    "a time stamp with T": ("a TIMESTAMP(3)", "2020-01-02T10:11:12\n", {}),
    "decimals": ("a DECIMAL(10, 2)", "1.50\n2\n", {}),
    "an array": ("a ARRAY<INT>", "1\n", {}),
    "a short text": ("a VARCHAR(2), b CHAR(3)", "abc,x\n", {}),
    "a computed column": ("a INT, b STRING, c AS a + 1", "1,a\n", {}),
    "fields": (
        _PLAIN,
        "1,a\n",
        {
            "fields.0.name": "a",
            "fields.0.data-type": "INT",
            "fields.1.name": "b",
            "fields.1.data-type": "STRING",
        },
    ),
    "other fields": (_PLAIN, "1,a\n", {"fields.0.name": "x", "fields.0.data-type": "INT"}),
    "derived": (_PLAIN, "1,a\n", {"derive-schema": "true"}),
    "not derived": (_PLAIN, "1,a\n", {"derive-schema": "false"}),
    "versions": (_PLAIN, "1,a\n", {"property-version": "1"}),
    "another version": (_PLAIN, "1,a\n", {"property-version": "2"}),
    "an unknown option": (_PLAIN, "1,a\n", {"unheard-of": "1"}),
    "an option of sinks": (_PLAIN, "1,a\n", {"write-mode": "OVERWRITE"}),
    "a wrong bool": (_PLAIN, "1,a\n", {"ignore-first-line": "maybe"}),
}
_ALL = "a TINYINT, b BIGINT, c FLOAT, d DOUBLE, e BOOLEAN, f DATE, g TIME, h TIMESTAMP(3), i STRING"
_OF_ALL = (
    "(CAST(1 AS TINYINT), CAST(2 AS BIGINT), CAST(1.5 AS FLOAT), CAST(100000000 AS DOUBLE), TRUE,"
    " DATE '2020-01-02', TIME '10:11:12', TIMESTAMP '2020-01-02 10:11:12.120', 'x')"
)
_WRITE: dict[str, tuple[str, list[str], dict[str, str]]] = {
    "rows": (_PLAIN, ["(1, 'a'), (2, 'b')"], {}),
    "texts with everything": (_PLAIN, ["(1, 'a,b'), (2, 'c\"d'), (3, ''), (4, ' e ')"], {}),
    "NULL": (_PLAIN, ["(CAST(NULL AS INT), CAST(NULL AS STRING)), (2, 'b')"], {}),
    "types": (_ALL, [_OF_ALL], {}),
    "decimals": ("a DECIMAL(10, 2)", ["(CAST(1.5 AS DECIMAL(10, 2)))"], {}),
    "another delimiter": (_PLAIN, ["(1, 'a')"], {"field-delimiter": "|"}),
    "twice": (_PLAIN, ["(1, 'a')", "(2, 'b')"], {}),
    "twice, overwriting": (_PLAIN, ["(1, 'a')", "(2, 'b')"], {"write-mode": "OVERWRITE"}),
    "twice, not overwriting": (_PLAIN, ["(1, 'a')", "(2, 'b')"], {"write-mode": "NO_OVERWRITE"}),
    "another way of writing": (_PLAIN, ["(1, 'a')"], {"write-mode": "APPEND"}),
    "two files": (_PLAIN, ["(1, 'a'), (2, 'b')"], {"num-files": "2"}),
    "an option of sources": (_PLAIN, ["(1, 'a')"], {"quote-character": '"'}),
    "line ends": (_PLAIN, ["(1, 'a')"], {"line-delimiter": ";"}),
}
_MORE_WITH: dict[str, Mapping[str, str]] = {
    "update-mode append": {"update-mode": "append"},
    "update-mode upsert": {"update-mode": "upsert"},
    "connector.property-version": {"connector.property-version": "1"},
    "schema": {"schema.0.name": "a"},
}


def cases() -> list[Case]:
    found = [Case(f"read {name}", _read(*parts)) for name, parts in _READ.items()]
    found += [Case(f"write {name}", _write(*parts)) for name, parts in _WRITE.items()]
    for name, more in _MORE_WITH.items():
        found.append(Case(f"read with {name}", _read(_PLAIN, "1,a\n", {}, more)))
        found.append(Case(f"write with {name}", _write(_PLAIN, ["(1, 'a')"], {}, more)))
    found.append(Case("write in batch mode", _write(_PLAIN, ["(1, 'a')"], {}, mode=BATCH)))
    found.append(Case("write what changes", _write_changes))
    found.append(Case("read a folder", _read_folder))
    found.append(Case("read what is not there", _read_nothing))
    found.append(Case("no path", _no_path))
    return [*found, Case("the connector legacy-csv", _legacy_connector)]


def _declare(
    columns: str, path: Path | None, options: Mapping[str, str], more: Mapping[str, str] = {}
) -> str:
    given = {**_OPTIONS, **({"connector.path": str(path)} if path else {}), **more}
    given |= {f"format.{key}": value for key, value in options.items()}
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    return f"CREATE TABLE t ({columns}) WITH ({listed})"


def _select(session: Session, statement: str) -> Outcome:
    tables = session.tables(setup=[statement])
    result = tables.execute_sql("SELECT * FROM t")
    with session.running(), result.collect() as rows:
        return {"rows": sorted(describe_row(row) for row in rows)}


def _read(
    columns: str, text: str, options: Mapping[str, str], more: Mapping[str, str] = {}
) -> Callable[[Session], Outcome]:
    def run(session: Session) -> Outcome:
        file = session.new_folder() / "lines.csv"
        file.write_bytes(text.encode())
        return _select(session, _declare(columns, file, options, more))

    return run


def _read_folder(session: Session) -> Outcome:
    folder = session.new_folder()
    (folder / "one").write_text("1,a\n")
    (folder / "two").write_text("2,b\n")
    (folder / "_hidden").write_text("3,c\n")
    (folder / "deeper").mkdir()
    (folder / "deeper" / "four").write_text("4,d\n")
    return _select(session, _declare(_PLAIN, folder, {}))


def _read_nothing(session: Session) -> Outcome:
    return _select(session, _declare(_PLAIN, session.new_folder() / "nothing", {}))


def _no_path(session: Session) -> Outcome:
    return _select(session, _declare(_PLAIN, None, {}))


def _write(
    columns: str,
    values: list[str],
    options: Mapping[str, str],
    more: Mapping[str, str] = {},
    mode: str = STREAMING,
) -> Callable[[Session], Outcome]:
    def run(session: Session) -> Outcome:
        path = session.new_folder() / "out"
        tables = session.tables(mode, [_declare(columns, path, options, more)])
        for rows in values:
            result = tables.execute_sql(f"INSERT INTO t VALUES {rows}")
            with session.running():
                result.wait()
        return {"lines": _lines_below(path)}

    return run


def _write_changes(session: Session) -> Outcome:
    path = session.new_folder() / "out"
    tables = session.tables(setup=[_declare("a INT, n BIGINT", path, {})])
    grouped = "SELECT a, COUNT(*) FROM (VALUES (1), (1), (2)) AS v (a) GROUP BY a"
    result = tables.execute_sql(f"INSERT INTO t {grouped}")
    with session.running():
        result.wait()
    return {"lines": _lines_below(path)}


def _legacy_connector(session: Session) -> Outcome:
    path = session.new_folder() / "out"
    options = f"'connector' = 'legacy-csv', 'path' = '{path}'"
    tables = session.tables(setup=[f"CREATE TABLE t ({_PLAIN}) WITH ({options})"])
    result = tables.execute_sql("INSERT INTO t VALUES (1, 'a')")
    with session.running():
        result.wait()
    return {"lines": _lines_below(path)}


def _lines_below(path: Path) -> list[str]:
    """All lines, of a file or of those in a folder."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return sorted(line for file in files if file.is_file() for line in _lines(file))


def _lines(file: Path) -> list[str]:
    hidden = file.name.startswith((".", "_"))
    return [] if hidden else file.read_text(encoding="utf-8").splitlines()
