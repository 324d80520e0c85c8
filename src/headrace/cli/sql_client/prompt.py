"""The prompt: history, completion, highlighting, and lines until a semicolon."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, completion_is_selected
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer

from headrace.cli.sql_client.commands import COMMANDS, command_of
from headrace.cli.sql_client.statement_texts import pieces_of

_NAME = "headrace"
_PROMPT = f"{_NAME} SQL> "
Hints = Callable[[str], list[str]]


def history_file() -> Path:
    """In the user's folder of state, as the XDG rules have it."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / _NAME / "sql_history"


def file_history(file: Path) -> History:
    """The history kept in a file; of this session only, where there can be no such file."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600, exist_ok=True)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(file))


class SqlCompleter(Completer):
    """Words and names that fit where the cursor is."""

    def __init__(self, hints: Hints):
        self._hints = hints

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        before = document.text_before_cursor
        rest = pieces_of(before).rest.text
        started = document.get_word_before_cursor(pattern=None)
        started = started if not before.endswith((".", " ", "\n", "(")) else ""
        started = started.rpartition(".")[2].rpartition("(")[2].rpartition(",")[2]
        words = list(self._hints(before))
        if rest == started:
            words += [name for name in COMMANDS if name.lower().startswith(started.lower())]
        for word in words:
            yield Completion(word, start_position=-len(started))


def is_complete(text: str) -> bool:
    """Whether Enter runs the text, or begins another line."""
    if command_of(text) is not None:
        return True
    return pieces_of(text).is_blank


def continuation(text: str, width: int) -> StyleAndTextTuples:
    """The prompt of a further line says what is still open."""
    opened = pieces_of(text).open_with
    return [("class:prompt", f"{opened}> ".rjust(width))]


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter", filter=~completion_is_selected)
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @keys.add("escape", "enter")
    def run_anyway(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys


class SqlPrompt:
    """Asks for statements."""

    def __init__(self, hints: Hints, history: History | None = None):
        self._collecting = False
        self._session: PromptSession[str] = PromptSession(
            history=history if history is not None else file_history(history_file()),
            completer=SqlCompleter(hints), complete_while_typing=False, multiline=True,
            auto_suggest=AutoSuggestFromHistory(), lexer=PygmentsLexer(SqlLexer),
            key_bindings=_keys(), enable_history_search=Condition(lambda: True),
            prompt_continuation=self._continuation,
        )  # fmt: skip

    def _continuation(self, width: int, line: int, wrapped: int) -> StyleAndTextTuples:
        lines = self._session.default_buffer.text.split("\n")
        return continuation("\n".join(lines[:line]), width)

    def ask(self, *, in_statement_set: bool = False) -> str:
        """One or more statements; EOFError when the user leaves."""
        mark = f"{_NAME} SQL (set)> " if in_statement_set else _PROMPT
        return self._session.prompt([("bold", mark)])
