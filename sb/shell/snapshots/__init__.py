"""Files that a line deletes and overwrites, so that snapshots can be taken before it runs."""
