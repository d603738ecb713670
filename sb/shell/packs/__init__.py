"""Rule packs: their YAML, its compilers, and the tables that it is compiled to."""
