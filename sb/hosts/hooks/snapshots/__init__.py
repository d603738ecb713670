"""Snapshots and stored trees that replace a question before a call runs."""
