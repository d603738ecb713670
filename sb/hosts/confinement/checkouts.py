"""Settings of hosts that git brings into a project, or takes out of it: read from the repository before it runs.

They are the repository's, and they decide about agents and editors. Moved away afterwards, they would be missing from the
working tree, and the next commit would delete them for everybody. So a person is asked before, and what they agreed to
stays. What cannot be told before, such as what a pull fetches, is moved away; a commit of its absence asks.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import NamedTuple

from sb.base.repository import git_root
from sb.base.text import plain
from sb.hosts.confinement import no_links
from sb.hosts.confinement.profile import PROJECT_SETTINGS, contains
from sb.shell.snapshots.git_objects import (
    FOLDER_MODE,
    LINK_MODE,
    REPOSITORY_MODE,
    Entry,
    Repository,
    Unreadable,
    blob_id,
    reflog,
)

_MOST_COMMITS = 100  # that are looked at for earlier settings
_MOST_READ = 1 << 20  # bytes of a settings file that is compared
CHECKS_OUT = frozenset("switch checkout merge pull rebase reset restore cherry-pick revert stash".split())
_MOVES_FILES = frozenset(("--hard", "--keep", "--merge"))  # of `git reset`
_OF_ONE_COMMIT = frozenset(("cherry-pick", "revert", "stash"))
_WENT = re.compile(r"checkout: moving from (\S+) to ")
_STAGES_ALL = {"add": r"-\w*[Au]\w*|--all|--update|--no-ignore-removal", "commit": r"-\w*a\w*|--all"}


class Checkout(NamedTuple):
    """A git command that changes settings of hosts in the working tree.

    Args:
        command: as a person is told it. paths: absolute, of the files. removes: it only takes them away.
        name: tells what it brings from what another one does.
    """

    command: str
    paths: tuple[str, ...]
    removes: bool
    name: str


def checkouts(commands: Iterable[tuple[Sequence[str], str]], project: str) -> Iterator[Checkout]:
    """The commands of a line that change settings, as far as the repository tells.

    Args:
        commands: programs with their arguments, each with its folder. project: its root, real path.
    """
    for argv, folder in commands:
        words, folder = _subcommand(argv, folder)
        if words[:1] and words[0] in CHECKS_OUT and git_root(folder) == project:
            with suppress(Unreadable):  # what comes of it is compared afterwards
                yield from _checkout(Repository(project), words, folder)


def deletions(commands: Iterable[tuple[Sequence[str], str]], project: str) -> Iterator[tuple[str, str]]:
    """Commands that would record that a committed settings file is deleted, which is only missing; each with its path."""
    for argv, folder in commands:
        words, folder = _subcommand(argv, folder)
        pattern = _STAGES_ALL.get(words[0] if words else "")
        if pattern is None or git_root(folder) != project:
            continue
        operands = [os.path.normpath(os.path.join(folder, word)) for word in words[1:] if word[:1] != "-"]
        takes_all = any(re.fullmatch(pattern, word) for word in words[1:])
        takes_all = takes_all and (words[0] == "commit" or not operands)
        lost = (path for path in missing(project) if takes_all or _is_in(path, operands))
        yield from ((f"git {words[0]}", path) for path in [*lost][:1])


def missing(project: str) -> list[str]:
    """The settings files of the last commit that are not in the working tree, absolute."""
    try:
        repository = Repository(project)
        if "sparsecheckout" in repository.text("config").casefold():
            return []
        files = _settings(repository, repository.commit("HEAD"))
    except Unreadable:
        return []
    paths = [os.path.join(project, name) for name in files]
    return [path for path in paths if not os.path.lexists(path)]


def way_back(project: str) -> str:
    """The advice to an agent about settings that were moved away."""
    name = next((os.path.relpath(path, project) for path in missing(project)), "")
    if not name:
        return "Do not make it again without asking the user."
    shown = plain(name, one_line=True)
    return f"The last commit has {shown}: `git checkout -- {shown}`, in a call of its own, has the user asked for it."


def _subcommand(argv: Sequence[str], folder: str) -> tuple[list[str], str]:
    """The words of git from its subcommand on, and the folder that it works in; [] where an option leads it elsewhere."""
    words = list(argv[1:]) if argv and argv[0] == "git" else []
    while words and words[0].startswith("-"):
        if words[0] == "-C" and len(words) > 1:
            folder = os.path.normpath(os.path.join(folder, words[1]))
        elif words[0].startswith(("--git-dir", "--work-tree", "--bare")):
            return [], folder
        del words[: 2 if words[0] in ("-C", "-c") else 1]
    return words, folder


def _checkout(repository: Repository, words: list[str], folder: str) -> Iterator[Checkout]:
    name, options = words[0], {word for word in words[1:] if word[:1] == "-"}
    if (name == "reset" and not options & _MOVES_FILES) or (
        name == "restore" and options & {"-S", "--staged"} and not options & {"-W", "--worktree"}
    ):
        return
    head = _settings(repository, repository.commit("HEAD"))
    targets, places = _named(repository, words, folder)
    after: dict[str, Entry | None] = {}
    for commit in targets:
        if name in ("merge", "pull") and _is_behind(repository, commit):
            continue
        if name in _OF_ONE_COMMIT:
            after |= _of_one(repository, commit, back=name == "revert")
        else:
            after |= {**dict.fromkeys(head), **_settings(repository, commit)}
    if places:
        after = after if targets else {**head}
        within = (path for path in after if _is_in(os.path.join(repository.root, path), places))
        after = {path: after[path] for path in within}
    exact = bool(places) or name == "reset"
    changed = {
        path: entry
        for path, entry in after.items()
        if (exact or head.get(path) != entry or not os.path.lexists(os.path.join(repository.root, path)))
        and _differs(os.path.join(repository.root, path), entry)
    }
    if changed:
        identity = hashlib.sha256(repr(sorted(changed.items(), key=str)).encode(errors="surrogateescape"))
        yield Checkout(
            " ".join(("git", *words[:3])),
            tuple(os.path.join(repository.root, path) for path in sorted(changed)),
            not any(changed.values()),
            identity.hexdigest()[:32],
        )


def _is_behind(repository: Repository, commit: str) -> bool:
    """True if a commit's settings are those of an earlier one of this branch, so that merging it changes none."""
    theirs, mine = _settings(repository, commit), repository.commit("HEAD")
    for _ in range(_MOST_COMMITS):
        parents = repository.parents(mine) if mine else []
        if not parents:
            break
        mine = parents[0]
        if _settings(repository, mine) == theirs:
            return True
    return False


def _named(repository: Repository, words: list[str], folder: str) -> tuple[list[str], list[str]]:
    """The commits that a command takes files from, and the paths that it is held to, absolute."""
    name, commits, places = words[0], list[str](), list[str]()
    operands = words[2:] if name == "stash" else words[1:]
    if name == "stash" and words[1:2] not in (["pop"], ["apply"]):
        return [], []
    for at, word in enumerate(operands):
        value = word.partition("=")[2] if word.startswith("--") else word
        commit = "" if "--" in operands[:at] else _commit(repository, name, value)
        if commit:
            commits.append(commit)
        elif word[:1] != "-" and name in ("checkout", "restore"):
            places.append(os.path.normpath(os.path.join(folder, word)))
    if name == "stash" and not commits:
        commits = list(filter(None, [repository.ref("refs/stash")]))
    if name == "pull" and len(operands) > 1:
        commits = list(filter(None, [repository.ref(f"refs/remotes/{operands[-2]}/{operands[-1]}")]))
    if name in ("pull", "merge", "rebase") and not any(word[:1] != "-" for word in operands):
        commits = list(filter(None, [_upstream(repository)]))
    if name == "reset" and not commits:
        commits = list(filter(None, [repository.commit("HEAD")]))
    makes_branch = name == "checkout" and {"-b", "-B", "--orphan"} & {*operands}
    return commits, [] if makes_branch else places


def _commit(repository: Repository, name: str, word: str) -> str:
    """The commit that a word names, also as git finds a branch of a remote, the branch before, or a stash."""
    if word in ("-", "@{-1}"):
        moves = _WENT.findall(repository.text("logs/HEAD"))
        return repository.commit(moves[-1]) if moves else ""
    if word in ("@{u}", "@{upstream}"):
        return _upstream(repository)
    if name == "stash":
        number = word.removeprefix("stash@{").removesuffix("}")
        stashes = list(reflog(repository.text("logs/refs/stash")))
        return stashes[-1 - int(number)] if number.isdecimal() and int(number) < len(stashes) else ""
    if word[:1] == "-" or os.path.normpath(word) != word or word in (".", ".."):
        return ""
    found = repository.commit(word) or repository.shortened(word)
    if not found and name in ("switch", "checkout"):
        remotes = no_links.names_in(os.path.join(repository.folder, "refs", "remotes"))
        tracked = (repository.ref(f"refs/remotes/{remote}/{word}") for remote in {*remotes, "origin"})
        found = next(filter(None, tracked), "")
    return found


def _upstream(repository: Repository) -> str:
    """The commit of the branch that the current one follows, as it was fetched last; "" for none."""
    branch = re.escape(repository.head_ref().removeprefix("refs/heads/"))
    section = re.search(rf'(?m)^\[branch "{branch}"\]\n((?:[ \t].*\n?)*)', repository.text("config"))
    values = dict(re.findall(r"(?m)^\s*(remote|merge)\s*=\s*(\S+)", section[1] if section else ""))
    name = values.get("merge", "").removeprefix("refs/heads/")
    return repository.ref(f"refs/remotes/{values.get('remote', '')}/{name}") if name else ""


def _settings(repository: Repository, commit: str) -> dict[str, Entry]:
    """The settings files of a commit, by their paths from the root."""
    found: dict[str, Entry] = {}
    for name, entry in repository.tree(repository.tree_of(commit)).items() if commit else ():
        for head, _, tail in (pattern.partition("/") for pattern in PROJECT_SETTINGS):
            if not fnmatchcase(name.casefold(), head):
                continue
            files = repository.files(entry[1]) if entry[0] == FOLDER_MODE else {}
            if not tail and entry[0] not in (FOLDER_MODE, REPOSITORY_MODE):
                found[name] = entry
            found |= {
                f"{name}/{path}": item
                for path, item in files.items()
                if not tail or path.partition("/")[0].casefold() == tail
            }
    return found


def _of_one(repository: Repository, commit: str, *, back: bool) -> dict[str, Entry | None]:
    """The settings that one commit changed, as they are in it, or as they were before; None for one that is not there."""
    parents = repository.parents(commit)
    before = _settings(repository, parents[0]) if parents else {}
    after = _settings(repository, commit)
    changed = (path for path in {**before, **after} if before.get(path) != after.get(path))
    return {path: (before if back else after).get(path) for path in changed}


def _is_in(path: str, places: Iterable[str]) -> bool:
    return any(contains(place, path) for place in places)


def _differs(path: str, entry: Entry | None) -> bool:
    """True if what is at a path is not what a commit has there."""
    if entry is None:
        return os.path.lexists(path)
    mode, sha = entry
    try:
        if link := no_links.link_text(path):
            return mode != LINK_MODE or blob_id(os.fsencode(link)) != sha
        return mode == LINK_MODE or blob_id(no_links.read(path, _MOST_READ)) != sha
    except OSError:
        return True
