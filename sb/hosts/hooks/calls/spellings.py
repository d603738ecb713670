"""Paths as a host may read them: trimmed, as an address, or in a list that is given as text.

A spelling too many is looked at for nothing; one too few leads to a file that nobody has judged.
"""

from __future__ import annotations

import re
from typing import Any

from sb.hosts.hooks.calls.fields import decoded
from sb.kernel.calls.call import PATH_FIELDS

_LIST_FIELDS = ("edits", "replacements")  # VS Code reads a list also from its JSON text
# White space of Unicode and of JavaScript but for what one of them lacks; str.strip() takes control characters too.
SPACE = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_SPACE = f"{SPACE}\ufeff"  # as JavaScript trims it
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?://[^/]*)?(/.*)", re.DOTALL)
# A line break is "\n", for some parsers "\r" too; spaces may stand before a header. What a file is given begins with "+",
# "-" or a space. Some parsers cut a path at a colon.
_HEADERS = re.compile(r"^[^\S\n]*\*\*\* (?:Add File|Update File|Delete File|Move to):(.*)$", re.MULTILINE)
_PATCH_SPACE = f"{SPACE}\x85"  # Unicode White_Space, as these parsers trim it


def spellings(path: str) -> list[str]:
    """The paths that a host may read from a text: unchanged, trimmed, and from an address."""
    found: dict[str, None] = {}
    for text in (path, path.strip(_SPACE), path.strip()):
        found[text] = None
        address = _ADDRESS.fullmatch(text)
        if address:
            from urllib.parse import unquote  # for addresses alone: most calls name paths

            whole = address[2]
            for part in (whole, re.split("[?#]", whole, maxsplit=1)[0]):
                found[part] = None
                found[unquote(part, errors="surrogateescape")] = None
    return [text for text in found if text == path or (text and "\0" not in text)]


def is_elsewhere(path: str) -> bool:
    """True for an address of something other than a file of this machine, such as `vscode-userdata:/…`."""
    address = _ADDRESS.fullmatch(path.strip(_SPACE))
    return address is not None and address[1].lower() != "file"


def named_paths(args: dict[str, Any]) -> list[str]:
    """The files that a tool's arguments name, also in lists; none if a field is not as documented."""
    lists = [decoded(value) if name in _LIST_FIELDS else value for name, value in args.items()]
    changes = [decoded(args[name]) for name in _LIST_FIELDS if args.get(name) is not None]
    if not all(isinstance(value, list) for value in changes):
        return []
    tables = [args, *(item for value in lists if isinstance(value, list) for item in value)]
    named = [table.get(field) for table in tables if isinstance(table, dict) for field in PATH_FIELDS]
    if any(value is not None and not isinstance(value, str) for value in named):
        return []
    return [value for value in named if value]


def changed_paths(patch: str) -> list[str]:
    """The paths that a patch in the form of `apply_patch` adds, updates, deletes and moves to, in order.

    Its parsers differ in how they trim a line, so a path is given in each way that one of them may read it: a file too many
    costs a snapshot, one too few could not be restored.
    """
    found: dict[str, None] = {}
    for text in (patch, patch.replace("\r", "\n")) if "\r" in patch else (patch,):
        for header in _HEADERS.finditer(text):
            exact = header[1].removesuffix("\r").removeprefix(" ")
            cut = exact.partition(":")[0]
            for path in (
                exact.strip(_PATCH_SPACE),
                exact.rstrip(_PATCH_SPACE),
                exact,
                cut.strip(_PATCH_SPACE),
            ):
                if path.strip(_PATCH_SPACE):
                    found[path] = None
    return list(found)
