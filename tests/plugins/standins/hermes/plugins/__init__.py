"""Where Hermes looks for plugins."""
