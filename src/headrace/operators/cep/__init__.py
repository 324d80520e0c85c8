"""Finding patterns of events: one automaton for all front ends."""
