"""Records: one row for each memory, with its history, relations and reads."""
