"""Slot sharing groups and the sizes they are made of."""

import pickle

import pytest

from headrace.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
from headrace.errors import InvalidArgument, TypeMismatch


def test_memory_sizes_are_read_in_whole_units() -> None:
    size = MemorySize(bytes_size=3 * 1024**4 + 1)
    assert size.get_bytes() == 3 * 1024**4 + 1
    assert size.get_kibi_bytes() == 3 * 1024**3
    assert size.get_mebi_bytes() == 3 * 1024**2
    assert size.get_gibi_bytes() == 3 * 1024
    assert size.get_tebi_bytes() == 3


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1000, "1000 bytes"),
        (1024, "1 kb"),
        (1536 * 1024, "1536 kb"),
        (1024**3, "1 gb"),
        (2 * 1024**4, "2 tb"),
        (1024**5, "1024 tb"),
    ],
)
def test_a_memory_size_is_shown_in_the_largest_unit_that_fits(size: int, text: str) -> None:
    assert str(MemorySize(size)) == text


def test_memory_sizes_compare_by_their_bytes() -> None:
    assert MemorySize.of_mebi_bytes(1) == MemorySize(bytes_size=1024**2)
    assert len({MemorySize.of_mebi_bytes(1), MemorySize(1024**2)}) == 1
    assert MemorySize(1) < MemorySize(2) <= MemorySize(2)
    assert MemorySize(3) > MemorySize(2)
    with pytest.raises(TypeMismatch, match="cannot be compared with 5"):
        _ = MemorySize(1) < 5  # type: ignore[operator]


@pytest.mark.parametrize("size", [-1, 1.5, None, True])
def test_a_memory_size_is_a_number_of_bytes(size: object) -> None:
    with pytest.raises(InvalidArgument, match="from 0 up"):
        MemorySize(size)  # type: ignore[arg-type]


def test_a_group_carries_its_resources() -> None:
    group = (
        SlotSharingGroup.builder("heavy")
        .set_cpu_cores(2)
        .set_task_heap_memory_mb(100)
        .set_task_off_heap_memory(MemorySize.of_mebi_bytes(200))
        .set_managed_memory_mb(300)
        .set_external_resource("gpu", 1)
        .set_external_resource("gpu", 2)
        .build()
    )
    assert group.get_name() == "heavy"
    assert group.get_cpu_cores() == 2.0
    assert group.get_task_heap_memory() == MemorySize.of_mebi_bytes(100)
    assert group.get_task_off_heap_memory() == MemorySize.of_mebi_bytes(200)
    assert group.get_managed_memory() == MemorySize.of_mebi_bytes(300)
    assert group.get_external_resources() == {"gpu": 2.0}
    assert pickle.loads(pickle.dumps(group)) == group
    assert len({group, pickle.loads(pickle.dumps(group))}) == 1


def test_a_group_may_state_no_resource() -> None:
    group = SlotSharingGroup.builder("light").build()
    assert group.get_cpu_cores() is None
    assert group.get_task_heap_memory() is None
    assert group.get_managed_memory() is None
    assert group.get_external_resources() == {}


def test_what_is_not_stated_beside_cores_and_heap_is_zero() -> None:
    group = SlotSharingGroup.builder("a").set_cpu_cores(1.0).set_task_heap_memory_mb(1).build()
    assert group.get_managed_memory() == MemorySize(0)
    assert group.get_task_off_heap_memory() == MemorySize(0)


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("set_cpu_cores", 1.0),
        ("set_task_heap_memory_mb", 1),
        ("set_managed_memory_mb", 1),
    ],
)
def test_resources_need_cores_and_heap_together(method: str, value: float) -> None:
    builder = SlotSharingGroup.builder("half")
    getattr(builder, method)(value)
    with pytest.raises(InvalidArgument, match=r"'half'.*CPU cores and its task heap"):
        builder.build()


def test_impossible_resources_are_refused_where_they_are_set() -> None:
    builder = SlotSharingGroup.builder("a")
    with pytest.raises(InvalidArgument, match="CPU cores"):
        builder.set_cpu_cores(0)
    with pytest.raises(InvalidArgument, match="heap memory"):
        builder.set_task_heap_memory_mb(0)
    with pytest.raises(InvalidArgument, match="'gpu'"):
        builder.set_external_resource("gpu", -1)
    with pytest.raises(TypeMismatch, match="takes a MemorySize"):
        builder.set_managed_memory(5)  # type: ignore[arg-type]
