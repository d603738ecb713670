"""How records read on every face: one wording for commands and screens."""
