"""Destinations of a line: paths that copies, downloads, archives and patches write, and changes of guarded places."""
