"""The demo: a shop with a ledger, the tools that reach it, and a story."""
