"""Values: frozen, canonical, numbered, signed, and told by where they come from."""
