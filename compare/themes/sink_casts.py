"""Which type may be inserted into a column of which other, and what is written then."""

from __future__ import annotations

from compare.case import Case, Setting, plannable
from compare.kinds_of_values import COLUMNS, EVERY, Kind

_SINK = "CREATE TABLE sink_{number} (c {type}) WITH ('connector' = 'blackhole')"


def cases() -> list[Case]:
    return [_into_every_type(kind) for kind in EVERY]


def _into_every_type(kind: Kind) -> Case:
    sinks = [_SINK.format(number=n, type=target.sql) for n, target in enumerate(COLUMNS)]
    view = f"CREATE TEMPORARY VIEW source AS SELECT CAST(NULL AS {kind.sql}) AS c"
    inserts = {
        f"into {target.sql}": f"INSERT INTO sink_{number} SELECT c FROM source"
        for number, target in enumerate(COLUMNS)
    }
    return plannable(f"insert {kind.sql}", inserts, Setting(statements=(*sinks, view)))
