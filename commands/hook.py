"""`sb hook`: what the host of a coding agent calls. `sb.__main__` answers it before the command line is loaded."""

from __future__ import annotations

from sb.commands.options import HostName, single

app = single()


@app.command(no_args_is_help=True, epilog="Example: sb hook claude-code")
def hook(host: HostName) -> None:
    """Answer one event of a coding agent's host."""
    from sb.hosts.hooks.main import main

    main([host])
