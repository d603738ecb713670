"""Confinement of a session's shell calls, and the rights of each."""
