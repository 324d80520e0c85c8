"""Guess what an expression is, looking up every PyFlink name it uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from headrace.cli.inspection.guesses import (
    FOREIGN,
    Api,
    Foreign,
    Function,
    Module,
    Names,
    Own,
    Value,
    api_bases,
)
from headrace.cli.inspection.known_types import KnownTypes
from headrace.cli.inspection.report import Report
from headrace.parity import ApiClass, Status

_EVERYDAY_NAMES = frozenset(
    name for kind in (str, bytes, list, dict, set, int, float, object) for name in dir(kind)
)


class Expressions:
    """Evaluates the expressions of one file, each of them once, in the scopes of the moment."""

    def __init__(self, report: Report, file: str) -> None:
        self.scopes: list[Names] = []
        self.packages: set[str] = set()
        self.types = KnownTypes(report.table)
        self._table = report.table
        self._report = report
        self._file = file

    def check(self, node: ast.AST, name: str, status: Status) -> None:
        """Look at one use of a PyFlink name."""
        self._report.check(self._file, node, name, status)

    def value(self, node: ast.AST) -> Value:
        """What the expression is, checking every PyFlink name it uses."""
        match node:
            case ast.Name():
                return self.look_up(node.id)
            case ast.Attribute():
                return self._attribute(node, called=False)
            case ast.Call():
                return self._call(node)
            case ast.Await():
                return self.value(node.value)
            case ast.Subscript():
                self.value(node.slice)
                generic = self.value(node.value)
                return generic if isinstance(generic, Api) and not generic.is_object else None
            case ast.NamedExpr():
                self.scopes[-1][node.target.id] = found = self.value(node.value)
                return found
            case ast.Lambda():
                self.scopes.append({a.arg: None for a in parameters_of(node.args)})
                self.value(node.body)
                self.scopes.pop()
                return FOREIGN
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                self._comprehension(node)
                return FOREIGN
            case ast.Constant() | ast.JoinedStr() | ast.Dict() | ast.List() | ast.Set():
                self._children(node)
                return FOREIGN
            case _:
                self._children(node)
                return None

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> None:
        self.scopes.append({})
        for part in node.generators:
            self.value(part.iter)
            for target in ast.walk(part.target):
                if isinstance(target, ast.Name):
                    self.scopes[-1][target.id] = None
            for condition in part.ifs:
                self.value(condition)
        for result in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.value(result)
        self.scopes.pop()

    def annotated(self, annotation: ast.expr | None) -> Value:
        """The object that an annotation promises; strings are annotations too."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value, mode="eval").body
            except SyntaxError:
                return None
        if isinstance(annotation, ast.BinOp):  # X | None
            return self.annotated(annotation.left) or self.annotated(annotation.right)
        if not isinstance(annotation, ast.Name | ast.Attribute | ast.Subscript):
            return None
        found = self.value(annotation)
        return Api(found.known, is_object=True) if isinstance(found, Api) else None

    def _children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            self.value(child)

    def look_up(self, name: str) -> Value:
        """What a name means here."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def _call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute):
            called = self._attribute(node.func, called=True)
        else:
            called = self.value(node.func)
        given: dict[int | str, Value] = {n: self.value(a) for n, a in enumerate(node.args)}
        given.update({keyword.arg or "": self.value(keyword.value) for keyword in node.keywords})
        match called:
            case Api(known, is_object=False):
                self.check(node, known.full_name, known.status)
                return Api(known, is_object=True)
            case Function(owner=ApiClass() as owner, method=method):
                kinds = [g.known if isinstance(g, Api) else None for g in given.values()]
                result = self.types.returned(owner, method, kinds)
                return Api(result, is_object=True) if result else None
            case Function():
                called.note_call(given)
                return called.result
            case Own() | Foreign():
                return called
            case _:
                return None

    def _attribute(self, node: ast.Attribute, *, called: bool) -> Value:
        receiver = self.value(node.value)
        match receiver:
            case Module(path):
                return self._attribute_of_module(node, path)
            case Api(known):
                return self._attribute_of_class(node, known, called=called)
            case Own():
                return self._attribute_of_own(node, receiver, called=called)
            case Foreign():
                return FOREIGN
            case None if called:
                self._check_by_name_alone(node)
        return None

    def _attribute_of_module(self, node: ast.Attribute, path: str) -> Value:
        found = self.member_of_module(path, node.attr)
        status = self._table.status_of(path, node.attr)
        if status is not None:
            self.check(node, f"{path}.{node.attr}", status)
        return found

    def _attribute_of_class(self, node: ast.Attribute, known: ApiClass, *, called: bool) -> Value:
        nested = self._table.class_at(known.module, f"{known.name}.{node.attr}")
        if nested is not None:
            return Api(nested, is_object=False)
        for owner in self.types.lineage(known):
            if node.attr in owner.methods:
                self.check(node, f"{known.name}.{node.attr}", owner.methods[node.attr])
                break
        if (
            known.name == "Expression" and not called
        ):  # its functions without arguments are properties
            return Api(known, is_object=True)
        return Function(owner=known, method=node.attr)

    def _attribute_of_own(self, node: ast.Attribute, own: Own, *, called: bool) -> Value:
        if node.attr in own.attributes:
            return own.attributes[node.attr]
        for base in api_bases(own):
            if any(node.attr in owner.methods for owner in self.types.lineage(base)):
                return self._attribute_of_class(node, base, called=called)
        return FOREIGN

    def member_of_module(self, module: str, name: str) -> Value:
        """What `module.name` is."""
        full_name = f"{module}.{name}"
        if self._table.is_module(full_name):
            return Module(full_name)
        known = self._table.class_at(module, name)
        if known is not None:
            return Api(known, is_object=False)
        if module == "pyflink.table.expressions":
            expression = self.types.named("Expression")
            return Function(Api(expression, is_object=True) if expression else None)
        return Module(full_name) if self._table.module_status(full_name) else None

    def _check_by_name_alone(self, node: ast.Attribute) -> None:
        """A method of an unknown object counts when only one kind of PyFlink class has it."""
        if node.attr in _EVERYDAY_NAMES:
            return
        owners = [
            known
            for known in self._table.classes
            if node.attr in known.methods and self._is_imported(known)
        ]
        if len({known.module for known in owners}) != 1:
            return
        statuses = [known.methods[node.attr] for known in owners]
        if not any(status.is_done for status in statuses):
            self.check(node, f"{owners[0].name}.{node.attr}", statuses[0])

    def _is_imported(self, known: ApiClass) -> bool:
        return any(known.module.startswith(f"{package}.") for package in self.packages)


def parameters_of(arguments: ast.arguments) -> Iterator[ast.arg]:
    """Every parameter, positional ones first."""
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (a for a in (arguments.vararg, arguments.kwarg) if a is not None)
