"""The context that a host's call is judged in."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from sb.config import Config
from sb.hosts.hooks.event import HookEvent, NativeCall
from sb.kernel.calls.servers import Server
from sb.runtime.parts import judging_files, protected
from sb.shell import ShellVerdict, classify
from sb.shell.places.guarded import Guarded
from sb.shell.programs.ruleset import SHIPPED_RULES, Ruleset
from sb.tools.hosted.files import HostedFiles
from sb.tools.hosted.guarding import guarded

_NOTHING_GUARDED = Guarded()
SHELL_PREFIX = "CLAUDE_CODE_SHELL_PREFIX"  # of Claude Code's environment: put in front of each shell command
NOT_CONFINED = "dangerouslyDisableSandbox"  # an argument of its shell tool
_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class JudgingContext(NamedTuple):
    """Settings and places that a call is judged against.

    Args:
        cwd: the session's folder. home: of the user.
        placed: whether the host named the folder; else a path that is not absolute may be anywhere.
        protected: files and folders that are SecondBrain's own.
        read_only: patterns of tools that only read.
        guarded: places that decide how calls are judged.
        rules: of programs.
        too_large: whether one of these files is too large for a snapshot.
        mcp: patterns of MCP tools, and how they are treated (`hooks.mcp`).
        server: finds the MCP server of a call.
    """

    cwd: Path
    home: Path
    protected: Sequence[Path]
    read_only: Sequence[str] = ()
    too_large: Callable[[Sequence[str]], bool] = lambda paths: False
    guarded: Guarded = _NOTHING_GUARDED
    placed: bool = True
    rules: Ruleset = SHIPPED_RULES
    mcp: Mapping[str, str] = _NO_SETTINGS
    server: Callable[[NativeCall], Server] = lambda call: Server()

    def classify(self, line: str, cwd: Path | None = None, **options: Any) -> ShellVerdict:
        """The parser's verdict on a command line.

        Args:
            cwd: where it runs; by default the session's folder. options: of `sb.shell.classify`.
        """
        own: dict[str, Any] = {"protected": self.protected, "guarded": self.guarded, "rules": self.rules}
        return classify(line, cwd=cwd or self.cwd, home=self.home, **own, **options)


def judging_context(
    config: Config, event: HookEvent, files: HostedFiles | None = None, rules: Ruleset = SHIPPED_RULES
) -> JudgingContext:
    """The context of the calls of an event."""
    cwd = Path(event.cwd) if os.path.isabs(event.cwd) else Path("/")

    def server(call: NativeCall) -> Server:
        from sb.hosts.servers import built_in_servers, configured_servers, server_of  # few calls need it

        return server_of(
            call, [*configured_servers(event.host, os.environ, cwd), *built_in_servers(event.host)]
        )

    return JudgingContext(
        cwd,
        Path(os.path.expanduser("~")),
        protected(config),
        config.hooks.read_only,
        files.too_large if files else lambda paths: False,
        guarded(config.home, os.environ, judging_files(config)),
        os.path.isabs(event.cwd),
        rules,
        config.hooks.mcp,
        server,
    )


def may_be_confined(config: Config, event: HookEvent) -> bool:
    """True where confinement has a say in an event: its host starts commands by a program in front, or has to."""
    mode = config.hooks.confine
    asked_for = mode == "require" or bool(event.run) or SHELL_PREFIX in os.environ
    return mode != "off" and (asked_for or any(NOT_CONFINED in call.args for call in event.calls))
