"""Files that git commands delete and overwrite, read from the repository's files; no program is started."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from sb.base.repository import git_root
from sb.shell.programs.options import parsed
from sb.shell.snapshots.git_ignore import Ignored
from sb.shell.snapshots.git_index import Comparison, Index, read_index
from sb.shell.snapshots.git_objects import FOLDER_MODE, REPOSITORY_MODE, Entry, Repository, Unreadable, reflog
from sb.shell.snapshots.overwriting import Change, Effect, Unknown

_MOST_STASHES = 100
_MOST_LOOKED_AT = 20_000  # entries of the working folder
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "index.lock")


def git_effect(folder: str, arguments: Sequence[str]) -> Effect:
    """The effect of a git command, given from its subcommand on.

    Args:
        folder: real path of the folder in which it runs.

    Raises:
        Unknown: that cannot be told.
    """
    command = _COMMANDS.get(" ".join(arguments[:2])) or _COMMANDS.get(arguments[0] if arguments else "")
    root = git_root(folder)
    if command is None or not root:
        raise Unknown(f"git {' '.join(arguments[:2])} is not followed")
    try:
        working = _Working(root, folder)
        found = command(working, list(arguments))
        # Where nothing is lost, the index alone may be refreshed.
        return found if found.changes else found._replace(changes=[working.own("index")])
    except Unreadable as problem:
        raise Unknown(str(problem)) from None


class _Working:
    """A repository and its working files, as one command sees them."""

    def __init__(self, root: str, folder: str) -> None:
        self.git = Repository(root)
        self.root = root
        self.below = "" if folder == root else os.path.relpath(folder, root)
        for name in _UNFINISHED:
            if os.path.lexists(f"{self.git.folder}/{name}"):
                raise Unknown(f"{name} says that another git command is not finished")
        self.index: Index = read_index(f"{self.git.folder}/index")
        if path := self.index.conflict():
            raise Unknown(f"{path} is in conflict")

    def own(self, name: str) -> Change:
        """A file of the repository itself."""
        path = f"{self.git.folder}/{name}"
        if os.path.realpath(path) != path:
            raise Unknown(f"{path} is a link")
        return Change(path, of_git=True)

    def commit_files(self, name: str) -> tuple[str, dict[str, Entry]]:
        """A commit by its name, and its files.

        Raises:
            Unknown: nothing has that name.
        """
        commit = self.git.commit(name)
        if not commit:
            raise Unknown(f"{name} is no commit that is known by this name")
        return commit, self.git.files(self.git.tree_of(commit))

    def specs(self, words: Sequence[str]) -> list[str]:
        """Paths below the root that words name, "" for the root itself.

        Raises:
            Unknown: one is a pattern, or is outside.
        """
        found = []
        for word in words:
            if not word or word.startswith(":") or any(char in word for char in "*?[\\"):
                raise Unknown(f"{word} is a pattern of git's")
            path = os.path.normpath(os.path.join(self.root, self.below, word))
            if path != self.root and not path.startswith(f"{self.root}/"):
                raise Unknown(f"{word} is outside of the repository")
            found.append("" if path == self.root else path[len(self.root) + 1 :])
        return found

    def changed(self, paths: Sequence[str]) -> list[Change]:
        """The changes of files that git writes or deletes; a path that is not a folder yet counts as a whole."""
        changes: dict[str, None] = {}
        folders: dict[str, str] = {}
        for path in paths:
            above = os.path.dirname(path)
            if above not in folders:
                folders[above] = self._no_folder(above)
            changes[folders[above] or path] = None
        return [Change(f"{self.root}/{path}", tree=True) for path in changes]

    def _no_folder(self, path: str) -> str:
        """The first component of a path that is not a folder now, or ""."""
        for count in range(1, path.count("/") + 2) if path else ():
            part = "/".join(path.split("/")[:count])
            try:
                if not stat.S_ISDIR(os.lstat(f"{self.root}/{part}").st_mode):
                    return part
            except FileNotFoundError:
                return part  # git makes it, and undoing takes it away again
        return ""


def _is_below(path: str, specs: Sequence[str]) -> bool:
    return any(not spec or path == spec or path.startswith(f"{spec}/") for spec in specs)


def _overwritten(working: _Working, specs: Sequence[str], target: dict[str, Entry] | None) -> list[Change]:
    """The working files that become what the index, or another commit, says of them."""
    comparison = Comparison(working.root, working.index)
    paths = []
    for path, entry in working.index.entries.items():
        if not _is_below(path, specs):
            continue
        if entry.mode == REPOSITORY_MODE:
            raise Unknown(f"{path} is a repository of its own")
        other = target is not None and target.get(path) != (entry.mode, entry.sha)
        if other or comparison.differs(path):
            paths.append(path)
    if target is not None:
        paths += [path for path in target if path not in working.index.entries and _is_below(path, specs)]
    return working.changed(paths)


def _reset(working: _Working, arguments: list[str]) -> Effect:
    rest = [word for word in arguments[1:] if word not in ("-q", "--quiet")]
    if (
        not rest
        or (rest[0][:1] != "-" and (rest[0] == "HEAD" or not _commit(working, rest[0])))
        or rest[0] == "--"
    ):
        specs = working.specs([word for word in rest if word not in ("HEAD", "--")])
        if not all(any(_is_below(path, [spec]) for path in working.index.entries) for spec in specs):
            raise Unknown(f"{' '.join(rest)} may be a commit")
        if any(word.startswith("-") for word in rest if word != "--"):
            raise Unknown("its arguments are not followed")
        return Effect([working.own("index")], reads=("head",), unsettles=("staged",))
    if (
        "--hard" not in rest
        or len(rest) > 2
        or any(word.startswith("-") for word in rest if word != "--hard")
    ):
        raise Unknown("its arguments are not followed")
    name = next((word for word in rest if word != "--hard"), "HEAD")
    commit, target = working.commit_files(name)
    changes = [*_overwritten(working, [""], target), working.own("index")]
    moves = commit != working.git.commit("HEAD")
    if moves:
        ref = working.git.head_ref()
        changes += [
            working.own(item) for item in ("logs/HEAD", *((ref, f"logs/{ref}") if ref else ("HEAD",)))
        ]
    # Whatever was staged, the index is what the files are afterwards.
    return Effect(changes, reads=("head",), unsettles=("head",) if moves else ())


def _checkout(working: _Working, arguments: list[str]) -> Effect:
    words = [word for word in arguments[1:] if word not in ("-q", "--quiet")]
    if "--" in words:
        before, paths = words[: words.index("--")], words[words.index("--") + 1 :]
    else:
        is_commit = bool(words) and bool(_commit(working, words[0]))
        before, paths = (words[:1], words[1:]) if is_commit else ([], words)
    if len(before) > 1 or not paths or any(word.startswith("-") for word in before):
        raise Unknown("its arguments are not followed")
    if "--" not in words and any(word.startswith("-") for word in paths):
        raise Unknown("its options are not followed")
    specs = working.specs(paths)
    tracked = working.index.entries
    if not before and not all(any(_is_below(path, [spec]) for path in tracked) for spec in specs):
        raise Unknown(f"{' '.join(paths)} may be a branch")
    if not before:
        return Effect(_restored(working, specs), reads=("index",))
    _, target = working.commit_files(before[0])
    changes = [*_overwritten(working, specs, target), working.own("index")]
    return Effect(changes, reads=("index", "staged", "head"), unsettles=("index",))


def _restored(working: _Working, specs: Sequence[str]) -> list[Change]:
    """The working files that become what the index says, also if that becomes what is committed before."""
    committed = working.commit_files("HEAD")[1] if working.git.commit("HEAD") else None
    changes = [
        *_overwritten(working, specs, None),
        *(_overwritten(working, specs, committed) if committed else ()),
    ]
    return list(dict.fromkeys(changes))


def _commit(working: _Working, name: str) -> str:
    try:
        return working.git.commit(name)
    except Unreadable:
        return ""


def _restore(working: _Working, arguments: list[str]) -> Effect:
    options = parsed(arguments[1:], "s", "--source --staged? --worktree? --quiet?")
    if set(options.values) - {"-s", "-S", "-W", "-q", "--source", "--staged", "--worktree", "--quiet"}:
        raise Unknown("its options are not followed")
    if not options.rest:
        raise Unknown("it names no file")
    staged, files = options.has("-S", "--staged"), options.has("-W", "--worktree")
    sources = options.of("-s", "--source")
    specs = working.specs(options.rest)
    target = working.commit_files(sources[-1])[1] if sources else None
    if staged and target is None and files:
        target = working.commit_files("HEAD")[1]
    if not staged and target is None:
        return Effect(_restored(working, specs), reads=("index", "head"))
    changes = _overwritten(working, specs, target) if files or not staged else []
    changes += [working.own("index")] if staged else []
    # What is staged becomes what is committed, or else something that only git knows.
    unsettles = ("staged",) if target is None and not files else ("index",)
    reads = ("head",) if target is None and not files else ("index", "staged", "head")
    return Effect(changes, reads=reads, unsettles=unsettles if staged else ())


def _clean(working: _Working, arguments: list[str]) -> Effect:
    options = parsed(arguments[1:], "e", "--exclude --force? --quiet?")
    if set(options.values) - {"-f", "-d", "-x", "-X", "-q", "-e", "--force", "--quiet", "--exclude"}:
        raise Unknown("its options are not followed")
    excluded = options.of("-e", "--exclude")
    everything = options.has("-x", "-X")
    repositories = len(options.values.get("-f", ())) + len(options.values.get("--force", ())) > 1
    if any("\n" in pattern for pattern in excluded):
        raise Unknown("a pattern of it has several lines")
    rules = (lambda folder: "") if everything else partial(_ignore_rules, working.root)
    ignored = Ignored(rules, excluded) if excluded or not everything else None
    found: list[Change] = []
    specs = working.specs(options.rest or ["."])
    search = _Untracked(working, ignored, repositories=repositories, ignored_alone=options.has("-X"))
    for spec in specs:
        search.collect(spec, found)
    return Effect(found, reads=("index", "staged", "ignore"))


def _rm(working: _Working, arguments: list[str]) -> Effect:
    options = parsed(arguments[1:], "", "--force? --quiet? --cached? --ignore-unmatch?")
    if set(options.values) - {"-r", "-f", "-q", "--force", "--quiet", "--cached", "--ignore-unmatch"}:
        raise Unknown("its options are not followed")
    specs = working.specs(options.rest)
    named = {path: entry.mode for path, entry in working.index.entries.items() if _is_below(path, specs)}
    if module := next((path for path, mode in named.items() if mode == REPOSITORY_MODE), ""):
        raise Unknown(f"{module} is a repository of its own")
    changes: list[Change] = []
    if not options.has("--cached"):
        above = {os.path.dirname(f"{working.root}/{path}") for path in named} - {working.root}
        empty = [folder for folder in sorted(above) if os.path.isdir(folder) and not os.listdir(folder)]
        changes = [Change(f"{working.root}/{path}", removed=True) for path in named]
        changes += [Change(folder, removed=True) for folder in empty]  # git deletes them too
    return Effect([*changes, working.own("index")], reads=("index", "staged"), unsettles=("index",))


def _mv(working: _Working, arguments: list[str]) -> Effect:
    options = parsed(arguments[1:], "", "--force? --verbose?")
    if set(options.values) - {"-f", "-v", "--force", "--verbose"}:
        raise Unknown("its options are not followed")
    *sources, target = working.specs(options.rest) or [""]
    if not sources or "" in sources:
        raise Unknown("what it moves is not known")
    changes: list[Change] = []
    for source in sources:
        named = [entry.mode for path, entry in working.index.entries.items() if _is_below(path, [source])]
        if not named or REPOSITORY_MODE in named:
            raise Unknown(f"{source} is not tracked, or a repository of its own")
        into = os.path.isdir(f"{working.root}/{target}") and not _is_same(working, source, target)
        place = f"{target}/{os.path.basename(source)}".lstrip("/") if into else target
        changes += [Change(f"{working.root}/{path}", tree=True) for path in (source, place)]
    moved = [change.path for change in changes]
    return Effect(
        [*changes, working.own("index")], moved=moved, reads=("index", "staged"), unsettles=("index",)
    )


def _is_same(working: _Working, name: str, other: str) -> bool:
    """True if two names are one file, as where only the case of letters differs and the file system ignores it."""
    try:
        return os.path.samefile(f"{working.root}/{name}", f"{working.root}/{other}")
    except OSError:
        return False


class _Untracked:
    """Finds what is not tracked."""

    def __init__(
        self, working: _Working, ignored: Ignored | None, *, repositories: bool, ignored_alone: bool
    ) -> None:
        self._working = working
        self._ignored = ignored
        self._ignored_alone = ignored_alone
        self._repositories = repositories
        self._left = _MOST_LOOKED_AT
        self._folders = {
            "/".join(parts[:count])
            for parts in (path.split("/") for path in working.index.entries)
            for count in range(1, len(parts))
        }

    def collect(self, path: str, found: list[Change]) -> bool:
        """Add what is not tracked at a path and below; returns whether that is all that is there."""
        place = f"{self._working.root}/{path}" if path else self._working.root
        try:
            is_folder = stat.S_ISDIR(os.lstat(place).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return True
        if path in self._working.index.entries:
            return False
        if path and self._ignored is not None and self._stays(self._ignored, path, folder=is_folder):
            return False
        if not is_folder:
            found.append(Change(place, removed=True))
            return True
        if path and os.path.lexists(f"{place}/.git") and not self._repositories:
            return False
        return self._below(path, place, found)

    def _stays(self, ignored: Ignored, path: str, *, folder: bool) -> bool:
        """True if a path is not deleted for what the rules say of it."""
        if self._ignored_alone:  # of a folder that stays something may go
            return not folder and ignored.surely_taken(path, folder=False)
        return ignored.surely(path, folder=folder)

    def _below(self, path: str, place: str, found: list[Change]) -> bool:
        mark = len(found)
        whole = bool(path) and path not in self._folders
        if whole and (self._ignored is None or self._ignored_alone):
            found.append(Change(place, tree=True, removed=True))
            return True
        names = sorted(os.listdir(place))
        self._left -= len(names)
        if self._left < 0:
            raise Unknown(f"it looks at more than {_MOST_LOOKED_AT} files")
        for name in names:
            if path or name != ".git":
                whole = self.collect(f"{path}/{name}" if path else name, found) and whole
        if whole:  # all of it goes
            found[mark:] = [Change(place, tree=True, removed=True)]
        return whole


def _ignore_rules(root: str, folder: str) -> str:
    return _read_text(f"{root}/{folder}/.gitignore")


def _read_text(path: str) -> str:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), encoding="utf-8") as file:
            return file.read(1 << 20)
    except (OSError, ValueError):
        return ""


def _stash(working: _Working, arguments: list[str]) -> Effect:
    """`git stash drop` and `git stash clear`."""
    words = [word for word in arguments[2:] if word not in ("-q", "--quiet")]
    git = working.git
    stashes = list(reflog(git.text("logs/refs/stash")))
    if not stashes or git.text("refs/stash").strip() != stashes[-1] or len(stashes) > _MOST_STASHES:
        raise Unknown("the stashes are not read")
    if arguments[1] == "drop":
        number = _stash_number(words[0] if words else "0")
        if len(words) > 1 or not 0 <= number < len(stashes):
            raise Unknown("which stash it drops is not known")
        stashes = [stashes[-1 - number]]
    elif words:
        raise Unknown("its arguments are not followed")
    extra: dict[str, bytes] = {}
    for commit in stashes:
        for sha in _stash_objects(git, commit):
            extra[git.loose_path(sha)] = _loose(git, sha)
    changes = [working.own("refs/stash"), working.own("logs/refs/stash")]
    return Effect(changes, extra=extra, reads=("stash",), unsettles=("stash",))


def _stash_number(word: str) -> int:
    digits = word.removeprefix("stash@{").removesuffix("}") if word.startswith("stash@{") else word
    return int(digits) if digits.isdecimal() else -1


def _stash_objects(git: Repository, commit: str) -> Iterator[str]:
    """The objects of a stash that its base does not have."""
    base, *others = git.parents(commit)
    for item in (commit, *others):
        yield item
        yield from _new_objects(git, git.tree_of(item), git.tree_of(base))


def _new_objects(git: Repository, tree: str, base: str) -> Iterator[str]:
    if tree == base:
        return
    yield tree
    before = git.tree(base) if base else {}
    for name, (mode, sha) in git.tree(tree).items():
        was_mode, was = before.get(name, (0, ""))
        if mode == FOLDER_MODE:
            yield from _new_objects(git, sha, was if was_mode == FOLDER_MODE else "")
        elif mode != REPOSITORY_MODE and sha != was:
            yield sha


def _loose(git: Repository, sha: str) -> bytes:
    """An object as a file of its own holds it."""
    kind, content = git.read(sha)
    return zlib.compress(b"%b %d\0%b" % (kind.encode(), len(content), content), 1)


_COMMANDS: dict[str, Callable[[_Working, list[str]], Effect]] = {
    "reset": _reset,
    "checkout": _checkout,
    "restore": _restore,
    "clean": _clean,
    "rm": _rm,
    "mv": _mv,
    "stash drop": _stash,
    "stash clear": _stash,
}
