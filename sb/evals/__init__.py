"""Evals: an agent's answers and calls, graded against suites of cases."""
