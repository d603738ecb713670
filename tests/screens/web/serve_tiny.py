"""Serves a command as `sb console --web` does: serve_tiny [--key] [--host H] -- command"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sb.screens.web import serve

from sb.config import current_config
from sb.operator.attention.watching import Watcher

if TYPE_CHECKING:
    from sb.kernel.decision_desk import DecisionDesk


def desk() -> DecisionDesk:
    """Of ada, who is enrolled, in a home where one call waits for her."""
    from sb.kernel import SafetyClass
    from sb.kernel.authority.enrolment import Enrolment
    from sb.kernel.authority.keys import KeyFolder
    from sb.kernel.authority.signing import Operator
    from sb.kernel.decision_desk import DecisionDesk
    from sb.runtime import open_runtime
    from sb.runtime.parts import open_authority, open_log
    from tests.conftest import approve_tools  # brings pytest and hypothesis, as long to import as all else

    config = current_config()
    with open_runtime(config) as runtime:
        runtime.registry.register_fn("bank.pay", "Pay", lambda to: None, SafetyClass.DESTRUCTIVE)
        approve_tools(runtime)
        runtime.executor.execute(runtime.context("clerk"), "bank.pay", {"to": "bob"})
        ada = Enrolment(open_authority(config, runtime.log), KeyFolder(config.home.keys)).init("ada", None)
    assert isinstance(ada, Operator)
    print(ada.public_key, flush=True)
    return DecisionDesk(partial(open_log, config), config.operators.file, ada)


def main() -> None:
    options, command = sys.argv[1 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :]
    serve(
        command,
        home=Path(os.environ["SB_HOME"]),
        desk=desk() if "--key" in options else None,
        host=options[options.index("--host") + 1] if "--host" in options else "127.0.0.1",
        announce=lambda text: print(text, flush=True),
        waiting=Watcher(current_config()).count_needs,
    )


if __name__ == "__main__":
    main()
