"""How often search finds the answer to a question, and what each feature gives."""
