"""Recall of search, and the gain of each feature."""
