"""What counts as having a name."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import NoReturn

import pytest

from headrace.errors import Unsupported
from headrace.parity import resolve


def _refuse(what: str) -> NoReturn:
    raise Unsupported(what)


def _refusal() -> Unsupported:
    return Unsupported("no")


class Stream:
    """A class of the API, as far as these tests need one."""

    def __init__(self) -> None:
        self.items: list[int] = []

    def there(self) -> int:
        """Do something."""
        return 1

    def refuses(self) -> None:
        """Say why."""
        raise Unsupported("no")

    @classmethod
    def made(cls) -> None:
        raise Unsupported("no")

    @property
    def shown(self) -> int:
        raise Unsupported("no")

    def refuses_by_call(self) -> None:
        _refuse("stream")

    def refuses_by_value(self) -> None:
        raise _refusal()

    def sometimes(self, wanted: bool) -> int:
        if not wanted:
            raise Unsupported("no")
        return 1


class Pair(tuple[int, int]):
    """A class that gets methods from Python itself."""

    __slots__ = ()


class Refused:
    """A class that cannot be made."""

    def __init__(self) -> None:
        raise Unsupported("no")


@pytest.fixture(autouse=True)
def modules(monkeypatch):
    """Two modules of headrace that hold the classes above."""
    for name in ("headrace.common.made_up", "headrace.common.made_up_export"):
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        vars(module)["Stream"] = Stream
    home = vars(sys.modules["headrace.common.made_up"])
    home.update(Pair=Pair, Refused=Refused, function=Stream.there, refusing=Stream.refuses)
    for cls in (Stream, Pair, Refused):
        monkeypatch.setattr(cls, "__module__", "headrace.common.made_up")
    resolve._module.cache_clear()
    yield
    resolve._module.cache_clear()


HOME = "pyflink.common.made_up"
EXPORT = "pyflink.common.made_up_export"


def test_a_class_must_be_at_every_path_that_there_is():
    """The class's own module counts always, an export only where its module exists."""
    assert resolve.has_class(HOME, [EXPORT, "pyflink.table.absent"], "Stream")
    assert not resolve.has_class(HOME, [EXPORT], "Pair")
    assert not resolve.has_class("pyflink.common.absent", [HOME], "Stream")
    assert resolve.paths_that_lack([HOME, EXPORT], "Pair") == [EXPORT]
    assert resolve.paths_that_lack([HOME, EXPORT], "Absent") == []


def test_a_class_that_only_refuses_is_not_there():
    """Being importable is not enough."""
    assert not resolve.has_class(HOME, [], "Refused")


@pytest.mark.parametrize(
    ("method", "there"),
    [
        ("there", True),
        ("sometimes", True),
        ("refuses", False),
        ("refuses_by_call", False),
        ("refuses_by_value", False),
        ("made", False),
        ("shown", False),
        ("absent", False),
    ],
)
def test_methods_that_only_refuse_are_not_there(method, there):
    """A method counts unless all it does is raise Unsupported."""
    assert resolve.has_method(HOME, "Stream", method) is there


def test_methods_of_python_itself_do_not_count():
    """A tuple's `count` is not a method of the API."""
    assert not resolve.has_method(HOME, "Pair", "count")


def test_functions():
    """As for methods."""
    assert resolve.has_function(HOME, "function")
    assert not resolve.has_function(HOME, "refusing")
    assert not resolve.has_function(HOME, "absent")
