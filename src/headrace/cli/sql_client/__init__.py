"""The parts of `headrace sql`."""
