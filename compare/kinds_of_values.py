"""Every SQL type with values of it that are worth a look."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A type as SQL writes it, and values of it as SQL expressions."""

    sql: str
    values: tuple[str, ...]

    def source(self) -> str:
        """A table `t`: numbers `n`, and `v` with the values and NULL, which no planner knows.

        What Flink's planner computes of constants may differ from what a job computes of rows.
        """
        values = (*self.values, "NULL")
        rows = [f"({number}, CAST({v} AS {self.sql}))" for number, v in enumerate(values, 10)]
        constants = f"(VALUES {', '.join(rows)}) AS constants (n, v)"
        return f"(SELECT n, CASE WHEN RAND() < 2 THEN v END AS v FROM {constants}) AS t"


NUMBERS = (
    Kind("TINYINT", ("0", "1", "-128", "127")),
    Kind("SMALLINT", ("0", "1", "-32768", "32767")),
    Kind("INT", ("0", "1", "-2147483648", "2147483647")),
    Kind("BIGINT", ("0", "1", "-9223372036854775807", "9223372036854775807")),
    Kind("FLOAT", ("0", "1.5", "-1.23", "1E10")),
    Kind("DOUBLE", ("0", "1.5", "-1.23", "1E100")),
    Kind("DECIMAL(10, 2)", ("0", "1.5", "-12345678.91")),
    Kind("DECIMAL(38, 18)", ("0", "1.000000000000000001", "'-99999999999999999999.5'")),
)
TEXTS = (
    Kind("CHAR(3)", ("'abc'", "'1'", "'ü漢'")),
    Kind("VARCHAR(5)", ("'abcde'", "''", "'12'")),
    Kind("STRING", ("'12'", "' 12 '", "'-7'")),
)
BINARIES = (
    Kind("BINARY(3)", ("X'616263'", "X'000000'")),
    Kind("VARBINARY(4)", ("X'61626364'", "X''")),
    Kind("BYTES", ("X'61'", "X'C3BC'")),
)
TIMES = (
    Kind("DATE", ("DATE '2020-02-29'", "DATE '1969-12-31'")),
    Kind("TIME(0)", ("TIME '12:34:56'", "TIME '00:00:00'")),
    Kind(
        "TIMESTAMP(3)",
        ("TIMESTAMP '2020-02-29 12:34:56.789'", "TIMESTAMP '1969-12-31 23:59:59.999'"),
    ),
    Kind("TIMESTAMP(6)", ("TIMESTAMP '2020-02-29 12:34:56.789012'",)),
    Kind("TIMESTAMP_LTZ(3)", ("TO_TIMESTAMP_LTZ(1582979696789, 3)", "TO_TIMESTAMP_LTZ(-1, 3)")),
)
INTERVALS = (
    Kind("INTERVAL YEAR TO MONTH", ("INTERVAL '1-2' YEAR TO MONTH",)),
    Kind("INTERVAL DAY TO SECOND(3)", ("INTERVAL '1 02:03:04.005' DAY TO SECOND",)),
)
COLLECTIONS = (
    Kind("ARRAY<INT>", ("ARRAY[1, 2, 3]",)),
    Kind("MAP<STRING, INT>", ("MAP['a', 1, 'b', 2]",)),
    Kind("ROW<a INT, b STRING>", ("ROW(1, 'x')",)),
)
BOOLEANS = (Kind("BOOLEAN", ("TRUE", "FALSE")),)

PLAIN = (*BOOLEANS, *NUMBERS, *TEXTS, *BINARIES, *TIMES)
EVERY = (*PLAIN, *INTERVALS, *COLLECTIONS)
COLUMNS = (*PLAIN, *COLLECTIONS)  # Flink's grammar has no column of an interval
