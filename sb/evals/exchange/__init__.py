"""Formats of others: recorded calls, traces and suites, read and written."""
