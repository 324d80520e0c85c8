"""Real servers for tests, started on loopback and shared within a run."""
