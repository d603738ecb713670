"""Claims of an agent's last message, held against the calls that were made and their results."""
