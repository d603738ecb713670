"""Confinement: the operating system holds what an agent's command may never do, however it is spelled.

`Profile` says what a command may write and read. An engine (`bubblewrap`) turns it into the arguments that start the
command, `ConfineStore` keeps profiles and single-use tickets in `SB_HOME/confine`, and `SB_HOME/bin/sb-confine`, which
hosts put in front of each shell command, starts the engine with them.
"""
