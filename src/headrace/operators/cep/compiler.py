"""From a pattern to its automaton, from the last part to the first.

Each part is turned into states that lead to the state made of what follows it, its sink. Besides
the state that takes a part's event there may be a second one without an edge to proceed: a match
that has passed over an event must not proceed from there twice.
"""

from __future__ import annotations

from headrace.core.patterns import (
    Absence,
    Condition,
    EventPattern,
    Group,
    Part,
    Stage,
    stages_of,
)
from headrace.operators.cep.automaton import Action, Automaton, Edge, Kind, State
from headrace.operators.cep.boolean import both, inverse, never
from headrace.operators.cep.checks import check_pattern
from headrace.operators.cep.spots import Frame, Spot, extended

END = "$match$"
_GROUP = "$group$"


def compiled(pattern: EventPattern) -> Automaton:
    """The automaton of a pattern; a pattern that has no meaning is refused."""
    check_pattern(pattern)
    return _Compiler(pattern).compile()


class _Compiler:
    def __init__(self, pattern: EventPattern):
        self._pattern = pattern
        self._states: list[State] = []
        self._names: set[str] = set()
        self._stops: dict[str, State] = {}
        self._before_greed: dict[State, State] = {}
        """States as they were before a greedy part forbade them its events, by those after."""

    def compile(self) -> Automaton:
        pattern = self._pattern
        end = self._state(END, Kind.FINAL)
        start = self._sequence(pattern.parts, end, Frame())
        start.kind = Kind.START
        names = tuple(dict.fromkeys(stage.name for stage in stages_of(pattern.parts)))
        return Automaton(start, tuple(self._states), names, pattern.within_ms, pattern.after_match)

    def _sequence(self, parts: tuple[Part, ...], sink: State, frame: Frame) -> State:
        following = frame.following
        for index in range(len(parts) - 1, -1, -1):
            spot = Spot(parts[index], parts[:index], following, frame)
            part = spot.part
            if isinstance(part, Stage) and part.absence is not None:
                sink = self._absent(spot, part, sink)
            else:
                sink = self._present(spot, sink)
            following = part
        return sink

    # Stages that must not occur.

    def _absent(self, spot: Spot, stage: Stage, sink: State) -> State:
        forbidden = spot.taking()
        if stage.absence is Absence.BEFORE_NEXT_STAGE:
            limited = stage.gap_ms is not None or self._pattern.within_ms is not None
            if not limited or sink.kind is not Kind.FINAL:
                return sink  # what is forbidden stops the states of the parts around it
            pending = self._state_of(stage, Kind.PENDING)
            pending.proceed(self._stop(stage.name, forbidden), forbidden)
            pending.ignore(pending, inverse(forbidden))
            return pending
        waiting = self._state_of(stage)
        if sink.kind is Kind.FINAL:
            waiting.ignore(sink, inverse(forbidden))
        else:
            waiting.proceed(sink, inverse(forbidden))
        waiting.proceed(self._stop(stage.name, forbidden), forbidden)
        return waiting

    def _stop(self, name: str, forbidden: Condition) -> State:
        stop = self._stops.get(name)
        if stop is None:
            stop = self._stops[name] = self._state(name, Kind.STOP)
            stop.take(stop, forbidden)
        return stop

    def _forbidden_before(self, spot: Spot) -> list[tuple[str, Condition]]:
        """What must not occur until this part has: it may lie before optional parts."""
        found = []
        for part in reversed(spot.before):
            absent = isinstance(part, Stage) and part.absence is Absence.BEFORE_NEXT_STAGE
            if not absent and not part.optional:
                break
            if absent and isinstance(part, Stage):
                found.append((part.name, extended(part.condition, spot.frame.until)))
        return found

    def _add_stops_before(self, spot: Spot, state: State) -> None:
        for name, forbidden in self._forbidden_before(spot):
            state.proceed(self._stop(name, forbidden), forbidden)

    def _add_stop_after(self, spot: Spot, state: State) -> None:
        """A part that goes on being repeated must see what is forbidden after it, too."""
        after = spot.following
        if isinstance(after, Stage) and after.absence is Absence.BEFORE_NEXT_STAGE:
            forbidden = extended(after.condition, spot.frame.until)
            state.proceed(self._stop(after.name, forbidden), forbidden)

    # Parts that occur.

    def _present(self, spot: Spot, sink: State) -> State:
        repetition = spot.repetition
        if spot.part.repetition is None:
            first = self._once(spot, sink, sink, spot.ignoring(), spot.part.optional)
        elif repetition.at_most is None:
            loop = self._loop(spot, self._without_nots(spot, sink))
            first = self._times(spot, loop, sink, repetition.at_least, repetition.at_least)
        else:
            first = self._times(spot, sink, sink, repetition.at_least, repetition.at_most)
        self._add_stops_before(spot, first)
        return first

    def _times(
        self, spot: Spot, sink: State, proceeds_to: State, at_least: int, at_most: int
    ) -> State:
        taking = extended(spot.taking(), spot.part.until)
        if spot.repetition.greedy and at_least != at_most:
            self._leave_to_greedy(sink, taking, spot.part.until is not None)
        inside = spot.ignoring_inside()
        last = sink
        for optional in (*[True] * (at_most - at_least), *[False] * (at_least - 1)):
            last = self._once(spot, last, proceeds_to, inside, optional, again=True)
            self._add_stop_after(spot, last)
        return self._once(spot, last, proceeds_to, spot.ignoring(), spot.part.optional)

    def _once(
        self, spot: Spot, sink: State, proceeds_to: State, ignoring: Condition, optional: bool,
        *, again: bool = False,
    ) -> State:  # fmt: skip
        """The states of one occurrence; `again`: it is not the first one."""
        part = spot.part
        if isinstance(part, Group):
            return self._group(spot, part, sink, proceeds_to, optional, again)
        state = self._state_of(part)
        after = self._without_nots(spot, sink)
        taking = extended(spot.taking(), part.until)
        state.take(after, taking)
        if optional:
            self._proceed_past(spot, part, state, proceeds_to)
        if ignoring == never():
            return state
        waiting = state
        if optional or spot.heads_optional_group:
            waiting = self._state(part.name)
            waiting.take(after, taking)
            waiting.ignore(waiting, ignoring)
            self._add_stops_before(spot, waiting)
        state.ignore(waiting, ignoring)
        return state

    def _proceed_past(self, spot: Spot, part: Stage, state: State, target: State) -> None:
        proceeding = spot.frame.proceeding()
        if not spot.repetition.greedy or part.until is None:
            state.proceed(target, proceeding)
            return
        state.proceed(self._before_greed.get(target, target), both(proceeding, part.until))
        state.proceed(target, both(proceeding, inverse(part.until)))

    def _loop(self, spot: Spot, sink: State) -> State:
        part = spot.part
        if isinstance(part, Group):
            return self._group_loop(spot, part, sink)
        taking = extended(spot.taking(), part.until)
        proceeding = spot.frame.proceeding()
        loop = self._state_of(part)
        if spot.repetition.greedy:
            if part.until is not None:
                self._before_greed[sink] = before = self._copy(sink)
                loop.proceed(before, both(proceeding, part.until))
                proceeding = both(proceeding, inverse(part.until))
            loop.proceed(sink, proceeding)
            self._leave_to_greedy(sink, spot.taking(), keep=False)
        else:
            loop.proceed(sink, proceeding)
        loop.take(loop, taking)
        self._add_stop_after(spot, loop)
        inside = spot.ignoring_inside()
        if inside != never():
            waiting = self._state(part.name)
            waiting.take(loop, taking)
            waiting.ignore(waiting, inside)
            loop.ignore(waiting, inside)
            self._add_stop_after(spot, waiting)
        return loop

    def _leave_to_greedy(self, sink: State, taking: Condition, keep: bool) -> None:
        """What a greedy part can take, nothing after it may have."""
        if keep:
            self._before_greed[sink] = self._copy(sink)
        for edge in sink.edges:
            edge.condition = both(edge.condition, inverse(taking))

    def _group(
        self, spot: Spot, group: Group, sink: State, proceeds_to: State, optional: bool,
        again: bool,
    ) -> State:  # fmt: skip
        first = self._sequence(group.parts, sink, Frame(group, not again, spot.following))
        if optional:
            first.proceed(proceeds_to, spot.frame.proceeding())
        return first

    def _group_loop(self, spot: Spot, group: Group, sink: State) -> State:
        around = self._state(_GROUP)
        first = self._sequence(group.parts, around, Frame(group, False, spot.following))
        first.proceed(sink, spot.frame.proceeding())
        around.proceed(first, spot.frame.proceeding())
        return first

    # States.

    def _without_nots(self, spot: Spot, sink: State) -> State:
        """Once an optional part has occurred, what was forbidden before it is allowed again."""
        forbidden = {name for name, _ in self._forbidden_before(spot)}
        if not forbidden or not spot.part.optional:
            return sink
        return self._copy_without(sink, forbidden, {})

    def _copy_without(self, sink: State, forbidden: set[str], copies: dict[State, State]) -> State:
        if sink in copies:
            return copies[sink]
        copy = copies[sink] = self._state(sink.stage, sink.kind)
        for edge in sink.edges:
            target = edge.target
            if edge.action is not Action.PROCEED:
                target = copy if target is sink else target
            elif target.kind is not Kind.STOP:
                target = self._copy_without(target, forbidden, copies)
            elif target.stage in forbidden:
                continue
            copy.edges.append(Edge(edge.action, copy, target, edge.condition))
        return copy

    def _copy(self, state: State) -> State:
        copy = self._state(state.stage, state.kind)
        for edge in state.edges:
            target = copy if edge.target is state else edge.target
            copy.edges.append(Edge(edge.action, copy, target, edge.condition))
        return copy

    def _state_of(self, stage: Stage, kind: Kind = Kind.NORMAL) -> State:
        """A state of a stage, with the limit to how long it may wait for an event."""
        state = self._state(stage.name, kind)
        if stage.repetition is None:
            state.gap_ms = stage.gap_ms
        elif state.name != stage.name:
            state.gap_ms = stage.repetition.gap_ms
        return state

    def _state(self, stage: str, kind: Kind = Kind.NORMAL) -> State:
        name, number = stage, 0
        while name in self._names:
            name = f"{stage}:{number}"
            number += 1
        self._names.add(name)
        state = State(name, stage, kind)
        self._states.append(state)
        return state
