"""Wording of records on every face: one for commands and screens."""
