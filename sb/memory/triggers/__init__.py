"""Triggers: reminders that show themselves when their precondition comes up.

Source: the memory whitepaper, "prospective memory"; docs/reference/memory-triggers.md.
"""
