"""What an operator's slot may use, as far as a program states it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import total_ordering
from typing import NoReturn

from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.origin import calling_origin

__all__ = ["MemorySize", "SlotSharingGroup"]

_UNITS = ("bytes", "kb", "mb", "gb", "tb")


def _no_java(what: str) -> Unsupported:
    return Unsupported(
        f"there is no object of the JVM behind {what}: headrace has no Flink JVM",
        origin=calling_origin(),
    )


@total_ordering
class MemorySize:
    """A number of bytes, readable in larger units (always rounded down).

    >>> str(MemorySize.of_mebi_bytes(64))
    '64 mb'
    """

    def __init__(self, bytes_size: int) -> None:
        if type(bytes_size) is not int or bytes_size < 0:
            raise InvalidArgument(
                f"a memory size is a number of bytes from 0 up, not {bytes_size!r}",
                origin=calling_origin(),
            )
        self._bytes = bytes_size

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        return MemorySize(mebi_bytes * 1024**2)

    def get_bytes(self) -> int:
        return self._bytes

    def get_kibi_bytes(self) -> int:
        return self._bytes // 1024

    def get_mebi_bytes(self) -> int:
        return self._bytes // 1024**2

    def get_gibi_bytes(self) -> int:
        return self._bytes // 1024**3

    def get_tebi_bytes(self) -> int:
        return self._bytes // 1024**4

    def get_java_memory_size(self) -> NoReturn:
        raise _no_java("a MemorySize")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __lt__(self, other: MemorySize) -> bool:
        if not isinstance(other, MemorySize):
            raise TypeMismatch(
                f"a memory size cannot be compared with {other!r} of type {type(other).__name__}",
                origin=calling_origin(),
                hint="Wrap the number: MemorySize(bytes_size=...).",
            )
        return self._bytes < other._bytes

    def __str__(self) -> str:
        """The size in the largest unit that divides it evenly."""
        amount, unit = self._bytes, 0
        while amount and amount % 1024 == 0 and unit < len(_UNITS) - 1:
            amount, unit = amount // 1024, unit + 1
        return f"{amount} {_UNITS[unit]}"

    def __repr__(self) -> str:
        return f"MemorySize({self})"


@dataclass(frozen=True)
class SlotSharingGroup:
    """A named group of operators that share slots, and the resources such a slot has.

    Spark decides what an executor has, so the resources are only carried with the group;
    its name decides which operators are chained.
    """

    name: str
    cpu_cores: float | None = None
    task_heap_memory: MemorySize | None = None
    task_off_heap_memory: MemorySize | None = None
    managed_memory: MemorySize | None = None
    external_resources: Mapping[str, float] = field(default_factory=dict, hash=False)

    def get_name(self) -> str:
        return self.name

    def get_managed_memory(self) -> MemorySize | None:
        return self.managed_memory

    def get_task_heap_memory(self) -> MemorySize | None:
        return self.task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        return self.task_off_heap_memory

    def get_cpu_cores(self) -> float | None:
        return self.cpu_cores

    def get_external_resources(self) -> dict[str, float]:
        return dict(self.external_resources)

    def get_java_slot_sharing_group(self) -> NoReturn:
        raise _no_java("a SlotSharingGroup")

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        return SlotSharingGroup.Builder(name)

    class Builder:
        """Collects a group's resources; `build` checks that they make sense together."""

        def __init__(self, name: str) -> None:
            self._name = name
            self._cpu_cores: float | None = None
            self._memory: dict[str, MemorySize] = {}
            self._external: dict[str, float] = {}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            self._cpu_cores = _positive(cpu_cores, "the CPU cores of a slot sharing group")
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            if task_heap_memory == MemorySize(0):
                raise InvalidArgument(
                    "the task heap memory of a slot sharing group must be above 0",
                    origin=calling_origin(),
                )
            return self._set_memory("task_heap_memory", task_heap_memory)

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(
            self, task_off_heap_memory: MemorySize
        ) -> SlotSharingGroup.Builder:
            return self._set_memory("task_off_heap_memory", task_off_heap_memory)

        def set_task_off_heap_memory_mb(
            self, task_off_heap_memory_mb: int
        ) -> SlotSharingGroup.Builder:
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            return self._set_memory("managed_memory", managed_memory)

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Ask for a resource by name, such as `gpu`; a later value replaces an earlier one."""
            if not _is_number(value) or value < 0:
                raise InvalidArgument(
                    f"the external resource {name!r} must not be below 0, not {value!r}",
                    origin=calling_origin(),
                )
            self._external[name] = float(value)
            return self

        def build(self) -> SlotSharingGroup:
            stated = bool(self._memory or self._external or self._cpu_cores is not None)
            if not stated:
                return SlotSharingGroup(self._name)
            if self._cpu_cores is None or "task_heap_memory" not in self._memory:
                raise InvalidArgument(
                    f"slot sharing group {self._name!r} states some resources, but not both its "
                    "CPU cores and its task heap memory",
                    origin=calling_origin(),
                    hint="Call set_cpu_cores() and set_task_heap_memory(), or set no resource.",
                )
            memory = {"task_off_heap_memory": MemorySize(0), "managed_memory": MemorySize(0)}
            return SlotSharingGroup(
                self._name,
                self._cpu_cores,
                external_resources=dict(self._external),
                **(memory | self._memory),
            )

        def _set_memory(self, kind: str, size: MemorySize) -> SlotSharingGroup.Builder:
            if not isinstance(size, MemorySize):
                raise TypeMismatch(
                    f"{kind.replace('_', ' ')} takes a MemorySize, not {size!r}",
                    origin=calling_origin(),
                    hint=f"Use MemorySize(bytes_size=...) or set_{kind}_mb().",
                )
            self._memory[kind] = size
            return self


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _positive(value: float, what: str) -> float:
    if not _is_number(value) or not value > 0:
        raise InvalidArgument(f"{what} must be above 0, not {value!r}", origin=calling_origin())
    return float(value)
