"""shell.run: run a program without a shell, with a small environment."""

from __future__ import annotations

import os
from typing import Any

from sb.config.groups import Shell
from sb.kernel.contracts import SafetyClass, ToolArgSchema, ToolError, ToolErrorCode, ToolReturnSchema
from sb.kernel.registry.registry import UNAVAILABLE, ToolRegistry
from sb.tools.failures import display, invalid, not_found, os_failure
from sb.tools.processes import run_program
from sb.tools.roots import NO_ROOTS, Roots

_DEFAULT_TIMEOUT_S = 30.0
_MAX_TIMEOUT_S = 50.0


def register_shell(registry: ToolRegistry, settings: Shell, roots: Roots) -> None:
    """Register shell.run."""
    registry.register_fn(
        "shell.run",
        "Run a program",
        ShellRunner(settings, roots).run,
        SafetyClass.DESTRUCTIVE,
        "Run one program with an argument vector; no shell reads it, so there are no pipes, globs or variables. "
        "The program is not confined: it can do whatever the user who runs this can do, to files, network and "
        "processes anywhere. Only its arguments, its working folder at the start, the environment variables it "
        "gets, the size of its output and its running time are limited. When it ends, times out or writes too "
        "much, its process group is killed.",
        idempotent=False,
        args_schema=[
            ToolArgSchema("argv", "array", description="Program and arguments, each a string: ['ls', '-l']."),
            ToolArgSchema(
                "cwd",
                required=False,
                description="Working folder: an absolute path below an allowed folder, or relative to the first "
                "one (default: the first allowed folder).",
            ),
            ToolArgSchema(
                "stdin", required=False, description="Text for its standard input (default: none)."
            ),
            ToolArgSchema(
                "timeout_s",
                "number",
                required=False,
                description="Seconds it may run: 30 by default, at most 50.",
            ),
        ],
        returns_schema=ToolReturnSchema(
            "object",
            "exit_code (negative: ended by that signal), stdout, stderr, stdout_truncated, stderr_truncated "
            "(it was killed for writing too much)",
        ),
        max_retries=0,
        metadata={} if roots else {UNAVAILABLE: NO_ROOTS},
        timeout_ms=60_000,
    )


class ShellRunner:
    """The function of shell.run."""

    def __init__(self, settings: Shell, roots: Roots) -> None:
        self._settings = settings
        self._roots = roots

    def run(
        self, argv: list[str], cwd: str = ".", stdin: str = "", timeout_s: float = _DEFAULT_TIMEOUT_S
    ) -> dict[str, Any]:
        """Run a program to its end.

        Raises:
            ToolError: VALIDATION_ERROR for unusable arguments, NOT_FOUND for a missing program or folder,
                PERMISSION_DENIED for a folder outside the roots or a file that is not executable, TIMEOUT.
        """
        _require_usable(argv, timeout_s)
        try:
            data = stdin.encode("utf-8")
        except UnicodeEncodeError:
            raise invalid("stdin is not valid Unicode text") from None
        env = {name: os.environ[name] for name in self._settings.env if name in os.environ}
        with self._roots.folder(cwd) as folder:
            try:
                ended = run_program(
                    argv,
                    folder=folder.fd,
                    env=env,
                    stdin=data,
                    timeout_s=timeout_s,
                    max_output=self._settings.max_output_bytes,
                )
            except FileNotFoundError:
                raise not_found(
                    f"{display(argv[0])}: no such program, or its interpreter is missing"
                ) from None
            except OSError as error:
                raise os_failure(error, argv[0]) from error
        if ended.timed_out:
            raise ToolError(ToolErrorCode.TIMEOUT, f"{display(argv[0])} was killed after {timeout_s:g} s")
        return {
            "exit_code": ended.exit_code,
            "stdout": ended.stdout.text(),
            "stderr": ended.stderr.text(),
            "stdout_truncated": ended.stdout.truncated,
            "stderr_truncated": ended.stderr.truncated,
        }


def _require_usable(argv: list[str], timeout_s: float) -> None:
    """Raise ToolError unless a program can be started with these arguments."""
    if not argv or not all(isinstance(argument, str) for argument in argv):
        raise invalid("argv must be an array of strings that begins with a program")
    if not argv[0]:
        raise invalid("argv begins with an empty string instead of a program")
    if any("\0" in argument for argument in argv):
        raise invalid("argv contains a NUL character")
    try:
        os.fsencode("".join(argv))
    except UnicodeEncodeError:
        raise invalid("argv contains a character that is not valid in arguments") from None
    if not 0 < timeout_s <= _MAX_TIMEOUT_S:
        raise invalid(f"timeout_s is {timeout_s}, must be above 0 and at most {_MAX_TIMEOUT_S:g}")
