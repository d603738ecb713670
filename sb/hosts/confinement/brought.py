"""Files and repositories that git brings into a project by one command of a line, and that a later one meets with keys.

A line is judged by what is there before it. A checkout may then put a link in the place of a file, or make a folder, which
may be an agent's own repository, a submodule that git goes into.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from sb.hosts.confinement.checkouts import CHECKS_OUT
from sb.hosts.confinement.git_config import recurses
from sb.hosts.confinement.needs import OF_REPOSITORIES
from sb.shell.credentials.showing import SHOWING_GIT, shows_files
from sb.shell.snapshots.local_effects import REDIRECTIONS

_CHANGES_TREE = CHECKS_OUT | {"am", "apply", "submodule", "read-tree"}
_CHANGES_INDEX = frozenset("add rm mv update-index".split())
_MAKES_BRANCH = re.compile(r"-[bBcC]|--create|--orphan")
_OF_BRANCH = 4  # words: `git switch -c NAME`
_GOES_INTO = frozenset("fetch pull".split())
_FETCHES = frozenset("checkout co merge sync clone pull fetch".split())  # by git, for clients of forges
_FILE_OF_FORGE = re.compile(
    r"-[A-Za-z]*F.*|--(?:body-file|input|notes-file|env-file|source)\b.*|[^=]+=@.+", re.DOTALL
)
_FILES_OF_FORGE = frozenset("gist release snippet ssh-key gpg-key secret variable".split())
_READS_FILES = frozenset("gpg gpg2 scp rsync sftp twine hf huggingface-cli aws gcloud az gsutil".split())
_FILE_OPTION = re.compile(
    r"-[A-Za-z]*[fi].*|--(?:from-|f|cert|key|patch-file|template|po|bo|i).*|cp|.*-file=.*"
)
_MOST_ENTRIES = 20_000  # of a project that is searched for repositories


def goes_into_others(commands: Iterable[Sequence[str]], project: str) -> bool:
    """True if git may go into a repository in the project that an earlier command of the line made a submodule."""
    tree = index = False
    for argv in commands:
        verb = argv[1] if len(argv) > 1 else ""
        if argv[0] == "git":
            if verb == "submodule" and (tree or index):
                return True
            recursing = verb in _GOES_INTO and (any(map(_is_recursion, argv[2:])) or recurses(project))
            changed = tree if verb == "push" else (tree or index or recursing) and verb in _GOES_INTO
            if changed and holds_repository(project):
                return True
        elif (
            argv[0] in OF_REPOSITORIES
            and (tree or index)
            and _FETCHES & set(argv[1:])
            and holds_repository(project)
        ):
            return True
        tree = tree or changes_tree(argv)
        index = index or argv[0] in REDIRECTIONS or (argv[0] == "git" and verb in _CHANGES_INDEX)
    return False


def reads_brought(commands: Iterable[Sequence[str]]) -> bool:
    """True if a command is given a file after another one of the line may have put a link in its place."""
    changed = False
    for argv in commands:
        if changed and _reads(argv):
            return True
        changed = changed or changes_tree(argv)
    return False


def changes_tree(argv: Sequence[str]) -> bool:
    """True for git where it writes the working tree; a branch that is made of the current commit changes nothing."""
    if argv[0] != "git" or "".join(argv[1:2]) not in _CHANGES_TREE:
        return False
    makes_branch = len(argv) == _OF_BRANCH and _MAKES_BRANCH.fullmatch(argv[2]) and argv[3][:1] != "-"
    return not (argv[1] in ("checkout", "switch") and makes_branch)


def holds_repository(project: str) -> bool:
    """True if another repository lies in a project, or more than is looked at."""
    seen, folders = 0, [project]
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return True
        seen += len(entries)
        if seen > _MOST_ENTRIES:
            return True
        for entry in entries:
            if entry.name == ".git":
                if folder != project:
                    return True
            elif entry.is_symlink():
                if os.path.lexists(os.path.join(entry.path, ".git")):
                    return True
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
    return False


def _reads(argv: Sequence[str]) -> bool:
    if argv[0] == "git":
        return "".join(argv[1:2]) not in SHOWING_GIT and shows_files("git", argv[1:])
    if argv[0] in OF_REPOSITORIES:
        return "".join(argv[1:2]) in _FILES_OF_FORGE or any(map(_FILE_OF_FORGE.fullmatch, argv[1:]))
    of_option = argv[0] in ("kubectl", "oc", "wget") and any(map(_FILE_OPTION.fullmatch, argv[1:]))
    return of_option or argv[0] in _READS_FILES


def _is_recursion(word: str) -> bool:
    """True for `--recurse-submodules`, also cut short."""
    return len(word) > len("--") and "--recurse-submodules".startswith(word.partition("=")[0])
