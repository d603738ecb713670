"""Failures: classify an exception, name its error code, say what to do about it."""
