"""The process in which agents that are Python functions run: it loads the module once, and forks for each attempt."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.errors import SBError, UsageError

READY, BROKEN, STARTED, ENDED = "ready", "broken", "started", "ended"


def main(reference: str) -> None:
    """Serve attempts: requests are lines of stdin; answers, and what becomes of each attempt, are lines of stdout."""
    channel = os.dup(1)
    os.dup2(2, 1)  # what the agent prints is its log
    try:
        function = function_of(reference)
        attempt = importlib.import_module("sb.evals.agents.attempt")
        attempt.warm_up()
    except SBError as error:
        _send(channel, {"type": BROKEN, "message": error.message})
        return
    gc.freeze()  # or a collection in a fork would copy all of this process's memory
    _send(channel, {"type": READY})
    for line in sys.stdin.buffer:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _attempt(channel, attempt.answer_case, function, request)
        _send(channel, {"type": STARTED, "pid": pid})
        _, status = os.waitpid(pid, 0)
        _send(channel, {"type": ENDED, "code": os.waitstatus_to_exitcode(status)})


def function_of(reference: str) -> Callable[..., Any]:
    """The function that `module:function` names.

    Raises:
        UsageError: there is none.
    """
    module, _, name = reference.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (AttributeError, ValueError) as error:
        raise UsageError(f"python:{reference}: {one_line(error, 200)}") from None
    except BaseException as error:  # noqa: BLE001 - modules of others may raise anything, SystemExit too
        missing = isinstance(error, ModuleNotFoundError)
        if not missing:
            traceback.print_exception(error)
        raise UsageError(f"python:{reference}: {type(error).__name__}: {one_line(error, 200)}") from None
    if not callable(found):
        raise UsageError(f"python:{reference} is not a function")
    function: Callable[..., Any] = found
    return function


def _attempt(
    channel: int,
    answer: Callable[..., None],
    function: Callable[..., Any],
    request: Mapping[str, Any],
) -> None:
    """Run one attempt in this process, which ends with it."""
    code = 1
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ |= request["env"]
        os.chdir(request["folder"])
        answer(function, request, lambda line: _send(channel, line), sys.stderr.write)
        code = 0
    except BaseException:  # noqa: BLE001 - a fork must never return into the loop
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _send(channel: int, document: Mapping[str, Any]) -> None:
    data = json.dumps(document, default=str).encode() + b"\n"
    while data:
        data = data[os.write(channel, data) :]


if __name__ == "__main__":
    main(sys.argv[1])
