"""Credentials in a line: what reads one, where its text goes, and whether that is the network."""
