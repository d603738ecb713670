"""Programs that need more than a record: interpreters, wrappers, git, databases, containers."""
