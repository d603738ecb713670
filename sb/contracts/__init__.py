"""Envelopes passed between parts of SecondBrain."""
