"""Synchronize a stack between databases: each sends the other its sealed changes."""
