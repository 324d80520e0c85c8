"""Compiled plans: INSERT statements with all they need, kept as text and run later.

The text is JSON. What people read in it is how the statements were understood; what is run is
pickled, functions of the user included. So it is for the same version of headrace, and signed:
unpickling what somebody else wrote would run their code. State has the same uids as that of the
statements.
"""

from __future__ import annotations

import base64
import hmac
import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import cloudpickle

from headrace import __version__
from headrace.errors import InvalidArgument, InvalidQuery, Unsupported
from headrace.graph.relations import Insert, Scan
from headrace.origin import calling_origin
from headrace.plan.relational.explain import tree
from headrace.plan.relational.traversal import walk
from headrace.shim import FLINK_VERSION
from headrace.table.explain_detail import ExplainDetail
from headrace.table.plan_key import KEY_VARIABLE, sign
from headrace.table.plan_reference import FilePlanReference, PlanReference
from headrace.table.results import TableResult
from headrace.table.settings import FORCE_RECOMPILE

if TYPE_CHECKING:
    from headrace.table.environment import TableEnvironment

__all__ = ["CompiledPlan"]


class CompiledPlan:
    """Statements that can be kept, and run in another session."""

    def __init__(self, text: str, t_env: TableEnvironment) -> None:
        self._text = text
        self._inserts = read_inserts(text)
        self._t_env = t_env

    def __str__(self) -> str:
        return self.explain()

    def as_json_string(self) -> str:
        return self._text

    def as_smile_bytes(self) -> bytes:
        """The same text as bytes, for PlanReference.from_smile_bytes()."""
        return self._text.encode()

    def write_to_file(self, file: str | Path, ignore_if_exists: bool = False) -> None:
        """Keep it; a file that is there stays if `ignore_if_exists`."""
        settings = self._t_env._session.settings
        write_plan(self._text, Path(file), ignore_if_exists, settings.recompiles)

    def get_flink_version(self) -> str:
        found: str = json.loads(self._text)["flinkVersion"]
        return found

    def print_json_string(self) -> None:
        print(self._text)

    def execute(self) -> TableResult:
        return self._t_env._runner.inserts(self._inserts)

    def explain(self, *extra_details: ExplainDetail) -> str:
        return self._t_env._explained(self._inserts, extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        print(self.explain(*extra_details))


def compile_inserts(inserts: Sequence[Insert]) -> str:
    """The text of a plan."""
    if not inserts:
        raise InvalidQuery("there is nothing to compile: no INSERT was given")
    for part in (part for insert in inserts for part in walk(insert)):
        if isinstance(part, Scan) and part.stream is not None:
            raise Unsupported(
                f"{'.'.join(part.path)} is a DataStream, of which a plan cannot be kept",
                origin=calling_origin(),
                hint="Read it from a table, or keep the program.",
            )
    try:
        content = cloudpickle.dumps(tuple(inserts))
    except Exception as error:
        raise InvalidArgument(
            f"the statements hold something that cannot be kept: {error}", origin=calling_origin()
        ) from error
    plan = {
        "flinkVersion": FLINK_VERSION,
        "headraceVersion": __version__,
        "statements": [tree(insert).splitlines() for insert in inserts],
        "content": base64.b64encode(content).decode(),
        "signature": sign(content),
    }
    return json.dumps(plan, indent=2, ensure_ascii=False) + "\n"


def read_inserts(text: str) -> tuple[Insert, ...]:
    """The statements of a plan."""
    try:
        plan = json.loads(text)
        version, signature = plan["headraceVersion"], str(plan["signature"])
        content = base64.b64decode(plan["content"])
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidArgument(
            "this is no plan that headrace has compiled",
            origin=calling_origin(),
            hint="Plans of Flink's own planner cannot be read: compile the statement here.",
        ) from error
    if version != __version__:
        raise InvalidArgument(
            f"the plan was compiled by headrace {version}, this is {__version__}",
            origin=calling_origin(),
            hint="Compile the statement again; its state is found by the same uids.",
        )
    if not hmac.compare_digest(signature.encode(), sign(content).encode()):
        raise InvalidArgument(
            "the plan was compiled with another key, or changed since: it is not run",
            origin=calling_origin(),
            hint="Compile the statement again here, or set "
            f"{KEY_VARIABLE} to one secret where plans are compiled and where they are run.",
        )
    found: tuple[Insert, ...] = pickle.loads(content)
    return found


def read_plan(reference: PlanReference) -> str:
    """The text that a reference points at."""
    if not isinstance(reference, FilePlanReference):
        return reference.text
    try:
        return reference.get_file().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(
            f"cannot read the plan {reference.get_file()}: {error}", origin=calling_origin()
        ) from error


def write_plan(text: str, file: Path, ignore_if_exists: bool, recompiles: bool) -> None:
    """Write a plan, unless there is one."""
    if file.exists() and not recompiles:
        if ignore_if_exists:
            return
        raise InvalidArgument(
            f"there is a plan {file} already",
            origin=calling_origin(),
            hint=f"Remove it, write IF NOT EXISTS, or set {FORCE_RECOMPILE} to true.",
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
