"""Cases of our own, and what Flink gives for them; README.md says how they are recorded."""
