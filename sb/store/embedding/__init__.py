"""What makes vectors of texts; nothing here is imported before a vector is needed."""
