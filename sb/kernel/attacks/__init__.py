"""Detection of attacks on models in texts: injection, tool abuse, leakage, jailbreaks."""
