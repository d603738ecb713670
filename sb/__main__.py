"""The `sb` program."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # A host calls this on every tool call of a person's agent: nothing of the command line is loaded for it.
    if sys.argv[1:2] == ["hook"] and sys.argv[2:] and "--help" not in sys.argv:
        from sb.hosts.hooks.main import main as answer

        return answer(sys.argv[2:])
    if sys.argv[1:] == ["statusline"]:  # drawn after each turn of an agent
        from sb.hosts.statusline import main as draw

        return draw()
    from sb.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
