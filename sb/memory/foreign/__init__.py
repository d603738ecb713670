"""Memories of other programs: how their files are read, and how they are taken in."""
