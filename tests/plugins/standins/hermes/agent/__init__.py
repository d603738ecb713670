"""A stand-in of the part of Hermes Agent that calls memory providers, as its plugin guide describes it."""
