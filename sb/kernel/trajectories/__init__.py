"""The calls that a run should make, and how well those that it made agree with them."""
