"""How do the hosts of coding agents ask before a call, and tell what became of it? One adapter file per host."""
