"""Savepoints: state of a committed micro-batch as files that anybody can open."""
