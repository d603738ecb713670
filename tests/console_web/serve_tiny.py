"""Serves a command as `sb console --web` does: serve_tiny [--key] [--host H] -- command"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sb.screens.web import serve

from sb.kernel.authority.keys import make_key


def main() -> None:
    options, command = sys.argv[1 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :]
    decider = None
    if "--key" in options:
        decider = make_key("ada", None)[1]
        print(decider.public_key, flush=True)
    serve(
        command,
        home=Path(os.environ["SB_HOME"]),
        decider=decider,
        host=options[options.index("--host") + 1] if "--host" in options else "127.0.0.1",
        announce=lambda text: print(text, flush=True),
    )


if __name__ == "__main__":
    main()
