"""Models, which are not there."""

from __future__ import annotations

from typing import NoReturn

from headrace.errors import Unsupported
from headrace.origin import calling_origin

__all__ = ["ModelDescriptor"]


class ModelDescriptor:
    """A model with its provider and options, which cannot be had."""

    def __init__(self, *_args: object) -> None:
        raise Unsupported("models are not there", origin=calling_origin())

    @staticmethod
    def for_provider(provider: str) -> NoReturn:
        raise Unsupported(
            f"models are not there, nor is the provider {provider}", origin=calling_origin(),
            hint="Call the model in a function of your own, such as an AsyncScalarFunction.",
        )  # fmt: skip
