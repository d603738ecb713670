"""`sb install` and `sb uninstall`: our entries in hosts' settings."""
