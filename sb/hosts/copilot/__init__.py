"""Copilot CLI and its cloud agent."""
