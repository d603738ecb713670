"""The resident helper: judges hooks in a process that is already warm. A client asks it, or judges by itself."""
