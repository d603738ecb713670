"""What does the demo's agent work in? A shop with a ledger of its own, and the tools that reach it."""
