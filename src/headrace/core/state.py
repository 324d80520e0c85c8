"""Keyed and broadcast state as users see it: the containers and their descriptors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic

from headrace.core.functions import AggregateFunction, ReduceFunction
from headrace.core.state_ttl import StateTtlConfig
from headrace.core.types import TypeInformation, Types
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin

if TYPE_CHECKING:
    # Who names no type, as in PyFlink, works with Any; Python knows such defaults as of 3.13.
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any)
    K = TypeVar("K", default=Any)
    V = TypeVar("V", default=Any)
    IN = TypeVar("IN", default=Any)
    OUT = TypeVar("OUT", default=Any)
    S = TypeVar("S", bound="State", default=Any)
else:
    from typing import TypeVar

    T, K, V, IN, OUT, S = map(TypeVar, ("T", "K", "V", "IN", "OUT", "S"))


class State(ABC):
    """Something remembered for the current key."""

    @abstractmethod
    def clear(self) -> None:
        """Forget what is remembered for the current key."""


class ValueState(State, Generic[T]):
    """One value per key."""

    @abstractmethod
    def value(self) -> T | None:
        """The value of the current key, or None."""

    @abstractmethod
    def update(self, value: T) -> None:
        """Replace the value of the current key; None forgets it."""


class ValuesByKey(ValueState[T]):
    """Value state as operators see it, which may look at other keys than the current one."""

    @property
    @abstractmethod
    def in_memory(self) -> bool:
        """Whether all values are Python objects: who holds some of them takes up no more room."""

    @property
    @abstractmethod
    def value_of(self) -> Callable[[Any], T | None]:
        """What finds a key's value, for loops over many of them."""

    @abstractmethod
    def put_all(self, values: Mapping[Any, T]) -> None:
        """Replace the values of these keys; none of them is None."""

    @abstractmethod
    def take_out(self, keys: Sequence[Any]) -> list[T | None]:
        """The values of these keys, or None; they are forgotten with that."""


class AppendingState(State, Generic[IN, OUT]):
    """State that things are added to and one thing is read from."""

    @abstractmethod
    def get(self) -> OUT | None: ...

    @abstractmethod
    def add(self, value: IN) -> None: ...


class MergingState(AppendingState[IN, OUT]):
    """Appending state whose contents for two namespaces can be merged, as session windows do."""


class ReducingState(MergingState[T, T]):
    """One value per key, combined with a ReduceFunction."""


class AggregatingState(MergingState[IN, OUT]):
    """One accumulator per key, combined with an AggregateFunction."""


class ListState(MergingState[T, Iterable[T]]):
    """A list of values per key."""

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Replace the list of the current key."""

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Append all of `values`."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get() or ())


class ReadOnlyBroadcastState(State, Generic[K, V]):
    """A map that is the same in every subtask; readable from the keyed side."""

    @abstractmethod
    def get(self, key: K) -> V | None: ...

    @abstractmethod
    def contains(self, key: K) -> bool: ...

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]: ...

    def keys(self) -> Iterable[K]:
        return [key for key, _ in self.items()]

    def values(self) -> Iterable[V]:
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        return not list(self.items())

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class MapState(ReadOnlyBroadcastState[K, V]):
    """A map per key."""

    @abstractmethod
    def put(self, key: K, value: V) -> None: ...

    def put_all(self, dict_value: dict[K, V]) -> None:
        for key, value in dict(dict_value).items():  # PyFlink takes pairs alone
            self.put(key, value)

    @abstractmethod
    def remove(self, key: K) -> None: ...

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class BroadcastState(MapState[K, V]):
    """The writable form of broadcast state, given to the broadcast side."""


class OperatorStateStore(ABC):
    """Gives an operator its non-keyed state."""

    @abstractmethod
    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor[K, V]
    ) -> BroadcastState[K, V]: ...

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """A list whose elements are dealt out evenly when the parallelism changes."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """A list of which every subtask is given all subtasks' elements when it is restored."""

    @abstractmethod
    def get_registered_state_names(self) -> set[str]:
        """The names of the list states there are."""

    @abstractmethod
    def get_registered_broadcast_state_names(self) -> set[str]:
        """The names of the broadcast states there are."""


class StateDescriptor(Generic[S]):
    """Name, type and time to live of a piece of state `S`; the name is unique in its operator."""

    kind = "state"

    def __init__(self, name: str, type_info: TypeInformation | None):
        if not isinstance(name, str) or not name:
            raise InvalidArgument(
                f"a state needs a name, not {name!r}", origin=calling_origin(),
                hint="Give each state of an operator a name of its own.",
            )  # fmt: skip
        if type_info is not None and not isinstance(type_info, TypeInformation):
            raise TypeMismatch(
                f"the type of state {name!r} is {type_info!r}, which is no TypeInformation",
                origin=calling_origin(), hint="Use Types.INT(), Types.STRING(), …",
            )  # fmt: skip
        self.name = name
        self.type_info: TypeInformation = type_info or Types.PICKLED_BYTE_ARRAY()
        self.ttl: StateTtlConfig | None = None

    def get_name(self) -> str:
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let values expire."""
        self.ttl = ttl_config if ttl_config.is_enabled() else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info})"


class ValueStateDescriptor(StateDescriptor[ValueState[T]]):
    kind = "value"

    def __init__(self, name: str, value_type_info: TypeInformation | None = None):
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor[ListState[T]]):
    kind = "list"

    def __init__(self, name: str, elem_type_info: TypeInformation | None = None):
        super().__init__(name, elem_type_info)


class MapStateDescriptor(StateDescriptor[MapState[K, V]]):
    kind = "map"

    def __init__(
        self,
        name: str,
        key_type_info: TypeInformation | None = None,
        value_type_info: TypeInformation | None = None,
    ):
        key_type_info = key_type_info or Types.PICKLED_BYTE_ARRAY()
        value_type_info = value_type_info or Types.PICKLED_BYTE_ARRAY()
        super().__init__(name, Types.MAP(key_type_info, value_type_info))


class ReducingStateDescriptor(StateDescriptor[ReducingState[T]]):
    kind = "reducing"

    def __init__(
        self,
        name: str,
        reduce_function: ReduceFunction | Callable[[T, T], T],
        type_info: TypeInformation | None = None,
    ):
        super().__init__(name, type_info)
        if not isinstance(reduce_function, ReduceFunction) and not callable(reduce_function):
            raise TypeMismatch(
                f"reducing state {name!r} needs a ReduceFunction or a function of two values, "
                f"not {reduce_function!r}", origin=calling_origin(),
            )  # fmt: skip
        self._function = reduce_function

    def get_reduce_function(self) -> Any:
        return self._function

    def reducer(self) -> Callable[[T, T], T]:
        function = self._function
        return function.reduce if isinstance(function, ReduceFunction) else function


class AggregatingStateDescriptor(StateDescriptor[AggregatingState[IN, OUT]]):
    kind = "aggregating"

    def __init__(
        self,
        name: str,
        agg_function: AggregateFunction,
        state_type_info: TypeInformation | None = None,
    ):
        super().__init__(name, state_type_info)
        if not isinstance(agg_function, AggregateFunction):
            raise TypeMismatch(
                f"aggregating state {name!r} needs an AggregateFunction, not {agg_function!r}",
                origin=calling_origin(),
            )
        self._function = agg_function

    def get_agg_function(self) -> AggregateFunction:
        return self._function
