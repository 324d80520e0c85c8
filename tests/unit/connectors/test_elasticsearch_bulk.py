"""What becomes of each action of a bulk request, whatever the cluster answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.connectors.elasticsearch.backoff import Backoff, FlushBackoffType
from headrace.connectors.elasticsearch.bulk import BulkAction, BulkWriter, OnFailure
from headrace.connectors.elasticsearch.cluster import Access, Answer, Away, parse_host
from headrace.connectors.elasticsearch.emitters import ElasticsearchEmitter
from headrace.errors import HeadraceError, UnfitValue

GONE = BulkAction("delete", "i", "z")
NEW = BulkAction("index", "i", None, "{}")


class Script:
    """Answers what it is told to, and notes what it was asked."""

    access = Access((parse_host("here"),), "ann", "s3cret")

    def __init__(self, *answers: Any):
        self._answers = list(answers)
        self.asked: list[list[str]] = []

    def post(self, path: str, body: bytes) -> Answer:
        self.asked.append(body.decode().splitlines())
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, int):
            return Answer(answer, b'{"error": {"reason": "because"}}')
        items = [{"index": each} for each in answer]
        return Answer(200, json.dumps({"errors": True, "items": items}).encode())


def done(status: int = 200, kind: str = "") -> dict[str, Any]:
    error = {"error": {"type": kind, "reason": "because"}} if status >= 300 else {}
    return {"status": status, **error}


def write(script: Script, *actions: BulkAction, on_failure: OnFailure = OnFailure.FAIL) -> None:
    backoff = Backoff(FlushBackoffType.CONSTANT, 3, 0)
    BulkWriter(script, backoff, on_failure).write(list(actions))  # type: ignore[arg-type]


def ids(lines: list[str]) -> list[str]:
    return [json.loads(line)["index"].get("_id") for line in lines if '"_index"' in line]


def test_the_last_word_on_a_document_stays_the_last() -> None:
    first = BulkAction("index", "i", "a", '{"n":1}')
    last = BulkAction("index", "i", "a", '{"n":2}')
    other = BulkAction("index", "i", "b", "{}")
    script = Script([done(429), done(), done()], [done(), done()])
    write(script, first, other, last)
    assert ids(script.asked[1]) == ["a", "a"]
    assert script.asked[1][3] == '{"n":2}'


def test_documents_without_an_id_are_written_again_by_themselves() -> None:
    script = Script([done(), done(503)], [done()])
    write(script, NEW, NEW)
    assert [len(lines) for lines in script.asked] == [4, 2]


def test_a_cluster_that_is_away_or_busy_is_asked_again() -> None:
    script = Script(Away("gone"), 503, 429, [done()])
    write(script, NEW)
    assert len(script.asked) == 4
    with pytest.raises(HeadraceError, match="1 documents could not be written"):
        write(Script(*[Away("gone")] * 4), NEW)


def test_who_is_gone_already_need_not_be_deleted() -> None:
    script = Script([done(404, "not_found"), done()])
    write(script, GONE, NEW)
    assert len(script.asked) == 1


def test_a_refused_document_fails_or_is_left_out() -> None:
    answer = [done(400, "mapper_parsing_exception"), done()]
    with pytest.raises(HeadraceError, match="a document of index 'i' cannot be written: because"):
        write(Script(answer), NEW, NEW)
    write(Script(answer), NEW, NEW, on_failure=OnFailure.IGNORE)


@pytest.mark.parametrize(
    ("status", "said"),
    [(401, "does not let this user in"), (413, "of this size"), (405, "the path prefix")],
)
def test_a_refused_request_says_why_and_no_password(status: int, said: str) -> None:
    with pytest.raises(HeadraceError, match=said) as caught:
        write(Script(status), NEW)
    assert "s3cret" not in str(caught.value) + repr(Script.access)


def test_pauses() -> None:
    doubling = Backoff(FlushBackoffType.EXPONENTIAL, 3, 100).pauses()
    assert list(doubling) == [0.1, 0.2, 0.4]
    assert list(Backoff(FlushBackoffType.NONE).pauses()) == []
    assert 50 < sum(Backoff().pauses()) <= 60


@pytest.mark.parametrize("text", ["", "ftp://a", "http://a:b", "http://a/path", None])
def test_what_is_no_address(text: object) -> None:
    with pytest.raises(HeadraceError, match="is no address of a host"):
        parse_host(text)


def test_what_json_does_not_have_is_named() -> None:
    emitter = ElasticsearchEmitter.static_index("rivers", "id")
    with pytest.raises(UnfitValue, match="NaN") as failure:
        list(emitter.emit({"id": "1", "depth": float("nan")}))
    assert "leave such fields out" in str(failure.value)
