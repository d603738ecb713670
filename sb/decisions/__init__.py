"""Versioned decisions: YAML documents by key."""
