"""The red-team detector: its texts, what fits its weights, and what judges it."""
