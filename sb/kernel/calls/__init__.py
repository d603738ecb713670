"""One call: its state, its intent, its undo record, its approval request, and how it reads."""
