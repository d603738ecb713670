"""How do two databases keep one stack? Each tells the other, under seal, what was changed of its records."""
