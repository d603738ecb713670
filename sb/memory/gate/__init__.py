"""The worthiness gate: what `Brain.remember` saves as a record of its own, and what it merges into one there is."""
