"""Formats of single messages: the bytes of one are rows of a table, and back."""
