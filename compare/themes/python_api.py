"""What PyFlink's classes answer in Python itself, without a job."""

from __future__ import annotations

from compare.case import Case, Outcome, Session
from compare.expression_cases import python_expressions, value_of
from compare.texts import read_texts

_IMPORTS = {
    "rows": "import copy, pickle\nfrom pyflink.common import Row, RowKind",
    "type information": "from pyflink.common import Types",
    "data types": "import datetime\nfrom pyflink.table import DataTypes",
    "expressions": """
import datetime, decimal
from pyflink.table import DataTypes
from pyflink.table.expressions import *
from pyflink.table.expression import TimeIntervalUnit
""",
    "times, windows, settings": """
from pyflink.common import *
from pyflink.common.configuration import Configuration
from pyflink.common.restart_strategy import RestartStrategies
from pyflink.common.time import Duration, Instant, Time
from pyflink.datastream import *
from pyflink.datastream.window import *
from pyflink.table import *
from pyflink.table.catalog import *
""",
}
_TABLES = """
import array, datetime, decimal
from pyflink.common import Row
from pyflink.table import DataTypes
from pyflink.table.expressions import col, lit
"""


def cases() -> list[Case]:
    texts = read_texts("python_api")
    return [
        *(python_expressions(name, imports, texts[name]) for name, imports in _IMPORTS.items()),
        Case("an environment", _environment, core=True),
        Case("a table environment", _table_environment, core=True),
    ]


def _environment(session: Session) -> Outcome:
    texts = read_texts("python_api")["an environment"]
    return {text: value_of(text, {"env": session.streams()}) for text in texts}


def _table_environment(session: Session) -> Outcome:
    names: dict[str, object] = {"t": session.tables()}
    exec(_TABLES, names)
    texts = read_texts("python_api")["a table environment"]
    return {text: value_of(text, names) for text in texts}
