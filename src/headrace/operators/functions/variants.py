"""Functions of VARIANT values."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from headrace.core.variant import Variant
from headrace.errors import InvalidArgument
from headrace.operators.functions.json_text import InvalidJson, written


def parse_json(text: str, allow_duplicate_keys: bool = False) -> Variant:
    """Of keys that come twice the last one counts, if that is allowed."""
    try:
        return _parsed(text, allow_duplicate_keys)
    except ValueError as error:
        raise InvalidArgument(
            f"PARSE_JSON was given {text!r}, which is no JSON: {error}",
            hint="TRY_PARSE_JSON gives NULL for such texts.",
        ) from None


def try_parse_json(text: str, allow_duplicate_keys: bool = False) -> Variant | None:
    try:
        return _parsed(text, allow_duplicate_keys)
    except ValueError:
        return None


def _parsed(text: str, allow_duplicate_keys: bool) -> Variant:
    def paired(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs) and not allow_duplicate_keys:
            raise InvalidJson("a key comes twice")
        return found

    return Variant.of(
        json.loads(text, parse_float=_fraction, parse_constant=_refused, object_pairs_hook=paired)
    )


def _fraction(text: str) -> Decimal | float:
    """Plain fractions are exact; those with an exponent, or too long, are floating."""
    exact = Decimal(text)
    plain = "e" not in text.lower() and len(exact.as_tuple().digits) <= 38
    return exact if plain else float(text)


def _refused(name: str) -> Any:
    raise InvalidJson(f"{name} is no number of JSON")


def json_string(variant: Variant) -> str:
    return written(variant.content)


def item(variant: Variant, key: int | str) -> Variant | None:
    try:
        return variant.field(key) if isinstance(key, str) else variant.element(key)
    except TypeError as error:
        raise InvalidArgument(
            str(error), hint="Index arrays by numbers and objects by names."
        ) from None
