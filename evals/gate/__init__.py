"""Labelled pairs for the worthiness gate, and how it does on them."""
