"""Searches by tools of hosts and of MCP servers that would show a line of a file with credentials."""

from __future__ import annotations

import os
from collections.abc import Iterator

from sb.base.secrets.redaction import one_line
from sb.hosts.hooks.calls.fields import text
from sb.hosts.hooks.calls.reading import LONGEST_PATH, CallReading
from sb.shell.credentials.files import secrets_below
from sb.shell.credentials.searching import may_print
from sb.shell.snapshots.git_ignore import Ignored

# What hosts call the argument that each of these is; the first one that is given counts.
_PATTERNS = ("pattern", "query", "regex", "search")
_FOLDERS = ("path", "dir_path", "directory", "folder", "root")
GLOBS = ("glob", "include", "include_pattern", "includePattern")
_NAMES_ONLY = ("files_with_matches", "count", "files", "filenames")
_MOST_OF_RULES = 64 * 1024  # characters


def shown_by_search(call: CallReading, *, by_host: bool) -> str:
    """The reason why a search of a folder shows a credential, or "".

    Of the pattern only its plain texts are looked at.

    Args:
        by_host: the host's own tool, which leaves out what git ignores; Claude Code's tells names by default.
    """
    pattern, folder = text(call.args, *_PATTERNS), text(call.args, *_FOLDERS) or str(call.context.cwd)
    mode = call.args.get("output_mode", "files_with_matches" if call.tool == "Grep" else "content")
    if not pattern or mode in _NAMES_ONLY or len(folder) > LONGEST_PATH:
        return ""
    options = ["--hidden", "-e", pattern]
    if shape := text(call.args, *GLOBS):
        options += ["-g", shape]
    if kind := text(call.args, "type"):
        options += ["-t", kind]
    for place in dict.fromkeys(call.readings(folder)):
        for name, secret in secrets_below(place):
            path = os.path.join(place, name)
            if may_print("rg", options, path) and not (by_host and _is_ignored(path)):
                return f"reads {secret.what}: {one_line(path, 80)}"
    return ""


def _is_ignored(path: str) -> bool:
    """True if the ignore files of the repository surely leave a file out."""
    for root in _above(os.path.dirname(path)):
        if os.path.lexists(os.path.join(root, ".git")):

            def rules(folder: str, root: str = root) -> str:
                return _read(os.path.join(root, folder, ".gitignore"))

            return Ignored(rules).surely(os.path.relpath(path, root), folder=False)
    return False


def _above(folder: str) -> Iterator[str]:
    while True:
        yield folder
        if os.path.dirname(folder) == folder:
            return
        folder = os.path.dirname(folder)


def _read(path: str) -> str:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8", errors="replace") as opened:
            return opened.read(_MOST_OF_RULES)
    except OSError:
        return ""
