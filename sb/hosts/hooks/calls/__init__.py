"""A host's call as one of our contracts: its arguments, paths, command lines and servers."""
