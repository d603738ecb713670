"""VS Code."""
