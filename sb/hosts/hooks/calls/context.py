"""The context that a host's call is judged in, and the files that its arguments may name there."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from sb.config import Config
from sb.hosts.hooks.calls.servers import servers_of
from sb.hosts.hooks.calls.spellings import spellings
from sb.hosts.hooks.event import HookEvent, NativeCall, Server
from sb.parts import judging_files, protected
from sb.shell.places.guarded import Guarded
from sb.shell.programs.ruleset import SHIPPED_RULES, Ruleset
from sb.tools.hosted.files import HostedFiles
from sb.tools.hosted.guarding import guarded

LONGEST_PATH = 4096  # characters
MOST_TEXTS = 10_000  # among the arguments of one call
_FILE_ADDRESS = re.compile(r"file:(?://(?:localhost)?(?=/)|(?=/)|//(?=[~.$%]))?", re.IGNORECASE)
_HOME = re.compile(
    r"^(?:\$HOME|\$\{HOME\}|%USERPROFILE%|%HOME%|\$env:(?:HOME|USERPROFILE))(?=[/\\]|$)", re.IGNORECASE
)
_NOTHING_GUARDED = Guarded()
SHELL_PREFIX = "CLAUDE_CODE_SHELL_PREFIX"  # of Claude Code's environment: put in front of each shell command
NOT_CONFINED = "dangerouslyDisableSandbox"  # an argument of its shell tool
_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class JudgingContext(NamedTuple):
    """What a call is judged against.

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


def judging_context(
    config: Config, event: HookEvent, files: HostedFiles | None = None, rules: Ruleset = SHIPPED_RULES
) -> JudgingContext:
    """What the calls of an event are judged against."""
    cwd = Path(event.cwd) if os.path.isabs(event.cwd) else Path("/")
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
        servers_of(event.host, cwd),
    )


def may_be_confined(config: Config, event: HookEvent) -> bool:
    """True where confinement has a say in an event: its host starts commands by a program in front, or has to."""
    mode = config.hooks.confine
    asked_for = mode == "require" or bool(event.run) or SHELL_PREFIX in os.environ
    return mode != "off" and (asked_for or any(NOT_CONFINED in call.args for call in event.calls))


def readings(path: str, context: JudgingContext) -> list[str]:
    """The real paths that a path may name.

    Hosts differ: some take ".." away before they look at links, some put the home for "~".
    """
    paths: list[str] = []
    for spelling in spellings(path):
        if spelling == "~" or spelling.startswith("~/"):
            paths.append(str(context.home) + spelling[1:])
        paths.append(os.path.join(context.cwd, spelling))
    read = [os.path.realpath(form) for one in paths for form in (os.path.normpath(one), one)]
    return list(dict.fromkeys(read))


def loose_spellings(text: str, context: JudgingContext) -> list[str]:
    """The paths that a tool may read from a text: a file address, a home variable, either slash."""
    found = spellings(text)
    text = text.strip()
    if len(text) > 1 and text[0] in "'\"`" and text[-1] == text[0]:
        found.append(text[1:-1])
    if address := _FILE_ADDRESS.match(text):
        from urllib.parse import unquote  # few calls need it

        path = text[address.end() :]
        found += [unquote(path), unquote(re.split("[?#]", path)[0])]
    for path in tuple(found):
        if home := _HOME.match(path):
            found.append(str(context.home) + path[home.end() :])
        elif "$" in path:
            found.append(os.path.expandvars(path))
    found += [path.replace("\\", "/") for path in found if "\\" in path]
    return list(dict.fromkeys(found))


def own_read_refusal(args: dict[str, Any], context: JudgingContext) -> str:
    """Why a call that only reads is refused: it names SecondBrain's own files; "" if not."""
    paths: list[str] = []
    for count, text in enumerate(texts(args)):
        if count == MOST_TEXTS:
            return f"too many texts that may be paths (limit {MOST_TEXTS})"
        if "\0" in text:
            continue  # no system opens such a path
        for path in loose_spellings(text, context):
            if len(path) > LONGEST_PATH:  # what a host makes of it may be short
                path = os.path.normpath(os.path.join(context.cwd, path))
            if len(path) <= LONGEST_PATH:
                paths += readings(path, context)
    return own_path_refusal(paths, context)


def texts(value: Any) -> Iterator[str]:
    """Texts and names among arguments, however deep."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list | dict):
            waiting += one if isinstance(one, list) else [*one, *one.values()]


def own_path_refusal(paths: Iterable[str], context: JudgingContext) -> str:
    """Why a call on these files is refused: one is SecondBrain's own; "" if none is."""
    owns = [folded_path(os.path.realpath(own)) for own in context.protected]
    ours = next(
        (path for path in paths if any((folded_path(path) + "/").startswith(own + "/") for own in owns)), ""
    )
    return f"{ours} belongs to SecondBrain; agents must not read or change it" if ours else ""


def folded_path(path: str) -> str:
    """A path as a file system that ignores case compares it."""
    return path.casefold() if path.isascii() else unicodedata.normalize("NFC", path).casefold()
