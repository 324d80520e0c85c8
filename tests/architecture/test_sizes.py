"""Files and functions stay small enough to be read at one sitting."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

FILE_LINES = 500
FUNCTION_LINES = 40
NESTING = 4

Function = ast.FunctionDef | ast.AsyncFunctionDef
_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)


def code_lines(function: Function, text: list[str]) -> int:
    """The lines of a function that are neither docstring nor comment nor blank."""
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and ast.get_docstring(function, clean=False)
    docstring = range(first.lineno, (first.end_lineno or 0) + 1) if documented else range(0)
    span = range(function.lineno, (function.end_lineno or function.lineno) + 1)
    lines = (text[number - 1].strip() for number in span if number not in docstring)
    return sum(1 for line in lines if line and not line.startswith("#"))


def nesting(node: ast.AST, is_elif: bool = False) -> int:
    """How deep blocks stand inside each other; an elif is as deep as its if."""
    own = isinstance(node, _BLOCKS) and not is_elif
    below = 0
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            continue
        chained = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
        below = max(below, nesting(child, is_elif=chained))
    return below + own


def functions(modules) -> Iterator[tuple[str, Function, list[str]]]:
    for module in modules:
        text = module.text.splitlines()
        for node in ast.walk(module.tree):
            if isinstance(node, Function):
                yield f"{module.shown}:{node.lineno} {node.name}", node, text


def test_files_are_short(everything):
    """Aim for 100 to 300 lines; a file over 500 holds more than one concept."""
    long = [
        f"{module.shown}: {lines} lines"
        for module in everything
        if (lines := module.text.count("\n")) > FILE_LINES
    ]
    assert not long, "\n" + "\n".join(long)


def test_functions_are_short(everything):
    """At most 40 lines of code; what does not fit is a second function with its own name."""
    long = [
        f"{place}: {lines} lines"
        for place, function, text in functions(everything)
        if (lines := code_lines(function, text)) > FUNCTION_LINES
    ]
    assert not long, "\n" + "\n".join(long)


def test_functions_are_shallow(product):
    """At most four blocks inside each other."""
    deep = [
        f"{place}: {depth} blocks deep"
        for place, function, _ in functions(product)
        if (depth := nesting(function)) > NESTING
    ]
    assert not deep, "\n" + "\n".join(deep)


@pytest.mark.parametrize(
    ("source", "lines", "depth"),
    [
        ('def f():\n    """Doc\n    more."""\n    # why\n\n    return 1\n', 2, 0),
        (
            "def f(x):\n  if x:\n    pass\n  elif x:\n    pass\n  else:\n    pass\n",
            7,
            1,
        ),
        ("def f(x):\n    for y in x:\n        if y:\n            return y\n    return 0\n", 5, 2),
    ],
)
def test_the_measures_measure(source, lines, depth):
    """The two measures count what they say they count."""
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert code_lines(function, source.splitlines()) == lines
    assert nesting(function) == depth
