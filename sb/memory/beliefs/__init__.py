"""Belief revision: correct a memory, let fall what rested on it alone, and revert that."""
