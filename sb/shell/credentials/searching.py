"""Folders that a command reads whole: a search in a folder above `SB_HOME` reads its keys too."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from sb.shell.parsing.words import compiled
from sb.shell.programs.facts import having
from sb.shell.programs.rules import operands

_GREPS = frozenset(("grep", "egrep", "fgrep", "zgrep", "ggrep"))
_OTHERS, _SKIP_HIDDEN = having("searches_folders"), having("skips_hidden")
_VALUED = (
    "-e -f -m -A -B -C -d -D -g -t -T -G -j -M --regexp --file --include --exclude --exclude-dir --max-count --glob --iglob --type "
    "--type-not --context --after-context --before-context --max-depth --threads"
)
_RECURSIVE = compiled(
    "-[a-zA-Z]*[rR][a-zA-Z]*|--recursive|--dereference-recursive|--directories=recurse|-drecurse"
)
_HIDDEN = compiled(r"-[a-zA-Z]*\..*|--hidden|--unrestricted|-[a-zA-Z]*u[a-zA-Z]*")
_GIVES_PATTERN = compiled("-[a-zA-Z]*[ef]|--regexp.*|--file.*|--files")
_GIVES_TEXT = compiled("-[a-zA-Z]*e|--regexp")
_TELLS_NAMES = compiled(
    "-[a-zA-Z]*[cqlL][a-zA-Z]*|--count|--quiet|--silent|--files(?:-with(?:out)?-match(?:es)?)?"
)
_INVERTED = compiled("-[a-zA-Z]*v[a-zA-Z]*|--invert-match")
_GLOBS = ("-g", "--glob", "--iglob")
_CLASS = compiled(r"\[[^\]]*\]|\\[a-zA-Z<>]|\{[\d,]*\}|.[*?]")
_LITERAL = compiled(r"[\w =:/@#-]+")
_MOST_OF_A_FILE = 64 * 1024  # characters
FINDERS = frozenset(("find", "fd", "fdfind"))  # which print names alone
_UNTRACKED = frozenset(("--no-index", "--no-exclude-standard"))  # with these `git grep` reads ignored files
RUNS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))


def searched_folders(program: str, arguments: Sequence[str]) -> list[str]:
    """The folders whose files a program reads whatever their names; "." if it names none."""
    if program == "find":
        if not RUNS & set(arguments):
            return []
        tests = (
            at for at, word in enumerate(arguments) if word[:1] in "-(!" and word not in ("-H", "-L", "-P")
        )
        return [word for word in arguments[: next(tests, None)] if word[:1] != "-"] or ["."]
    if program == "git" and "grep" in arguments[:1] and _UNTRACKED & set(arguments):
        program, arguments = "rgrep", arguments[1:]
    if not _reads_folders(program, arguments):
        return []
    words = [arguments[at] for at in operands(arguments, _VALUED)]
    if not any(_GIVES_PATTERN.fullmatch(word) for word in arguments):
        words = words[1:]
    return words or ["."]


def may_print(program: str, arguments: Sequence[str], path: str) -> bool:
    """True if a search of a folder prints a line of this file in it, by its texts; none where a name leaves it out."""
    name = os.path.basename(path)
    if not _looks_into(arguments, name) or any(_TELLS_NAMES.fullmatch(word) for word in arguments):
        return False
    words = [arguments[at] for at in operands(arguments, _VALUED)][program == "git" :]  # behind `git grep`
    patterns = [after for word, after in itertools.pairwise(arguments) if _GIVES_TEXT.fullmatch(word)]
    patterns += [word.partition("=")[2] for word in arguments if word.startswith("--regexp=")]
    patterns = [""] if any(map(_INVERTED.fullmatch, arguments)) else patterns or words[:1]
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8", errors="replace") as opened:
            lines = opened.read(_MOST_OF_A_FILE).casefold().splitlines()
    except OSError:
        return False
    # Only what every line that fits surely has: no expression of somebody else's is run here.
    parts = [
        [part.casefold() for part in _LITERAL.findall(_CLASS.sub("\0", choice))]
        for pattern in patterns
        for choice in re.split(r"\\?\|", pattern)
    ]
    return any(all(part in line for part in choice) for choice in parts for line in lines)


def _looks_into(arguments: Sequence[str], name: str) -> bool:
    """True if the options of a search leave a file of that name in."""
    narrowed = fits = False
    for before, word in itertools.pairwise(["", *arguments]):
        option, equals, value = word.partition("=")
        if not equals:
            option, value = before, word
        shape = value.lstrip("!").rpartition("/")[2]
        if option in ("--exclude", "--ignore") or (option in _GLOBS and value[:1] == "!"):
            if fnmatchcase(name, shape):
                return False
        elif option in _GLOBS or option == "--include":
            narrowed, fits = True, fits or fnmatchcase(name, shape)
        elif option in ("-t", "--type"):
            narrowed = True
    return fits or not narrowed


def _reads_folders(program: str, arguments: Sequence[str]) -> bool:
    if program in _GREPS:
        return any(map(_RECURSIVE.fullmatch, arguments)) or ("-d", "recurse") in itertools.pairwise(arguments)
    return program in _OTHERS and (program not in _SKIP_HIDDEN or any(map(_HIDDEN.fullmatch, arguments)))
