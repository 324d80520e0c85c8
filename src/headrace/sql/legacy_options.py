"""Options of tables as they were written before Flink 1.11: 'connector.type' and its like.

Flink still has one connector that takes them: files of CSV lines, in which nothing is quoted. They
are read and written by the filesystem connector here.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.errors import InvalidQuery, Unsupported

_TYPE, _FORMAT = "connector.type", "format.type"
_SAME = {
    "connector.path": "path",
    "format.field-delimiter": "csv.field-delimiter",
    "format.quote-character": "csv.quote-character",
    "format.ignore-parse-errors": "csv.ignore-parse-errors",
}
_NO_EFFECT = (
    "connector.property-version",
    "format.property-version",
    "format.derive-schema",
    "update-mode",
)
_NO_EFFECT_STARTS = ("format.fields.", "schema.")
_ONLY = {
    "format.line-delimiter": "\n",
    "format.comment-prefix": "#",
    "format.ignore-first-line": "false",
}


def is_legacy(options: Mapping[str, str]) -> bool:
    return _TYPE in options and "connector" not in options


def modern_options(options: Mapping[str, str], at: object | None) -> dict[str, str]:
    """The options that mean the same today."""
    kind, form = options[_TYPE], options.get(_FORMAT, "")
    if (kind, form) != ("filesystem", "csv"):
        raise InvalidQuery(
            f"'{_TYPE}' = '{kind}' with '{_FORMAT}' = '{form}' is known no more",
            origin=at,
            hint=f"write 'connector' = '{kind}' and 'format' = '…'; of the older options only "
            f"'{_TYPE}' = 'filesystem' with '{_FORMAT}' = 'csv' is read",
        )
    found = {"connector": "filesystem", "format": "csv"}
    for key, value in options.items():
        if key in _SAME:
            found[_SAME[key]] = value
        elif key in _ONLY:
            _check(key, value, at)
        elif key not in (_TYPE, _FORMAT, *_NO_EFFECT) and not key.startswith(_NO_EFFECT_STARTS):
            raise InvalidQuery(
                f"there is no option '{key}' beside '{_TYPE}' = 'filesystem'",
                origin=at,
                hint="write 'connector' = 'filesystem' and today's options",
            )
    if options.get("format.comment-prefix"):
        found["csv.allow-comments"] = "true"
    if "csv.quote-character" not in found:
        found["csv.disable-quote-character"] = "true"
    return found


def _check(key: str, value: str, at: object | None) -> None:
    if value != _ONLY[key]:
        raise Unsupported(
            f"'{key}' = {value!r}: only {_ONLY[key]!r} can be had",
            origin=at,
            hint="Write the files in another form, or read them with a DataStream.",
        )
