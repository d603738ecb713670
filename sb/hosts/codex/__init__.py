"""Codex."""
