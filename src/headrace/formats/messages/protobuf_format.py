"""protobuf: messages of a class that protoc made, or of a descriptor."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from headrace.core.logical_types import RowType
from headrace.core.table_connector import INSERT
from headrace.errors import InvalidArgument
from headrace.formats.messages.message_format import (
    BadMessage,
    Change,
    Decode,
    Encode,
    MessageFormat,
    check_insert,
    missing_package,
)
from headrace.formats.messages.protobuf_values import message_reader, message_writer

__all__ = ["ProtobufMessages"]


@dataclass(frozen=True)
class ProtobufMessages(MessageFormat):
    """Binary messages; the class is found by name, in the driver and in the workers."""

    class_name: str
    name: str = "protobuf"
    descriptors: bytes | None = None
    """A serialized FileDescriptorSet; then the class is the message's name in it."""
    ignores_errors: bool = False
    read_defaults: bool = False
    null_text: str = ""

    def message_class(self) -> Any:
        """The class of the messages."""
        try:
            from google.protobuf import message
        except ImportError:
            raise missing_package("protobuf", "protobuf") from None
        if self.descriptors is not None:
            return self._described()
        module, _, rest = self.class_name.replace("$", ".").rpartition(".")
        path = [rest]
        while module:
            try:
                found: Any = importlib.import_module(module)
                for step in path:
                    found = getattr(found, step)
            except ModuleNotFoundError:
                module, _, rest = module.rpartition(".")
                path.insert(0, rest)
                continue
            except AttributeError:
                break
            if isinstance(found, type) and issubclass(found, message.Message):
                return found
            break
        raise InvalidArgument(
            f"there is no class of messages '{self.class_name}'",
            hint="Name a class that protoc made, as 'orders_pb2.Order', or a message of "
            "'protobuf.descriptor-set'.",
        )

    def _described(self) -> Any:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

        pool = descriptor_pool.DescriptorPool()
        try:
            for file in descriptor_pb2.FileDescriptorSet.FromString(self.descriptors).file:
                pool.Add(file)
            return message_factory.GetMessageClass(pool.FindMessageTypeByName(self.class_name))
        except KeyError:
            raise InvalidArgument(
                f"'protobuf.descriptor-set' has no message '{self.class_name}'",
                hint="Give its full name, with its package.",
            ) from None
        except Exception as error:  # the runtime raises classes of its own
            raise InvalidArgument(
                f"'protobuf.descriptor-set' cannot be used: {error}",
                hint="Make it with protoc --include_imports --descriptor_set_out=….",
            ) from None

    def decoder(self, row: RowType, metadata: tuple[str, ...] = ()) -> Decode:
        made = self.message_class()
        read = message_reader(row, made.DESCRIPTOR, defaults=self.read_defaults)

        def decode(message: bytes) -> list[Change]:
            try:
                return [(INSERT, *read(_parse(made, message)))]
            except BadMessage:
                if self.ignores_errors:
                    return []
                raise

        return decode

    def encoder(self, row: RowType) -> Encode:
        made = self.message_class()
        fill = message_writer(row, made.DESCRIPTOR, self.null_text)

        def encode(change: Change) -> bytes:
            check_insert(self.name, change)
            message = made()
            fill(message, change[1:])
            data: bytes = message.SerializeToString()
            return data

        return encode


def _parse(made: Any, data: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return made.FromString(data)
    except DecodeError as error:
        raise BadMessage(f"it is no message {made.DESCRIPTOR.full_name} ({error})") from None
