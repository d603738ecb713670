"""Calls that the hosts of coding agents perform themselves: contracts, snapshots, protected places.

A host performs these calls; the kernel judges them before and records them afterwards (`ToolExecutor.external`).
"""
