"""Names for side outputs."""

from __future__ import annotations

from typing import NoReturn

from headrace.core.types import RowTypeInfo, TypeInformation, Types
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.origin import calling_origin

__all__ = ["OutputTag"]


class OutputTag:
    """Names one side output of an operator; tags with the same id are the same output.

    >>> OutputTag("late", Types.TUPLE([Types.STRING(), Types.LONG()]))
    OutputTag('late')
    """

    __slots__ = ("tag_id", "type_info")

    tag_id: str
    type_info: TypeInformation

    def __init__(
        self, tag_id: str, type_info: TypeInformation | list[TypeInformation] | None = None
    ) -> None:
        if not tag_id or not isinstance(tag_id, str):
            raise InvalidArgument(
                f"an output tag needs a name, not {tag_id!r}",
                origin=calling_origin(),
                hint='Write OutputTag("late-data"), for example.',
            )
        self.tag_id = tag_id
        if type_info is None:
            self.type_info = Types.PICKLED_BYTE_ARRAY()
        elif isinstance(type_info, list):
            self.type_info = RowTypeInfo(type_info)
        elif isinstance(type_info, TypeInformation):
            self.type_info = type_info
        else:
            raise TypeMismatch(
                f"the type of output tag {tag_id!r} is {type_info!r}, which is not a type",
                origin=calling_origin(),
                hint="Use a type such as Types.STRING(), or a list of types for rows.",
            )

    def get_java_output_tag(self) -> NoReturn:
        raise Unsupported(
            f"{self!r} has no Java form: side outputs live in Python only",
            origin=calling_origin(),
            hint="Pass the tag itself to get_side_output().",
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and self.tag_id == other.tag_id

    def __hash__(self) -> int:
        return hash(self.tag_id)

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r})"
