"""Undo calls, by a person's decision or by an approved automatic reversal."""
