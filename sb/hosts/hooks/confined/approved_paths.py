"""Paths that one confined call may write beyond the default: alone where the line tells what they are, else with their folder.

A folder that is open for one name lets a command make others beside it. So a file that a line redirects to, and a folder
that it makes, are there before it starts, and nothing else is open.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress

from sb.base.files import NEW_FILE
from sb.hosts.confinement.repositories import linked_trees
from sb.shell.parsing.words import is_literal
from sb.shell.places.sensitive import folded, held_by, host_setting, sensitive

_REDIRECTIONS = (">", ">>")
# Programs whose operands, or the value of an option, are files that they write in place.
_WRITE_OPERANDS = frozenset(("tee", "touch"))
_OUTPUT_OPTIONS = {
    "curl": ("-o", "--output"),
    "wget": ("-O", "--output-document"),
    "sort": ("-o", "--output"),
}
_LAST_OF_TWO = frozenset(("cp", "install"))


def made_files(commands: Iterable[tuple[Sequence[str], str]]) -> Iterator[str]:
    """The paths that a line writes as files, in place.

    Args:
        commands: programs with their arguments, in expanded words, each with the folder that it runs in.
    """
    for argv, folder in commands:
        yield from (_at(word, folder) for word in _files(argv) if is_literal(word))


def made_folders(commands: Iterable[tuple[Sequence[str], str]]) -> Iterator[str]:
    """The folders that a line makes with `mkdir -p` or `git worktree add`, which take one that is there and empty."""
    for argv, folder in commands:
        operands = [word for word in argv[1:] if not word.startswith("-")]
        if argv[0] == "mkdir" and "-p" in argv:
            yield from (_at(word, folder) for word in operands if is_literal(word))
        elif tuple(argv[:3]) == ("git", "worktree", "add") and len(operands) > 2 and is_literal(operands[2]):
            yield _at(operands[2], folder)


def moved_trees(commands: Iterable[tuple[Sequence[str], str]], root: str) -> Iterator[str]:
    """The linked worktrees that a line deletes or moves, real paths; all of a repository where it names none.

    Git forgets a worktree before all of its files are gone. So the line is not to fail halfway, for want of a right.

    Args:
        commands: programs with their arguments, each with its folder. root: of the working tree that the line is in.
    """
    for argv, folder in commands:
        at = argv.index("worktree") if argv[0] == "git" and "worktree" in argv else len(argv)
        if "".join(argv[at + 1 : at + 2]) in ("remove", "move"):
            named = [word for word in argv[at + 2 :] if not word.startswith("-")]
            trees = linked_trees(root)
            yield from (tree for tree in trees if any(_may_name(word, tree, folder) for word in named))


def _may_name(word: str, tree: str, folder: str) -> bool:
    """True if git may take a word for a worktree: by its path or the end of that, or from a folder that is not known here."""
    if not is_literal(word):
        return True
    name = os.path.basename(os.path.normpath(word))
    return name in (os.path.basename(tree), ".", "..") or os.path.realpath(os.path.join(folder, word)) == tree


def _files(argv: Sequence[str]) -> Iterator[str]:
    name, words = argv[0], argv[1:]
    if name in _REDIRECTIONS or name in _WRITE_OPERANDS:
        yield from (word for word in words if not word.startswith("-"))
    elif name in _LAST_OF_TWO and len(words) == 2 and not any(word.startswith("-") for word in words):
        yield words[1]
    elif name == "dd":
        yield from (word[3:] for word in words if word.startswith("of="))
    for option in _OUTPUT_OPTIONS.get(name, ()):
        yield from (words[at + 1] for at, word in enumerate(words[:-1]) if word == option)


def _at(word: str, folder: str) -> str:
    path = os.path.normpath(os.path.join(folder, os.path.expanduser(word)))
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def make(path: str, *, wants_folder: bool) -> bool:
    """Make what a line is about to write, empty, if nothing is there; returns False if it cannot be opened alone.

    Where this user may not make it either, the command says so itself.
    """
    if os.path.lexists(path):
        fits = os.path.isdir(path) if wants_folder else os.path.isfile(path)
        return fits and not os.path.islink(path)
    try:
        if wants_folder:
            os.makedirs(path)
        else:
            os.close(os.open(path, NEW_FILE, 0o666))
    except OSError:
        return False
    return True


def within(paths: Iterable[str], folders: Collection[str]) -> tuple[str, ...]:
    """Those of paths that are open alone in a folder which otherwise stays as it is."""
    return tuple(path for path in paths if any(path.startswith(f"{folder}/") for folder in folders))


def decides(path: str, home: str) -> bool:
    """True for a login file, a host's settings, what git runs, a program on PATH, and a folder that holds one of them.

    Args:
        home: of the user.
    """
    folders = (folder for folder in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(folder))
    programs = any(f"{path}/".startswith(f"{os.path.realpath(folder)}/") for folder in folders)
    return programs or bool(sensitive(path, home) or host_setting(folded(path)) or held_by(path, home))


def remove_unused(paths: Iterable[str]) -> None:
    """Remove what was made for a call that did not use it: empty files and folders."""
    for path in paths:
        with suppress(OSError):  # it is filled, or gone
            if os.path.islink(path):
                continue
            if os.path.isdir(path):
                os.rmdir(path)
            elif os.path.getsize(path) == 0:
                os.unlink(path)
