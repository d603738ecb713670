"""Folders of which a command reads all files: who searches a folder above `SB_HOME` reads its keys too."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sb.shell.rules import operands
from sb.shell.words import compiled

_GREPS = frozenset(("grep", "egrep", "fgrep", "zgrep", "ggrep"))
_OTHERS = frozenset(("rgrep", "ugrep", "ug", "ack", "rg", "ag"))
_SKIP_HIDDEN = frozenset(("rg", "ag", "ugrep", "ug"))  # unless they are told not to
_VALUED = (
    "-e -f -m -A -B -C -d -D -g -t -T -G -j -M --regexp --file --include --exclude --exclude-dir --max-count --glob --iglob --type "
    "--type-not --context --after-context --before-context --max-depth --threads"
)
_RECURSIVE = compiled(
    "-[a-zA-Z]*[rR][a-zA-Z]*|--recursive|--dereference-recursive|--directories=recurse|-drecurse"
)
_HIDDEN = compiled(r"-[a-zA-Z]*\..*|--hidden|--unrestricted|-[a-zA-Z]*u[a-zA-Z]*")
_GIVES_PATTERN = compiled("-[a-zA-Z]*[ef]|--regexp.*|--file.*|--files")
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
    if not _reads_folders(program, arguments):
        return []
    words = [arguments[at] for at in operands(arguments, _VALUED)]
    if not any(_GIVES_PATTERN.fullmatch(word) for word in arguments):
        words = words[1:]
    return words or ["."]


def _reads_folders(program: str, arguments: Sequence[str]) -> bool:
    if program in _GREPS:
        return any(map(_RECURSIVE.fullmatch, arguments)) or ("-d", "recurse") in itertools.pairwise(arguments)
    return program in _OTHERS and (program not in _SKIP_HIDDEN or any(map(_HIDDEN.fullmatch, arguments)))
