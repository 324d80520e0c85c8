"""The REGEXP functions. A pattern that is none gives NULL, as in Flink."""

from __future__ import annotations

from headrace.operators.functions.java_regex import compiled


def regexp(text: str, pattern: str) -> bool:
    found = compiled(pattern) if pattern else None
    return found is not None and found.search(text) is not None


def count(text: str, pattern: str) -> int | None:
    found = compiled(pattern)
    return None if found is None else sum(1 for _ in found.finditer(text))


def extract(text: str, pattern: str, group: int = 0) -> str | None:
    found = compiled(pattern)
    match = None if found is None else found.search(text)
    if match is None or not 0 <= group <= match.re.groups:
        return None
    return match[group]


def extract_all(text: str, pattern: str, group: int = 1) -> tuple[str | None, ...] | None:
    found = compiled(pattern)
    if found is None or not 0 <= group <= found.groups:
        return None
    return tuple(match[group] for match in found.finditer(text))


def position(text: str, pattern: str) -> int | None:
    found = compiled(pattern)
    if found is None:
        return None
    match = found.search(text)
    return 0 if match is None else match.start() + 1


def substring(text: str, pattern: str) -> str | None:
    return extract(text, pattern)


def replace(text: str, pattern: str, replacement: str) -> str | None:
    """The replacement is taken literally."""
    found = compiled(pattern)
    return None if found is None else found.sub(lambda _match: replacement, text)
