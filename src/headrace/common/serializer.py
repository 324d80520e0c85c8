"""Serializers a user can write."""

from headrace.core.serialization import TypeSerializer, VoidNamespaceSerializer

__all__ = ["TypeSerializer", "VoidNamespaceSerializer"]
