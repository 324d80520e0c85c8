"""Jobs to run, read and copy from."""
