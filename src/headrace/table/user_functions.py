"""Functions of the user by the name of their Python object."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from headrace.core.expressions import UserFunction
from headrace.errors import InvalidQuery, Unsupported
from headrace.runtime.brought_modules import brought
from headrace.sql.catalog import CatalogFunction


def loaded_function(
    name: str, registered: CatalogFunction, modules: Sequence[str] = ()
) -> UserFunction:
    """What a catalog's function means: the object a program registered, or `module.object`, looked
    for first in the `modules` that jobs bring along."""
    if isinstance(registered.function, UserFunction):
        return registered.function
    if registered.language.upper() != "PYTHON":
        raise Unsupported(
            f"function {name} is written in {registered.language}",
            hint="CREATE FUNCTION … AS 'module.object' LANGUAGE PYTHON.",
        )
    module_name, _, attribute = registered.class_name.rpartition(".")
    try:
        with brought(modules):
            found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidQuery(
            f"function {name}: {registered.class_name} cannot be imported: {error}",
            hint="Give module.object, and add its file with add_python_file(...).",
        ) from None
    wrapped = getattr(found, "user_function", None)
    if callable(wrapped):
        found = wrapped()
    if not isinstance(found, UserFunction):
        raise InvalidQuery(
            f"function {name}: {registered.class_name} is no function for tables",
            hint="Wrap it with headrace.table.udf.udf(...), udtf(...), udaf(...) or udtaf(...).",
        )
    return found
