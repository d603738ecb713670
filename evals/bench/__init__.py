"""Benchmarks: each prints a ratio to a floor that was measured in the same minute."""
