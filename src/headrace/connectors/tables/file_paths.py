"""What the path of a file says of its rows: metadata, and columns that are in folders' names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from headrace.connectors.tables.raising import raised
from headrace.connectors.tables.text_columns import scalar, sql_text
from headrace.core.logical_types import BIGINT, STRING, LocalZonedTimestampType, LogicalType
from headrace.errors import SourceUnavailable

METADATA: Mapping[str, LogicalType] = {
    "file.path": STRING.with_nullable(False),
    "file.name": STRING.with_nullable(False),
    "file.size": BIGINT.with_nullable(False),
    "file.modification-time": LocalZonedTimestampType(3, nullable=False),
}
DEFAULT_PARTITION = "__DEFAULT_PARTITION__"
_SPARKS_DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def _decoded(text: str) -> str:
    """Without %XX; a plus is a plus in paths."""
    return f"url_decode(replace({text}, '+', '%2B'))"


def shown_path(path: str = "_metadata.file_path") -> str:
    """The path of a file as users write it, in Spark SQL; `path` is Spark's own."""
    return f"regexp_replace({_decoded(path)}, '^file:/+', '/')"


_METADATA_TEXTS = {
    "file.path": shown_path(),
    "file.name": _decoded("_metadata.file_name"),
    "file.size": "_metadata.file_size",
    "file.modification-time": "_metadata.file_modification_time",
}


def metadata_text(key: str) -> str:
    """The metadata in Spark SQL."""
    return _METADATA_TEXTS[key]


def partition_text(name: str, type: LogicalType, default_name: str) -> str:
    """A partition's column, of the name of the folder `name=value` that a file lies in."""
    pattern = sql_text(f"/{re.escape(name)}=([^/]*)/")
    value = _decoded(f"regexp_extract({shown_path()}, {pattern}, 1)")
    names = ", ".join(map(sql_text, {default_name, _SPARKS_DEFAULT_PARTITION}))
    typed = scalar("p", type)
    missing = raised(
        f"concat({shown_path()}, {sql_text(f' is not in a folder {name}=…')})",
        "Move the file, or leave PARTITIONED BY out.",
    )
    value = f"IF({shown_path()} RLIKE {pattern}, {value}, {missing})"
    # A function of one argument: the text is needed more than once.
    return f"element_at(transform(array({value}), p -> IF(p IN ({names}), NULL, {typed})), 1)"


def escaped_folder(text: str) -> str:
    """A value as part of a folder's name, as Hive and Spark write it."""
    return "".join(f"%{ord(char):02X}" if char in '/\\:*?"<>|%=#{}[]^\x7f' or char < " " else char
                   for char in text)  # fmt: skip


def local_file(path: str) -> Path | None:
    """The path on this machine's disk; None if it is elsewhere."""
    local = re.sub("^file:/+", "/", path)
    return None if re.match(r"\w[\w+.-]*://", local) else Path(local)


def absolute_path(path: str) -> str:
    """A relative path is relative to the program's folder, wherever Spark was started."""
    local = local_file(path)
    return path if local is None else str(local.absolute())


def check_there(path: str, *, watched: bool) -> None:
    """Refuse to read what is not there."""
    local = local_file(path)
    if local is None or "*" in path or local.exists():
        return
    raise SourceUnavailable(
        f"there is no file or folder {path}",
        hint="Create the folder first; files put there later are read as they come." if watched
        else "Check the option 'path'; a relative one starts at the folder you run in.",
    )  # fmt: skip
