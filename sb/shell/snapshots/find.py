"""Files that `find` deletes or edits, where its expression is a plain list of tests before one such action."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import translate
from typing import NamedTuple

from sb.shell.places.places import located

_MOST_LOOKED_AT = 50_000  # entries
# Tests that are left out of account, with the number of their arguments: without them more is found, never less.
_TESTS = {
    **dict.fromkeys(
        ("-empty", "-print", "-print0", "-readable", "-writable", "-executable", "-depth", "-prune"), 0
    ),
    **dict.fromkeys(
        "-iname -path -ipath -wholename -regex -iregex -mindepth -size -user -group -uid -gid -perm -newer -anewer -cnewer "
        "-mtime -atime -ctime -mmin -amin -cmin -links -inum".split(),
        1,
    ),
}


class Found(NamedTuple):
    """Action of `find`, and its targets.

    Args:
        action: "delete", or the words of the command that it runs, without the paths.
        paths: all that it may be done to, absolute. roots: the folders that it looks through.
    """

    action: Sequence[str]
    paths: list[str]
    roots: list[str]


class _Wanted:
    """The tests that count."""

    def __init__(self) -> None:
        self.names: list[Callable[[str], object]] = []
        self.kind = ""
        self.shown = "*"
        self.most_deep = 1 << 20

    def fits(self, name: str, kind: str) -> bool:
        return self.kind in ("", kind) and all(fits(name) for fits in self.names)


def found_by(folder: str, arguments: Sequence[str]) -> Found | str:
    """The targets that `find` may delete or edit, or the reason why they are unknown.

    Args:
        folder: where it runs. arguments: as it gets them.
    """
    words = list(arguments)
    at = next((n for n, word in enumerate(words) if word[:1] in ("-", "(", "!", ",")), len(words))
    places = [located(folder, text) if text not in (".", "./") else folder for text in words[:at] or ["."]]
    roots = [place for place in places if place is not None and not os.path.islink(place)]
    read = _read(words[at:])
    if isinstance(read, str) or len(roots) < len(places):
        return read if isinstance(read, str) else "find looks through a link"
    wanted, action = read
    whole = action == ["delete"] or (action[0] == "rm" and _is_recursive(action))
    paths: list[str] = []
    left = _MOST_LOOKED_AT
    for root in roots:
        for path, kind in _walk(root, wanted, whole, paths):
            left -= 1
            if left < 0:
                return f"find looks at more than {_MOST_LOOKED_AT} entries"
            if wanted.fits(os.path.basename(path), kind) and path != folder:
                paths.append(path)
    nothing = [
        f"{root}/{wanted.shown}" for root in roots
    ]  # a name that is absent, as a pattern that nothing fits is
    return Found(action, paths or nothing, roots)


def _is_recursive(command: Sequence[str]) -> bool:
    options = command[1 : command.index("--")] if "--" in command else command[1:]
    return any(re.fullmatch(r"-[a-zA-Z]*[rR][a-zA-Z]*|--recursive", word) for word in options)


def _read(words: list[str]) -> tuple[_Wanted, list[str]] | str:
    """The tests, and the action at the end; or why they are not followed."""
    wanted, at = _Wanted(), 0
    while at < len(words):
        word, value = words[at], words[at + 1] if at + 1 < len(words) else ""
        at += 1
        if word in ("!", "-not") and (value in _TESTS or value in ("-name", "-type")):
            at += 1 + _TESTS.get(value, 1)
        elif word == "-name" and re.fullmatch(r"[^\[\]\\]+", value):
            wanted.names.append(re.compile(translate(value)).match)
            wanted.shown, at = value.replace("/", ""), at + 1
        elif word == "-type" and value in ("f", "d", "l"):
            wanted.kind, at = value, at + 1
        elif word == "-maxdepth" and value.isascii() and value.isdigit():
            wanted.most_deep, at = int(value), at + 1
        elif word in _TESTS:
            at += _TESTS[word]
        elif word == "-delete" and at == len(words):
            return wanted, ["delete"]
        elif word == "-exec" and words[-2:] in (["{}", "+"], ["{}", ";"]) and value in ("rm", "sed"):
            command = words[at:-2]
            return "{} is not its last word" if "{}" in command or ";" in command else (wanted, command)
        else:
            return f"{word} of find is not followed"
    return "what find does is not followed"


def _walk(root: str, wanted: _Wanted, whole: bool, taken: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Entries as `find` meets them, each with its kind; not below those that are taken as a whole."""
    if not os.path.lexists(root):
        return
    waiting = [(root, 0)]
    yield root, "d" if os.path.isdir(root) else "f"
    while waiting:
        folder, depth = waiting.pop()
        if (
            depth >= wanted.most_deep
            or not os.path.isdir(folder)
            or (whole and taken and taken[-1] == folder)
        ):
            continue
        with os.scandir(folder) as entries:
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                yield entry.path, "d" if is_folder else "l" if entry.is_symlink() else "f"
                if is_folder and not (whole and taken and taken[-1] == entry.path):
                    waiting.append((entry.path, depth + 1))
