"""Jars that PyFlink programs name, and what has their place here."""

from __future__ import annotations

import logging
import re

from headrace.errors import Unsupported
from headrace.origin import calling_origin

__all__ = ["pass_over_jars"]

_LOG = logging.getLogger("headrace")
_PLACES = (
    (r"flink-(sql-)?connector-kafka|kafka-clients", "pip install 'headrace[kafka]'"),
    (
        r"flink-(sql-)?connector-(jdbc|(postgres|mysql)-cdc)|postgresql-|mysql-connector|mariadb-java",
        "pip install 'headrace[jdbc]'",
    ),
    (r"flink-(sql-)?connector-rabbitmq|amqp-client", "pip install 'headrace[rabbitmq]'"),
    (r"flink-(sql-)?avro", "pip install 'headrace[avro]'"),
    (r"flink-(sql-)?protobuf", "pip install 'headrace[protobuf]'"),
    (r"flink-(sql-)?(json|csv|parquet|orc|cep)", "it is part of headrace"),
    (
        r"flink-(sql-)?connector-(base|files|datagen|elasticsearch7|opensearch)",
        "it is part of headrace",
    ),
)
"""What the name of a jar begins with, and what to do instead of fetching it."""


def pass_over_jars(*paths: str) -> None:
    """Say of each jar that is not needed why; one that has no place here is refused."""
    places = [_place(path) for path in paths]
    for path, place in zip(paths, places, strict=True):
        _LOG.warning("%s is not used: no jar is needed here (%s)", _name(path), place)


def _place(path: str) -> str:
    for pattern, place in _PLACES:
        if re.match(pattern, _name(path)):
            return place
    raise Unsupported(
        f"{_name(path)} cannot be used: there is no JVM of Flink's behind headrace",
        origin=calling_origin(),
        hint="Connectors are Python packages here; docs/how-to/from-pyflink-jars.md lists them.",
    )


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
