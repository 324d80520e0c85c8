"""`headrace demo`: a fraud detector, live in the terminal."""

from headrace.cli.demo.command import demo

__all__ = ["demo"]
