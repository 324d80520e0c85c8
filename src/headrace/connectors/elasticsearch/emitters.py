"""From records of a stream to actions on documents."""

from __future__ import annotations

import base64
import datetime
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from headrace.connectors.argument_checks import require_instance
from headrace.connectors.elasticsearch.bulk import BulkAction
from headrace.core.printing import to_text
from headrace.core.rows import Row
from headrace.errors import TypeMismatch, UnfitValue

__all__ = ["ElasticsearchEmitter"]


class ElasticsearchEmitter(ABC):
    """Says what is done with documents for each record.

    Subclass it (*beyond PyFlink*) to delete documents, or to write several for one record.
    """

    @abstractmethod
    def emit(self, value: Any) -> Iterable[BulkAction]:
        """The actions for one record, in their order."""

    @staticmethod
    def static_index(
        index: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """Records become documents of one index; `key_field` is the one that has the id."""
        require_instance(index, str, "static_index")
        return FieldsEmitter(_name(key_field, "static_index"), index=index)

    @staticmethod
    def dynamic_index(
        index_field: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """The same, of the index that a field of the record names."""
        require_instance(index_field, str, "dynamic_index")
        return FieldsEmitter(_name(key_field, "dynamic_index"), index_field=index_field)


def _name(field: str | None, what: str) -> str | None:
    return None if field is None else require_instance(field, str, what)


class FieldsEmitter(ElasticsearchEmitter):
    """A record with named fields is a document. There are no types of documents any more: what
    `doc_type` says has no meaning."""

    def __init__(
        self, key_field: str | None, *, index: str | None = None, index_field: str | None = None
    ):
        self.key_field = key_field
        self.index = index
        self.index_field = index_field

    def emit(self, value: Any) -> Iterable[BulkAction]:
        fields = _fields(value)
        index = self.index or str(_field(fields, self.index_field, "the index"))
        id = None if self.key_field is None else to_text(_field(fields, self.key_field, "the id"))
        try:
            document = json.dumps(fields, ensure_ascii=False, default=_plain, allow_nan=False)
        except ValueError as error:
            raise UnfitValue(
                f"no document can be made of {value!r}: {error}",
                hint="JSON has no NaN and no infinite numbers: leave such fields out.",
            ) from None
        return (BulkAction("index", index, id, document),)


def _fields(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    if isinstance(value, Row):
        return value.as_dict(recursive=True)
    raise TypeMismatch(
        f"a document is made of a dict, not of {value!r}",
        hint="Map the stream to Types.MAP(Types.STRING(), …), or to rows with named fields.",
    )


def _field(fields: Mapping[str, Any], name: str | None, what: str) -> Any:
    found = fields.get(name or "")
    if found is None:
        raise UnfitValue(
            f"the record has no field {name!r}, which is to be {what}",
            hint=f"It has: {', '.join(map(str, fields))}.",
        )
    return found


def _plain(value: Any) -> Any:
    """A value that JSON does not have, as the clusters read it."""
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, Row):
        return value.as_dict(recursive=True)
    raise TypeMismatch(f"a document cannot hold {value!r}")
