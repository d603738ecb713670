"""Measurements and evaluations of this project itself."""
