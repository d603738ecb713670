"""`sb statusline`: one line about a session. `sb.__main__` answers it before the command line is loaded."""

from __future__ import annotations

from sb.commands.options import single

app = single()


@app.command(epilog="Example: sb statusline")
def statusline() -> None:
    """Print one line about a coding agent's session.

    For Claude Code's statusLine setting, which passes JSON on stdin: model, cost, calls, waiting approvals, memories.
    """
    from sb.hosts.statusline import main

    main()
