"""Paths that a line names, and those that decide about more than themselves."""
