"""Policy: permissions, written rules, and the patterns in them."""
