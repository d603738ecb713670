"""Boundaries: agents' charters, registered intents, releases of runs, and sources of context."""
