"""Bulk requests: many actions at once, each of which may fail by itself."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass
from enum import Enum
from typing import Any

from headrace.connectors.elasticsearch.backoff import Backoff
from headrace.connectors.elasticsearch.cluster import Answer, Away, Cluster
from headrace.errors import HeadraceError, InvalidArgument, SourceUnavailable, UnfitValue

__all__ = ["BulkAction", "BulkWriter", "OnFailure"]

_LOG = logging.getLogger("headrace")
_OVERLOADED = (429, 502, 503, 504)
_CONFLICT, _MISSING = 409, 404
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class BulkAction:
    """What is done with one document.

    `index` replaces the document of the id, `update` adds the fields to it, or makes it, `delete`
    takes it away. Without an id there is only `index`, and the cluster makes one.
    """

    kind: str
    index: str
    id: str | None = None
    document: str | None = None
    """JSON."""

    def lines(self) -> str:
        place = {"_index": self.index}
        if self.id is not None:
            place["_id"] = self.id
        first = json.dumps({self.kind: place}, ensure_ascii=False)
        if self.kind == "delete":
            return f"{first}\n"
        if self.kind == "update":
            return f'{first}\n{{"doc":{self.document},"doc_as_upsert":true}}\n'
        return f"{first}\n{self.document}\n"

    @property
    def size(self) -> int:
        """About how many bytes it has in a request."""
        return 60 + len(self.index) + len(self.id or "") + len(self.document or "")

    def __str__(self) -> str:
        named = "a document" if self.id is None else f"document {self.id!r}"
        return f"{named} of index {self.index!r}"


class OnFailure(Enum):
    """What becomes of a document that the cluster refuses."""

    FAIL = "fail"
    IGNORE = "ignore"
    RETRY_REJECTED = "retry-rejected"


class BulkWriter:
    """Writes actions, in their order for each document, until all of them are done."""

    def __init__(self, cluster: Cluster, backoff: Backoff, on_failure: OnFailure = OnFailure.FAIL):
        self._cluster = cluster
        self._backoff = backoff
        self._ignores = on_failure is OnFailure.IGNORE
        if on_failure is OnFailure.RETRY_REJECTED:
            self._backoff = Backoff(backoff.kind, backoff.max_retries, backoff.delay_ms, True)

    def write(self, actions: list[BulkAction]) -> None:
        pauses = self._backoff.pauses()
        tried = 0
        while True:
            actions, reason = self._attempt(actions)
            if not actions:
                if tried:
                    _LOG.warning("the cluster at %s takes documents again", self._cluster.access)
                return
            pause = next(pauses, None)
            if pause is None:
                raise SourceUnavailable(
                    f"{len(actions)} documents could not be written to the cluster at "
                    f"{self._cluster.access}: {reason}",
                    hint="Is it there? A backoff strategy says how often to try again.",
                )
            if not tried:
                _LOG.warning("%s; documents are written again until they are taken", reason)
            tried += 1
            time.sleep(pause)

    def _attempt(self, actions: list[BulkAction]) -> tuple[list[BulkAction], str]:
        """Try once; what has to be written again, and why."""
        body = "".join(action.lines() for action in actions).encode()
        try:
            answer = self._cluster.post("_bulk", body)
        except Away as error:
            return actions, f"the cluster does not answer ({error})"
        if answer.status in _OVERLOADED:
            return actions, f"the cluster is too busy ({answer.status}: {answer.reason()})"
        if answer.status != 200:
            raise self._refused(answer)
        content = answer.content()
        if not isinstance(content, dict) or "items" not in content:
            raise SourceUnavailable(
                f"what answers at {self._cluster.access} is no Elasticsearch and no OpenSearch: "
                f"{answer.text[:80].decode(errors='replace')!r}",
            )
        if not content.get("errors"):
            return [], ""
        return self._left_over(actions, content["items"])

    def _left_over(self, actions: list[BulkAction], items: Any) -> tuple[list[BulkAction], str]:
        """Those that were not taken, and all that follow for the same document: whatever was done
        of these, the last word must be the last."""
        again: list[BulkAction] = []
        behind: set[tuple[str, str]] = set()
        reason = ""
        for action, item in zip(actions, items, strict=True):
            [result] = item.values()
            passing = _is_passing(action, result)
            if not passing and "error" in result and not _is_done(action, result):
                self._blame(action, result)
            if passing:
                reason = f"the cluster is too busy ({_reason(result)})"
                if action.id is not None:
                    behind.add((action.index, action.id))
            if passing or (action.index, action.id) in behind:
                again.append(action)
        return again, reason

    def _blame(self, action: BulkAction, result: Any) -> None:
        error = _explained(action, result)
        if not self._ignores:
            raise error
        _LOG.warning("left out: %s", error.message)

    def _refused(self, answer: Answer) -> HeadraceError:
        where = f"the cluster at {self._cluster.access}"
        if answer.status in (401, 403):
            return InvalidArgument(
                f"{where} does not let this user in ({answer.status})",
                hint="Set username and password of a user who may write to the index.",
            )
        if answer.status == 413:
            return InvalidArgument(
                f"{where} does not take requests of this size", hint="Write fewer at a time."
            )
        return InvalidArgument(
            f"{where} refuses bulk requests ({answer.status}: {answer.reason()})",
            hint="Look at the address and the path prefix.",
        )


def _is_passing(action: BulkAction, result: Any) -> bool:
    status = result.get("status")
    return status in _OVERLOADED or (status == _CONFLICT and action.kind == "update")


def _is_done(action: BulkAction, result: Any) -> bool:
    return action.kind == "delete" and result.get("status") == _MISSING


def _reason(result: Any) -> str:
    error = result.get("error") or {}
    parts = [error.get("reason"), (error.get("caused_by") or {}).get("reason")]
    return ": ".join(str(part) for part in parts if part) or str(error.get("type"))


def _explained(action: BulkAction, result: Any) -> HeadraceError:
    kind = (result.get("error") or {}).get("type", "")
    text = f"{action} cannot be written: {_reason(result)}"
    if kind in (
        "mapper_parsing_exception",
        "document_parsing_exception",
        "illegal_argument_exception",
    ):
        shown = (action.document or "")[:_SHOWN]
        return UnfitValue(
            f"{text}: {shown}", hint="The mapping of the index has another type for a field."
        )
    hints = {
        "invalid_index_name_exception": "Names of indices are in lower case, without blanks, "
        'commas and any of \\ / * ? " < > | #.',
        "index_not_found_exception": "Create the index first, or let the cluster create it.",
    }
    return InvalidArgument(text, hint=hints.get(kind))
