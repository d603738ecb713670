"""Past sessions of coding agents: taken into memory, and asked which call wrote a line."""
