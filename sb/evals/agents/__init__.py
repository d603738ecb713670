"""Agents under test: how each kind is started, asked and listened to."""
