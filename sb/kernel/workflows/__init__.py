"""Workflows that survive their process: a journal of finished steps, claims, and replay."""
