"""Settings."""

from headrace.core.config import Configuration

__all__ = ["Configuration"]
