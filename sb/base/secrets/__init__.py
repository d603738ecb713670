"""Secrets: the shapes of tokens and keys in texts, their masks, and where given ones are fetched from."""
