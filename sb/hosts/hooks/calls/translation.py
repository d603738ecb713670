"""Translate a host's call into one of our contracts and its arguments.

What nothing is known of comes under the strictest one.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.base.values.canonical import NotCanonical, canonical_bytes, digest
from sb.hosts.hooks.calls.context import JudgingContext
from sb.hosts.hooks.calls.credentials import with_credentials
from sb.hosts.hooks.calls.overwriting import edits_named_text, holds_credentials
from sb.hosts.hooks.calls.reading import LONGEST_PATH, CallReading, texts
from sb.hosts.hooks.calls.searching import GLOBS
from sb.hosts.hooks.calls.spellings import changed_paths, is_elsewhere, named_paths, spellings
from sb.hosts.hooks.event import GovernedCall, NativeCall
from sb.hosts.hooks.tools import OF_SERVERS, known_tools, tools
from sb.kernel.calls.approval import OUTSIDE_CONFINEMENT
from sb.kernel.calls.call import AnsweredBy, Ask
from sb.kernel.contracts import SafetyClass
from sb.shell import ShellVerdict
from sb.shell.places.guarded import refusal
from sb.shell.places.sensitive import folded, host_setting, matches_below, sensitive
from sb.shell.snapshots.keeping import NOTHING_KNOWN
from sb.tools.hosted.contracts import AGENT, FETCH, MCP, READ, SHELL, UNKNOWN, WRITE, WRITE_CONFIG
from sb.tools.hosted.files import MOST_FILES

LONGEST_INPUT = 65_536  # bytes of a call's arguments that are judged whole, and may be shown to a person
MOST_PATHS = 2 * MOST_FILES  # of one call; a patch names each file in up to three ways
MOST_OF_A_PATH = 300  # characters
FOLDER = "(folder)"  # is put among the arguments of a tool of which nothing is known


def placed(call: NativeCall, context: JudgingContext) -> tuple[NativeCall, JudgingContext]:
    """The call under its full name, and the context of the folder that it is made in."""
    if call.cwd:
        context = context._replace(
            cwd=context.cwd / call.cwd, placed=context.placed or os.path.isabs(call.cwd)
        )
    if call.separator and not _is_known(call, context):
        from sb.hosts.servers import mcp_named

        call = mcp_named(call, context.server(call))
    return call, context


def govern(call: CallReading) -> GovernedCall:
    """The contract and the arguments under which a host's call is judged, and its effects."""
    governed = _governed(call)
    apart = call.tool in tools("shell") or call.tool in tools("write") or call.tool in tools("patch")
    return governed if apart else with_credentials(call, governed)


def _is_known(call: NativeCall, context: JudgingContext) -> bool:
    """True if the name tells the tool; one of a host's own that a server's name may begin does not."""
    own = call.tool in known_tools() and call.separator not in call.tool
    return own or call.tool.startswith(OF_SERVERS) or _only_reads(call.tool, context)


def _only_reads(tool: str, context: JudgingContext) -> bool:
    return any(fnmatchcase(tool, pattern) for pattern in context.read_only)


def _governed(call: CallReading) -> GovernedCall:
    """The contract, the arguments and the class of a call, whatever credentials it reads."""
    if call.tool in tools("shell") and call.args.get("command") and isinstance(call.args["command"], str):
        return _shell(call)
    if call.tool in tools("write"):
        return _changing(call, named_paths(call.args))
    if call.tool in tools("patch"):
        return _changing(call, changed_paths("\n".join(texts(call.args))))
    args = {"tool": call.tool, "input": for_record(call.args)}
    if call.tool in tools("read") or _only_reads(call.tool, call.context):
        refused = call.own_read_refusal() or _search_refusal(call)
        return GovernedCall(READ, args, SafetyClass.READ_ONLY, refused)
    if call.tool in tools("fetch"):
        return GovernedCall(FETCH, args, SafetyClass.NETWORK, call.own_read_refusal())
    if call.tool in tools("agent"):
        return GovernedCall(AGENT, args, SafetyClass.LOCAL_WRITE)
    if call.tool.startswith(OF_SERVERS):
        from sb.hosts.hooks.calls.mcp import govern_mcp

        return govern_mcp(call, _inspected(call, GovernedCall(MCP, args, SafetyClass.NETWORK)))
    return _inspected(call, _unknown(call))


def _inspected(call: CallReading, governed: GovernedCall) -> GovernedCall:
    """A call of an unknown tool, under a stricter contract if its arguments need one."""
    from sb.hosts.hooks.calls.arguments import inspect_arguments

    inspection = inspect_arguments(call)
    if inspection.refused or governed.safety_class is SafetyClass.DESTRUCTIVE:
        return governed._replace(refused=inspection.refused)
    if inspection.verdict is not None:
        why = inspection.verdict.reason
        shell = {"command": inspection.command, "cwd": inspection.cwd, "why": why, **governed.args}
        return GovernedCall(SHELL[SafetyClass.DESTRUCTIVE], shell, SafetyClass.DESTRUCTIVE)
    paths, lost = inspection.changes, inspection.lost
    if not paths:
        return governed
    if any(map(os.path.isdir, paths)) or len(paths) > MOST_FILES:
        # of which no snapshot can be taken
        return _unknown(call)._replace(why=f"would change {paths[0]}")
    args = {"paths": list(paths), **governed.args}
    if call.context.too_large(paths):
        args["keep"] = False
    why = _loses(lost) if paths == (lost,) else ""
    return GovernedCall(WRITE_CONFIG, args, SafetyClass.DESTRUCTIVE, paths=paths, why=why)


def _unknown(call: CallReading, refused: str = "") -> GovernedCall:
    """A call with unknown effects; its folder is part of what a person approves."""
    args = {"tool": call.tool, "input": for_record({**call.args, FOLDER: str(call.context.cwd)})}
    return GovernedCall(UNKNOWN, args, SafetyClass.DESTRUCTIVE, refused)


def _loses(path: str) -> str:
    return f"replaces or deletes {one_line(path, MOST_OF_A_PATH)}, which holds credentials" if path else ""


def _changing(call: CallReading, paths: Sequence[str]) -> GovernedCall:
    """A call that changes files."""
    context = call.context
    named = [spellings(path) for path in paths]
    unplaced = not context.placed and not all(
        any(form.startswith(("/", "~")) for form in forms) for forms in named
    )
    if not paths or unplaced or any(is_elsewhere(path) for path in paths):
        return _inspected(call, _unknown(call))
    if len(paths) > MOST_PATHS or any(len(path) > LONGEST_PATH for path in paths):
        return _unknown(call, f"too many files to check (limit {MOST_PATHS}), or a path that is too long")
    real = list(dict.fromkeys(reading for path in paths for reading in call.readings(path)))
    # A link may lead away from where settings are.
    unresolved = [os.path.normpath(context.cwd / form) for forms in named for form in forms]
    places = dict.fromkeys((*real, *unresolved))
    place = context.guarded.changed(places)
    decides = place is not None or any(
        host_setting(folded(path)) or sensitive(path, str(context.home)) for path in places
    )
    args: dict[str, Any] = {"paths": real, "tool": call.tool, "input": for_record(call.args)}
    if context.too_large(real):
        args["keep"] = False
    lost = "" if edits_named_text(call.native) else next(filter(holds_credentials, real), "")
    tool_id, safety_class = (
        (WRITE_CONFIG, SafetyClass.DESTRUCTIVE) if decides or lost else (WRITE, SafetyClass.LOCAL_WRITE)
    )
    loose = (form for path in paths for form in call.loose_spellings(path) if form not in paths)
    refused = call.own_path_refusal(real) or call.own_path_refusal(
        reading for form in loose for reading in call.readings(form)
    )
    refused = refused or (refusal(paths[0]) if place and not place.asks else "")
    return GovernedCall(tool_id, args, safety_class, refused, tuple(real), "" if decides else _loses(lost))


def _shell(call: CallReading) -> GovernedCall:
    context, command = call.context, str(call.args["command"])
    folder_unknown = call.native.folder_unknown or not context.placed
    verdict = call.line(
        command, wandered=folder_unknown, gone=context.placed and not os.path.isdir(context.cwd)
    )
    if call.tool in tools("powershell"):  # read as bash, it still shows what is refused, but not what it does
        unread = "cannot be parsed: PowerShell"
        verdict = verdict._replace(
            safety_class=SafetyClass.DESTRUCTIVE, reason=unread, changes=NOTHING_KNOWN, commands=()
        )
    verdict = _patching(call, verdict)
    if (
        folder_unknown
        and verdict.safety_class is not SafetyClass.READ_ONLY
        and not _GOES_FIRST.match(command)
    ):
        setting = _may_be_a_setting(command, (*verdict.writes, *verdict.made_folders), context)
        refused = (
            f"{setting} may be a host's settings or a git hook there: {_FOLDER_UNKNOWN}" if setting else ""
        )
        verdict = verdict._replace(
            reason=f"{verdict.reason}; {_FOLDER_UNKNOWN}", refused=verdict.refused or refused
        )
    # What it does comes first: a list shows the beginning of the arguments alone.
    args: dict[str, Any] = {
        "command": command,
        "cwd": str(context.cwd),
        "why": verdict.reason,
        "tool": call.tool,
    }
    # What the model says of its command, and how long it may take, make it no other call.
    rest = {name: value for name, value in call.args.items() if name not in _ABOUT_THE_COMMAND}
    if rest:
        args |= {"input": for_record(rest)}
    if call.native.in_background:
        verdict = verdict._replace(changes=NOTHING_KNOWN)
    tool_id = SHELL[verdict.safety_class]
    asks = (Ask(OUTSIDE_CONFINEMENT, verdict.asked, AnsweredBy.BY_HOST),) if verdict.asked else ()
    return GovernedCall(tool_id, args, verdict.safety_class, verdict.refused, asks=asks, effects=verdict)


def _may_be_a_setting(command: str, writes: Sequence[str], context: JudgingContext) -> str:
    """The written file without a folder that may be a host's settings where the line runs, or ""."""
    names = (
        os.path.basename(path) for path in writes if os.path.dirname(path) == str(context.cwd) not in command
    )
    return next((name for name in names if name.casefold() in _NAMES_OF_SETTINGS), "")


_NAMES_OF_SETTINGS = frozenset(
    "settings.json settings.local.json hooks.json mcp.json mcp_config.json tasks.json cli.json cli-config.json config.toml config.yaml "
    "operators.json trustedfolders.json trusted_hooks.json authorized_keys pre-commit pre-push commit-msg post-checkout "
    "post-commit post-merge prepare-commit-msg".split()
)


def _patching(call: CallReading, verdict: ShellVerdict) -> ShellVerdict:
    """The verdict on a command line with a patch: Codex runs `apply_patch` in one as its own tool."""
    command = str(call.args["command"])
    paths = changed_paths(command)
    if not paths:
        return verdict
    named = (match[2] for match in _GOES.finditer(command))
    for folder in [call.context.cwd, call.context.home, *named][:_MOST_FOLDERS]:
        patch = _changing(call.at(os.path.expanduser(folder)), paths)
        verdict = verdict._replace(refused=verdict.refused or patch.refused)
        if patch.tool_id != WRITE:
            why = "has a patch of a host's settings, a login, what git runs, or the system"
            verdict = verdict._replace(
                safety_class=SafetyClass.DESTRUCTIVE, reason=why, changes=NOTHING_KNOWN
            )
    return verdict


_FOLDER_UNKNOWN = "its working folder is unknown (begin the command with cd /FOLDER &&)"
_MOST_FOLDERS = 8
_GOES = re.compile(r"""\bcd\s+(?:--\s+)?(["']?)([^\s"';&|][^"';&|\n]{0,200}?)\1\s*(?:&&|;|\n)""")
_ABOUT_THE_COMMAND = frozenset(("command", "description", "explanation", "goal", "timeout", "timeout_ms"))
# A line that goes to a folder of its own first.
_GOES_FIRST = re.compile(r"""\s*cd\s+(?:--\s+)?(["']?)/[^\s"'$`;&|<>(){}*?\[\]\\]*\1\s*&&""")


class ByDigest(dict[str, Any]):
    """The digest in place of arguments."""


def for_record(value: dict[str, Any]) -> dict[str, Any]:
    """The arguments as they are judged and recorded: whole, or their digest if they are long."""
    try:
        encoded = canonical_bytes(value)
    except NotCanonical as error:
        # Another call that cannot be read either is another call: a decision is about one of them.
        return ByDigest(unreadable=str(error), sha256=digest(json.dumps(value, sort_keys=True).encode()))
    if len(encoded) <= LONGEST_INPUT:
        return value
    return ByDigest(sha256=digest(encoded), bytes=len(encoded))


def unshowable(governed: GovernedCall) -> str:
    """The reason why the arguments of a call cannot be shown in full to a person, or ""."""
    given = governed.args.get("input")
    if not isinstance(given, ByDigest):
        return ""
    size = f"{given['bytes']:,} bytes, limit {LONGEST_INPUT:,}" if "bytes" in given else given["unreadable"]
    return f"it cannot be shown in full ({size}); split it into smaller calls"


def _search_refusal(call: CallReading) -> str:
    """The reason why a search is refused: its file pattern reaches SecondBrain's own files; "" if not."""
    below = (call.args.get(name) for name in ("path", "dir_path", "target_directory"))
    readable = (
        text for text in below if isinstance(text, str) and "\0" not in text and len(text) <= LONGEST_PATH
    )
    folders = [str(call.context.cwd), *(reading for text in readable for reading in call.readings(text))]
    names = ("pattern", "query", "glob_pattern") if call.tool in tools("finds") else GLOBS
    if call.tool in tools("searches") and not any(call.args.get(name) for name in names):
        searched = folders[1:] or folders
        for own in call.owns:
            if any(folded(own)[: len(folded(folder))] == folded(folder) for folder in searched):
                return f"{own} is in the searched folder; search a narrower folder, or use a glob"
    for text in (text for name in names for text in texts(call.args.get(name)) if len(text) <= LONGEST_PATH):
        patterns = [os.path.normpath(os.path.join(folder, text)) for folder in folders]
        for own in call.owns:
            if any(matches_below(folded(pattern), folded(own)) for pattern in patterns):
                return call.own_path_refusal([own])
    return ""
