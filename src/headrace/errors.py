"""What headrace raises.

HeadraceError
├── InvalidArgument        (ValueError)   an argument no job could use
├── TypeMismatch           (TypeError)    a value or function of the wrong kind
│   └── UnfitValue         (ValueError)   a value of the right kind that its type cannot hold
├── InvalidQuery           (ValueError)   SQL or a Table API expression without a meaning
├── InvalidGraph           the program's graph cannot be run as it stands
├── NotSerializable        a function or value that cannot travel to a worker
├── Unsupported            Flink has it, headrace does not
├── StateAccessError       state or timers used where there is no key
├── CorruptState           a checkpoint or savepoint with files that are damaged or missing
├── IncompatibleState      state that the program's new types cannot read
├── SourceUnavailable      an input that cannot be opened
├── MissingJava            no Java that can run Spark, and none could be obtained
├── UserFunctionFailed     the user's own function raised
├── JobFailed              the job stopped for any other reason
└── JobCancelled           the job was cancelled before it finished

Catalogs and tables raise classes of PyFlink's names, which `pyflink.util.exceptions` stands for:
JavaException, and below it TableException, CatalogException, DatabaseNotExistException and so on.
Each is one of those above as well.

Each error has a stable `code`, says what is wrong, where the user wrote it and what to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headrace.origin import calling_origin


class HeadraceError(Exception):
    """Base of every error headrace raises on purpose."""

    code = "error"

    def __init__(self, message: str, *, origin: object | None = None, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.origin = origin
        self.hint = hint
        self.called_at: object | None = None
        """The line of the program that gave us a text, if `origin` is a place in that text."""

    def came_from(self, line: object | None) -> None:
        """Say which line of the program led to this, if that is not said yet."""
        if self.origin is None:
            self.origin = line
        elif type(self.origin) is not type(line):
            self.called_at = self.called_at or line

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        if self.origin is not None:
            lines.append(f"  at {self.origin}")
        if self.called_at is not None:
            lines.append(f"  in {self.called_at}")
        if self.hint is not None:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (self.public(), self.message, self.origin, self.hint))

    @classmethod
    def public(cls) -> type[HeadraceError]:
        """The nearest class listed here; those derived elsewhere have their own constructors."""
        return next(kind for kind in cls.__mro__ if kind.__module__ == __name__)


def _rebuild(
    kind: type[HeadraceError], message: str, origin: object | None, hint: str | None
) -> HeadraceError:
    return kind(message, origin=origin, hint=hint)


class InvalidArgument(HeadraceError, ValueError):
    code = "invalid-argument"


class TypeMismatch(HeadraceError, TypeError):
    code = "type-mismatch"


class UnfitValue(TypeMismatch, ValueError):
    """As in PyFlink a ValueError; other faults of a value are TypeErrors."""


class InvalidGraph(HeadraceError):
    code = "invalid-graph"


class NotSerializable(HeadraceError):
    code = "not-serializable"


class Unsupported(HeadraceError):
    code = "unsupported"


class MissingName(Unsupported, ImportError):
    """A name of PyFlink's that a module of headrace does not have."""

    def __init__(
        self, message: str, name: str, *, origin: object | None = None, hint: str | None = None
    ):
        super().__init__(message, origin=origin, hint=hint)
        self.name = name

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (Unsupported, self.message, self.origin, self.hint))


class MissingModule(MissingName, ModuleNotFoundError):
    """A module of PyFlink's that headrace does not have."""


class StateAccessError(HeadraceError):
    code = "no-keyed-context"


class CorruptState(HeadraceError):
    """A checkpoint or savepoint has files that are damaged or missing."""

    code = "corrupt-state"


class IncompatibleState(HeadraceError):
    code = "incompatible-state"


class SourceUnavailable(HeadraceError):
    code = "source-unavailable"


class MissingJava(HeadraceError):
    code = "missing-java"


class UserFunctionFailed(HeadraceError):
    code = "user-function-failed"


class JobFailed(HeadraceError):
    code = "job-failed"


class JobCancelled(HeadraceError):
    code = "job-cancelled"


class InvalidQuery(HeadraceError, ValueError):
    """SQL text or a Table API expression that says something no query can mean."""

    code = "invalid-query"


class JavaException(HeadraceError):
    """What PyFlink makes of the exceptions it knows; of Java there is nothing but the name."""

    @property
    def stack_trace(self) -> str:
        return str(self)


class TableException(JavaException, InvalidQuery):
    """A query that has a meaning and cannot be run."""


class CatalogException(JavaException, InvalidQuery):
    """A catalog that cannot do what it is asked."""


class DatabaseAlreadyExistException(JavaException, InvalidArgument):
    pass


class DatabaseNotEmptyException(JavaException, InvalidArgument):
    pass


class DatabaseNotExistException(JavaException, InvalidArgument):
    pass


class FunctionAlreadyExistException(JavaException, InvalidArgument):
    pass


class FunctionNotExistException(JavaException, InvalidArgument):
    pass


class ModelAlreadyExistException(JavaException, InvalidArgument):
    pass


class ModelNotExistException(JavaException, InvalidArgument):
    pass


class PartitionAlreadyExistsException(JavaException, InvalidArgument):
    pass


class PartitionNotExistException(JavaException, InvalidArgument):
    """No such partition, be it that the table, its partitions or such a specification is not."""


class PartitionSpecInvalidException(JavaException, InvalidArgument):
    """A specification that names other columns than those the table is partitioned by."""


class TableAlreadyExistException(JavaException, InvalidArgument):
    pass


class TableNotExistException(JavaException, InvalidArgument):
    pass


class TableNotPartitionedException(JavaException, InvalidArgument):
    pass


@contextmanager
def naming_the_caller() -> Iterator[None]:
    """What is wrong with a text is told with the line of the program that handed it over."""
    try:
        yield
    except HeadraceError as error:
        error.came_from(calling_origin(only_users=True))
        raise
