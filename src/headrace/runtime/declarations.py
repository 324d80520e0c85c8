"""Which states a program asks for, found by opening its functions in this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.errors import HeadraceError
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.carried_time import ENGINE_UID
from headrace.runtime.declared_state import Declared
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.pickled_plan import pickle_plan, unpickle_plan
from headrace.runtime.vertex_task import VertexTask


@dataclass
class Declarations:
    """The states of operators that can keep any."""

    states: dict[str, dict[str, Declared]] = field(default_factory=dict)
    """By uid and stored name."""
    failures: dict[str, str] = field(default_factory=dict)
    """Why a function could not be opened, by uid."""


def declarations(plan: PhysicalPlan, files: Mapping[str, str] | None = None) -> Declarations:
    """Open the functions of a plan, look at what they ask for, and close them."""
    found = Declarations()
    pickled = pickle_plan(plan)
    for level in range(1, plan.last_level + 1):
        task = FlowingLevel(
            unpickle_plan(pickled), level, 0, lambda: 0, tell=None, files=files, checkpoints=False
        )
        for each in task.tasks.values():
            found.states[each.vertex.uid] = {}
            why = _opened(each)
            if why is not None:
                found.failures[each.vertex.uid] = why
        for (uid, name), declared in task.state.described().items():
            if uid != ENGINE_UID:
                found.states[uid][name] = declared
        task.abandon()
    return found


def _opened(task: VertexTask) -> str | None:
    try:
        task.open()
        task.initialize(False, None)
    except HeadraceError as error:
        return error.message.splitlines()[0]
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return None
