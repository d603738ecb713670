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

from sb.canonical import NotCanonical, canonical_bytes, digest
from sb.hosts.hooks.calls.context import (
    LONGEST_PATH,
    JudgingContext,
    loose_spellings,
    own_path_refusal,
    own_read_refusal,
    readings,
    texts,
)
from sb.hosts.hooks.calls.overwriting import edits_named_text, holds_credentials
from sb.hosts.hooks.calls.patches import changed_paths
from sb.hosts.hooks.calls.spellings import is_elsewhere, named_paths, spellings
from sb.hosts.hooks.event import GovernedCall, NativeCall
from sb.hosts.hooks.guards.secrets import with_secrets
from sb.hosts.hooks.tools import OF_SERVERS, known_tools, tools
from sb.kernel.contracts import SafetyClass
from sb.redaction import one_line
from sb.shell import ShellVerdict, classify
from sb.shell.places.guarded import refusal
from sb.shell.places.sensitive import folded, host_setting, matches_below, sensitive
from sb.shell.snapshots.keeping import NOTHING_KNOWN
from sb.tools.hosted.contracts import AGENT, FETCH, MCP, READ, SHELL, UNKNOWN, WRITE, WRITE_CONFIG
from sb.tools.hosted.files import MOST_FILES

LONGEST_INPUT = 65_536  # bytes of a call's arguments that are judged whole, and may be shown to a person
MOST_PATHS = 2 * MOST_FILES  # of one call; a patch names each file in up to three ways
MOST_OF_A_PATH = 300  # characters
FOLDER = "(folder)"  # is put among the arguments of a tool of which nothing is known

_PATTERNS = ("glob", "include", "include_pattern", "includePattern")


def govern(call: NativeCall, context: JudgingContext) -> GovernedCall:
    """The contract and the arguments under which a host's call is judged."""
    if call.cwd:
        context = context._replace(
            cwd=context.cwd / call.cwd, placed=context.placed or os.path.isabs(call.cwd)
        )
    if call.separator and not _is_known(call, context):
        from sb.hosts.servers import mcp_named

        call = mcp_named(call, context.server(call))
    governed = _governed(call, context)
    apart = call.tool in tools("shell") or call.tool in tools("write") or call.tool in tools("patch")
    return governed if apart else with_secrets(call, governed, context)


def _is_known(call: NativeCall, context: JudgingContext) -> bool:
    """True if the name tells the tool; one of a host's own that a server's name may begin does not."""
    own = call.tool in known_tools() and call.separator not in call.tool
    return own or call.tool.startswith(OF_SERVERS) or _only_reads(call.tool, context)


def _only_reads(tool: str, context: JudgingContext) -> bool:
    return any(fnmatchcase(tool, pattern) for pattern in context.read_only)


def _governed(call: NativeCall, context: JudgingContext) -> GovernedCall:
    """The contract, the arguments and the class of a call, whatever credentials it reads."""
    if call.tool in tools("shell") and call.args.get("command") and isinstance(call.args["command"], str):
        return _shell(call, context)
    if call.tool in tools("write"):
        return changing(call, named_paths(call.args), context)
    if call.tool in tools("patch"):
        return changing(call, changed_paths("\n".join(texts(call.args))), context)
    args = {"tool": call.tool, "input": for_record(call.args)}
    if call.tool in tools("read") or _only_reads(call.tool, context):
        refused = own_read_refusal(call.args, context) or _search_refusal(call, context)
        return GovernedCall(READ, args, SafetyClass.READ_ONLY, refused)
    if call.tool in tools("fetch"):
        return GovernedCall(FETCH, args, SafetyClass.NETWORK, own_read_refusal(call.args, context))
    if call.tool in tools("agent"):
        return GovernedCall(AGENT, args, SafetyClass.LOCAL_WRITE)
    if call.tool.startswith(OF_SERVERS):
        from sb.hosts.hooks.calls.mcp import govern_mcp

        inspected = _inspected(call, GovernedCall(MCP, args, SafetyClass.NETWORK), context)
        return govern_mcp(call, inspected, context)
    return _inspected(call, _unknown(call, context), context)


def _inspected(call: NativeCall, governed: GovernedCall, context: JudgingContext) -> GovernedCall:
    """A call of an unknown tool, under a stricter contract if its arguments need one."""
    from sb.hosts.hooks.calls.arguments import inspect_arguments

    found = inspect_arguments(call.tool, call.args, context)
    if found.refused or governed.safety_class is SafetyClass.DESTRUCTIVE:
        return governed._replace(refused=found.refused)
    if found.verdict is not None:
        shell = {"command": found.command, "cwd": found.cwd, "why": found.verdict.reason, **governed.args}
        return GovernedCall(SHELL[SafetyClass.DESTRUCTIVE], shell, SafetyClass.DESTRUCTIVE)
    if not found.changes:
        return governed
    if any(map(os.path.isdir, found.changes)) or len(found.changes) > MOST_FILES:
        why = f"would change {found.changes[0]}"  # of which no snapshot can be taken
        return _unknown(call, context)._replace(why=why)
    args = {"paths": list(found.changes), **governed.args}
    if context.too_large(found.changes):
        args["keep"] = False
    why = _loses(found.lost) if list(found.changes) == [found.lost] else ""
    return GovernedCall(WRITE_CONFIG, args, SafetyClass.DESTRUCTIVE, paths=found.changes, why=why)


def _unknown(call: NativeCall, context: JudgingContext, refused: str = "") -> GovernedCall:
    """A call with unknown effects; its folder is part of what a person approves."""
    args = {"tool": call.tool, "input": for_record({**call.args, FOLDER: str(context.cwd)})}
    return GovernedCall(UNKNOWN, args, SafetyClass.DESTRUCTIVE, refused)


def _loses(path: str) -> str:
    return f"replaces or deletes {one_line(path, MOST_OF_A_PATH)}, which holds credentials" if path else ""


def changing(call: NativeCall, paths: Sequence[str], context: JudgingContext) -> GovernedCall:
    """A call that changes files."""
    unplaced = not context.placed and not all(
        any(form.startswith(("/", "~")) for form in spellings(path)) for path in paths
    )
    if not paths or unplaced or any(is_elsewhere(path) for path in paths):
        return _inspected(call, _unknown(call, context), context)
    if len(paths) > MOST_PATHS or any(len(path) > LONGEST_PATH for path in paths):
        return _unknown(
            call, context, f"too many files to check (limit {MOST_PATHS}), or a path that is too long"
        )
    real = list(dict.fromkeys(reading for path in paths for reading in readings(path, context)))
    # A link may lead away from where settings are.
    unresolved = [os.path.normpath(context.cwd / form) for path in paths for form in spellings(path)]
    places = dict.fromkeys((*real, *unresolved))
    place = context.guarded.changed(places)
    decides = place is not None or any(
        host_setting(folded(path)) or sensitive(path, str(context.home)) for path in places
    )
    args: dict[str, Any] = {"paths": real, "tool": call.tool, "input": for_record(call.args)}
    if context.too_large(real):
        args["keep"] = False
    lost = "" if edits_named_text(call) else next(filter(holds_credentials, real), "")
    tool_id, safety_class = (
        (WRITE_CONFIG, SafetyClass.DESTRUCTIVE) if decides or lost else (WRITE, SafetyClass.LOCAL_WRITE)
    )
    loose = (form for path in paths for form in loose_spellings(path, context) if form not in paths)
    refused = own_path_refusal(real, context) or own_path_refusal(
        (one for form in loose for one in readings(form, context)), context
    )
    refused = refused or (refusal(paths[0]) if place and not place.asks else "")
    why = _loses(lost)
    return GovernedCall(tool_id, args, safety_class, refused, tuple(real), "" if decides else why)


def _shell(call: NativeCall, context: JudgingContext) -> GovernedCall:
    command = str(call.args["command"])
    folder_unknown = call.folder_unknown or not context.placed
    verdict = classify(
        command,
        cwd=context.cwd,
        home=context.home,
        protected=context.protected,
        guarded=context.guarded,
        wandered=folder_unknown,
        gone=context.placed and not os.path.isdir(context.cwd),
        rules=context.rules,
    )
    if call.tool in tools("powershell"):  # read as bash, it still shows what is refused, but not what it does
        unread = "cannot be parsed: PowerShell"
        verdict = verdict._replace(
            safety_class=SafetyClass.DESTRUCTIVE, reason=unread, changes=NOTHING_KNOWN, commands=()
        )
    verdict = _patching(call, verdict, context)
    if (
        folder_unknown
        and verdict.safety_class is not SafetyClass.READ_ONLY
        and not _GOES_FIRST.match(command)
    ):
        setting = _may_be_a_setting(command, verdict.writes, context)
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
        args["input"] = for_record(rest)
    changes = None if call.in_background else verdict.changes
    governed = GovernedCall(
        SHELL[verdict.safety_class], args, verdict.safety_class, verdict.refused, changes=changes
    )
    return governed._replace(
        writes=verdict.writes,
        secrets=verdict.secrets,
        flow=verdict.flow,
        uploads=verdict.uploads,
        in_background=call.in_background,
        replaced=verdict.replaced,
        scripts=verdict.scripts,
        commands=verdict.commands,
        disclosed=verdict.disclosed,
    )


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


def _patching(call: NativeCall, verdict: ShellVerdict, context: JudgingContext) -> ShellVerdict:
    """The verdict on a command line with a patch: Codex runs `apply_patch` in one as its own tool."""
    command = str(call.args["command"])
    paths = changed_paths(command)
    if not paths:
        return verdict
    folders = [context.cwd, context.home, *(found[2] for found in _GOES.finditer(command))][:_MOST_FOLDERS]
    for folder in folders:
        there = context.cwd / os.path.expanduser(folder)
        patch = changing(call, paths, context._replace(cwd=there))
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
    """Why the arguments of a call cannot be shown in full to a person, or ""."""
    given = governed.args.get("input")
    if not isinstance(given, ByDigest):
        return ""
    size = f"{given['bytes']:,} bytes, limit {LONGEST_INPUT:,}" if "bytes" in given else given["unreadable"]
    return f"it cannot be shown in full ({size}); split it into smaller calls"


def _search_refusal(call: NativeCall, context: JudgingContext) -> str:
    """Why a search is refused: its file pattern reaches SecondBrain's own files; "" if not."""
    below = (call.args.get(name) for name in ("path", "dir_path", "target_directory"))
    readable = (
        text for text in below if isinstance(text, str) and "\0" not in text and len(text) <= LONGEST_PATH
    )
    folders = [str(context.cwd), *(reading for text in readable for reading in readings(text, context))]
    names = ("pattern", "query", "glob_pattern") if call.tool in tools("finds") else _PATTERNS
    if call.tool in tools("searches") and not any(call.args.get(name) for name in names):
        searched = folders[1:] or folders
        for own in map(os.path.realpath, context.protected):
            if any(folded(own)[: len(folded(folder))] == folded(folder) for folder in searched):
                return f"{own} is in the searched folder; search a narrower folder, or use a glob"
    for text in (text for name in names for text in texts(call.args.get(name)) if len(text) <= LONGEST_PATH):
        patterns = [os.path.normpath(os.path.join(folder, text)) for folder in folders]
        for own in map(os.path.realpath, context.protected):
            if any(matches_below(folded(pattern), folded(own)) for pattern in patterns):
                return own_path_refusal([own], context)
    return ""
