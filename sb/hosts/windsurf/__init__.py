"""Windsurf's Cascade."""
