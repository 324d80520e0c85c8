"""What headrace really has, found by importing it."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Sequence
from functools import cache
from types import FunctionType, ModuleType

from headrace.errors import Unsupported
from headrace.shim import served_name

_NOT_THERE = object()


def has_class(module: str, exports: Sequence[str], name: str) -> bool:
    """Whether headrace has a usable class in its module and in all it is exported from.

    An export counts only where headrace has the exporting module: Row is there before tables are.
    """
    cls = _reach(module, name)
    exported = [_reach(path, name) for path in exports if _module(path) is not None]
    if not inspect.isclass(cls) or any(other is not cls for other in exported):
        return False
    return not is_refusal(vars(cls).get("__init__"))


def paths_that_lack(paths: Sequence[str], name: str) -> list[str]:
    """The import paths at which a class is missing though another path has it."""
    missing = [path for path in paths if _reach(path, name) is _NOT_THERE]
    if len(missing) == len(paths):
        return []
    return [path for path in missing if path == paths[0] or _module(path) is not None]


def has_method(module: str, class_name: str, method: str) -> bool:
    """Whether headrace's class, or a headrace class it extends, defines the method."""
    cls = _reach(module, class_name)
    if not inspect.isclass(cls):
        return False
    for base in cls.__mro__:
        # A tuple's `count` or a string's `index` is no method of the API.
        if base.__module__.partition(".")[0] == "headrace" and method in _own_names(base):
            return not is_refusal(vars(base).get(method))
    return False


def has_function(module: str, name: str) -> bool:
    """Whether headrace's module has the function."""
    found = _reach(module, name)
    return callable(found) and not is_refusal(found)


def is_refusal(member: object) -> bool:
    """Whether a member does nothing but say that it is not supported."""
    if isinstance(member, property):
        member = member.fget
    if isinstance(member, staticmethod | classmethod):
        member = member.__func__
    member = inspect.unwrap(member) if callable(member) else member
    return inspect.isfunction(member) and _only_refuses(member)


def _only_refuses(function: FunctionType) -> bool:
    """Whether the first thing a function does is to raise Unsupported, itself or by a call."""
    first = _first_statement(function)
    if isinstance(first, ast.Raise):
        said = first.exc
    else:
        said = first.value if isinstance(first, ast.Expr | ast.Return) else None
    if not isinstance(said, ast.Call) or not isinstance(said.func, ast.Name):
        return False
    called = function.__globals__.get(said.func.id)
    if inspect.isclass(called):
        return isinstance(first, ast.Raise) and issubclass(called, Unsupported)
    if not inspect.isfunction(called) or called is function:
        return False
    makes_refusal = called.__annotations__.get("return") in ("Unsupported", Unsupported)
    return makes_refusal or _only_refuses(called)


def _first_statement(function: FunctionType) -> ast.stmt | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    defined = tree.body[0]
    if not isinstance(defined, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    body = defined.body[1:] if ast.get_docstring(defined) is not None else defined.body
    return body[0] if body else None


def _own_names(cls: type) -> set[str]:
    return {*vars(cls), *inspect.get_annotations(cls)}


def _reach(module: str, name: str) -> object:
    found: object = _module(module)
    for part in name.split("."):
        found = getattr(found, part, _NOT_THERE)
    return found


@cache
def _module(path: str) -> ModuleType | None:
    name = served_name(path)
    if name is None:
        return None
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name + ".").startswith(error.name + "."):
            return None
        raise  # a module that is there but cannot be imported is a fault, not a gap
