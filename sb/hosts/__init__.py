"""Coding-agent hosts: their hooks, their settings files, one folder per host."""
