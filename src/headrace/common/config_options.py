"""Descriptions of settings."""

from headrace.core.config import ConfigOption, ConfigOptions

__all__ = ["ConfigOption", "ConfigOptions"]
