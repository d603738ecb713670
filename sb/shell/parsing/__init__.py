"""Parse a command line as bash reads it: words, expansions, and what is known of outputs and inputs."""
