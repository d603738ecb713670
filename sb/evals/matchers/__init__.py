"""Matchers: what an answer must be."""
