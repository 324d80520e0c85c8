"""The same statements and programs on PyFlink and on headrace, and what differs.

`make compare` runs everything; `make compare ARGS="casts joins"` some themes. A theme is a module
of `compare/themes/`; what PyFlink gave is kept in `compare/recorded/`, and what is known to differ,
with the reason, in `compare/differences.toml`.
"""
