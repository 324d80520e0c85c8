"""Commands of the client itself, which are no SQL."""

from __future__ import annotations

import re
from dataclasses import dataclass

COMMANDS = {
    "HELP": "Show this list.",
    "QUIT": "Leave; EXIT does the same. Jobs of this session end.",
    "CLEAR": "Clear the screen.",
    "SOURCE 'file.sql'": "Run the statements of a file.",
    "SET 'key' = 'value'": "Set an option; SET alone lists them.",
    "RESET 'key'": "Take an option back; RESET alone takes back all.",
    "SHOW JOBS": "The jobs started here; STOP JOB 'id' [WITH SAVEPOINT] ends one.",
    "BEGIN STATEMENT SET": "Collect INSERT statements; END runs them as one job.",
}
_STATEMENTS = (
    "CREATE, ALTER, DROP, SHOW, DESCRIBE, USE",
    "SELECT, VALUES, WITH, INSERT INTO, EXPLAIN",
)
_COMMAND = re.compile(r"\s*(QUIT|EXIT|CLEAR|HELP|SOURCE)\b\s*(.*?)\s*\Z", re.IGNORECASE | re.S)
_QUOTED = re.compile(r"'((?:[^']|'')*)'")


@dataclass(frozen=True, slots=True)
class Command:
    word: str
    argument: str = ""


def command_of(text: str) -> Command | None:
    """The command, if the text is one; a semicolon behind it changes nothing."""
    match = _COMMAND.match(text.strip().rstrip(";"))
    if match is None:
        return None
    word, argument = match.group(1).upper(), match.group(2)
    if argument and word != "SOURCE":
        return None
    quoted = _QUOTED.fullmatch(argument)
    if quoted is not None:
        argument = quoted.group(1).replace("''", "'")
    return Command("QUIT" if word == "EXIT" else word, argument)


def help_text() -> str:
    width = max(map(len, COMMANDS)) + 2
    lines = [f"  {name:<{width}}{what}" for name, what in COMMANDS.items()]
    modes = "SET 'sql-client.execution.result-mode' = 'table' | 'changelog' | 'tableau'"
    return "\n".join([
        "Commands (a statement ends with a semicolon):", *lines, "",
        "Statements:", *(f"  {each}" for each in _STATEMENTS), "",
        f"How rows are shown: {modes}", "Ctrl-C stops a query, Ctrl-D leaves.",
    ])  # fmt: skip
