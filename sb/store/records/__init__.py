"""How is a memory of any kind kept? One row each, with its history, its relations and who has read it."""
