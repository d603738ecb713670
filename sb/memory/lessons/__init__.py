"""Lessons: what a failed call taught, shown when that call is about to be made again.

Source: the memory whitepaper, "reflexion lessons"; docs/reference/memory-lessons.md.
"""
