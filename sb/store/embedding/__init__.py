"""Embedders: turn texts into vectors; loaded on first use."""
