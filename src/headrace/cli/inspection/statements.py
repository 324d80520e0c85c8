"""Walk a program's statements, its own modules included, without running it."""

from __future__ import annotations

import ast
import tokenize
from dataclasses import dataclass, field
from pathlib import Path

from headrace.cli.inspection.expressions import Expressions, parameters_of
from headrace.cli.inspection.guesses import (
    FOREIGN,
    Api,
    Function,
    Module,
    Names,
    Own,
    Value,
    api_bases,
)
from headrace.cli.inspection.report import Report
from headrace.parity import Status

_UNLISTED = Status("notyet", "", "headrace has no such module")
_RETURNED = "return"  # a keyword, so no parameter is called so
_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Inspection:
    """The inspection of a script and of the modules that lie beside it."""

    report: Report
    root: Path
    _modules: dict[Path, Names] = field(default_factory=dict)

    def inspect(self, path: Path, source: str) -> Names:
        """Inspect one file; the names it defines serve the files that import it."""
        names: Names = {}
        self._modules[path.resolve()] = names
        FileInspector(self, path).run(ast.parse(source, str(path)), names)
        return names

    def local_module(self, folder: Path, dotted: str) -> Names | None:
        """The names of one of the program's own modules; None when there is none."""
        base = folder.joinpath(*dotted.split("."))
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file():
                known = self._modules.get(path.resolve())
                return self._read(path) if known is None else known
        return None

    def _read(self, path: Path) -> Names:
        with tokenize.open(path) as file:
            return self.inspect(path, file.read())


class FileInspector:
    """Walks one file."""

    def __init__(self, inspection: Inspection, path: Path) -> None:
        self._all = inspection
        self._path = path
        self._table = inspection.report.table
        self._values = Expressions(inspection.report, str(path))
        self._later: list[tuple[_FunctionNode, list[Names], Own | None]] = []
        self._hints: dict[_FunctionNode, Names] = {}
        self._within: _FunctionNode | None = None

    def run(self, tree: ast.Module, names: Names) -> None:
        """Walk the file twice: what calls pass and functions return is known the second time."""
        for report in (Report(self._table), self._all.report):
            self._values = Expressions(report, str(self._path))
            self._walk(tree, names)

    def _walk(self, tree: ast.Module, names: Names) -> None:
        """Walk the module first and function bodies after it, when the globals are known."""
        self._within = None
        self._values.scopes = [names]
        self._statements(tree.body)
        while self._later:
            self._within, scopes, owner = self._later.pop(0)
            self._values.scopes = [*scopes, self._parameters(self._within, owner)]
            self._statements(self._within.body)

    def _statements(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.AST) -> None:
        match node:
            case ast.Import():
                self._import(node)
            case ast.ImportFrom():
                self._import_from(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node, None)
            case ast.ClassDef():
                self._class(node)
            case ast.Assign():
                value = self._values.value(node.value)
                for target in node.targets:
                    self._bind(target, value)
            case ast.AnnAssign():
                given = self._values.value(node.value) if node.value else None
                self._bind(node.target, self._values.annotated(node.annotation) or given)
            case ast.withitem():
                given = self._values.value(node.context_expr)
                if node.optional_vars:
                    self._bind(node.optional_vars, given)
            case ast.For() | ast.AsyncFor():
                self._values.value(node.iter)
                self._bind(node.target, None)
                self._statements(node.body + node.orelse)
            case ast.Return(value=ast.expr() as result):
                self._returns(self._values.value(result))
            case ast.expr():
                self._values.value(node)
            case _:
                for child in ast.iter_child_nodes(node):
                    self._statement(child)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            root = alias.name.partition(".")[0]
            if root == "pyflink":
                self._values.packages.add(".".join(alias.name.split(".")[:2]))
                self._values.check(node, alias.name, self._module_status(alias.name))
                bound: Value = Module(alias.name if alias.asname else "pyflink")
            else:
                local = self._all.local_module(self._all.root, alias.name)
                bound = FOREIGN if local is None else None
            self._values.scopes[-1][alias.asname or root] = bound

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level == 0 and module.partition(".")[0] == "pyflink":
            self._values.packages.add(".".join(module.split(".")[:2]))
            for alias in node.names:
                self._import_name(node, module, alias)
            return
        folder = self._path.parents[node.level - 1] if node.level else self._all.root
        names = self._all.local_module(folder, module) if module else None
        for alias in node.names:
            below = self._all.local_module(folder.joinpath(*module.split(".")), alias.name)
            is_own = names is not None or below is not None
            found = names.get(alias.name) if names is not None else None
            self._values.scopes[-1][alias.asname or alias.name] = found if is_own else FOREIGN

    def _import_name(self, node: ast.ImportFrom, module: str, alias: ast.alias) -> None:
        if alias.name == "*":
            self._values.check(node, module, self._module_status(module))
            exported = [c.name for c in self._table.classes if module in c.import_paths]
            for name in (*exported, *self._table.functions.get(module, ())):
                self._values.scopes[-1][name] = self._values.member_of_module(module, name)
            return
        full_name = f"{module}.{alias.name}"
        of_module = self._module_status(module)
        status = self._table.status_of(module, alias.name)
        if self._table.is_module(full_name):
            status = self._module_status(full_name)
        if status is None or (status.is_done and not of_module.is_done):
            status = of_module
        self._values.check(alias, full_name, status)
        bound = self._values.member_of_module(module, alias.name)
        self._values.scopes[-1][alias.asname or alias.name] = bound

    def _function(self, node: _FunctionNode, owner: Own | None) -> None:
        for part in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if part is not None:
                self._values.value(part)
        if owner is None:
            hints = self._hints.setdefault(node, {})
            result = self._values.annotated(node.returns) or hints.get(_RETURNED)
            parameters = tuple(a.arg for a in parameters_of(node.args))
            function = Function(result, parameters=parameters, hints=hints)
            self._values.scopes[-1][node.name] = function
        self._later.append((node, list(self._values.scopes), owner))

    def _returns(self, value: Value) -> None:
        if self._within is not None and isinstance(value, Api):
            self._hints.setdefault(self._within, {}).setdefault(_RETURNED, value)

    def _class(self, node: ast.ClassDef) -> None:
        own = Own([self._values.value(base) for base in node.bases])
        for decorator in node.decorator_list:
            self._values.value(decorator)
        self._values.scopes[-1][node.name] = own
        methods = [m for m in node.body if isinstance(m, ast.FunctionDef | ast.AsyncFunctionDef)]
        self._values.scopes.append(own.attributes)
        self._statements([part for part in node.body if part not in methods])
        self._values.scopes.pop()
        # Attributes are set up in these two; other methods use them.
        for method in sorted(methods, key=lambda m: m.name not in ("__init__", "open")):
            self._function(method, own)

    def _parameters(self, node: _FunctionNode, owner: Own | None) -> Names:
        listed = list(parameters_of(node.args))
        hints = self._hints.get(node, {})
        names = {a.arg: self._values.annotated(a.annotation) or hints.get(a.arg) for a in listed}
        if owner is None or not listed:
            return names
        names[listed[0].arg] = owner
        for base in api_bases(owner):
            context = self._values.types.context_parameter(base, node.name)
            if context and context[0] < len(listed) and names[listed[context[0]].arg] is None:
                names[listed[context[0]].arg] = Api(context[1], is_object=True)
        return names

    def _bind(self, target: ast.AST, value: Value) -> None:
        match target:
            case ast.Name():
                self._values.scopes[-1][target.id] = value
            case ast.Attribute(value=ast.Name(id=name)):
                own = self._values.look_up(name)
                if isinstance(own, Own):
                    own.attributes[target.attr] = value
            case ast.Tuple() | ast.List():
                for part in target.elts:
                    self._bind(part, None)
            case ast.Starred():
                self._bind(target.value, None)
            case _:
                self._statement(target)

    def _module_status(self, path: str) -> Status:
        return self._table.module_status(path) or _UNLISTED
