"""`sb hook`: judge a coding agent's calls before its host makes them, and record their outcomes."""
