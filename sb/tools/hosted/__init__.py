"""What do the hosts of coding agents do themselves, by which contracts, and how is that undone?

A host performs these calls; the kernel judges them before and records them afterwards (`ToolExecutor.external`).
"""
