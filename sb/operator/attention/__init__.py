"""Needs of a person: list them, watch for them, and hand them to notifications."""
