"""Baselines: approved contracts, and the comparison with what a tool declares now."""
