"""Jobs as long-running tasks of Spark's real-time mode."""
