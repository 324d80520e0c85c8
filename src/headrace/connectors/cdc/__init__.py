"""Tables of databases as streams of their changes, read from the database's own log."""
