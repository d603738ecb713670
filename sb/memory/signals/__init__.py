"""Signals of the memory whitepaper beside ranking: each has a switch, `memory.signals`, and all are off by default.

Source: the memory whitepaper, and brainctl 2.8, whose columns and formulas they follow; docs/reference/memory-signals.md.
"""
