"""Needs of programs inside a confined call: credentials, sockets, caches, or a place outside of confinement.

The rows are in `tables.yaml`.
A line gets these when it uses that program and no other; where it sends something, its text is judged. Paths are below
the user's home. Caches are filled by every confined call; what runs from them is run by builds of the person, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from sb.hosts.confinement import tables
from sb.hosts.confinement.git_addresses import added_remotes, reaches_only
from sb.hosts.confinement.harmless_options import has_harmless_options
from sb.hosts.confinement.plain_lines import is_plain, reads_no_file
from sb.shell.snapshots.local_effects import FILE_TOOLS, OF_GIT, REDIRECTIONS

DOCKER, SSH_AGENT, GPG_AGENT, TERMINALS, SERVICES, KEYRING, HELPER = (
    "docker",
    "ssh-agent",
    "gpg-agent",
    "terminals",
    "services",
    "keyring",
    "helper",
)


class Need(NamedTuple):
    """One row of the table.

    Args:
        programs: by their names.
        credentials: files and folders that they may read.
        sockets: kinds of `sb.hosts.confinement.sockets`.
        caches: folders that they fill, made where they are missing.
        outside: why they cannot work inside, so that a person has to agree; "" where they can.
        given: subcommands that run nothing of a project, which may be an agent's own program; with harmless options
            alone they get credentials and sockets. "*" for all.
        asked: subcommands that do, or take another source where they cannot read their credentials; they get these once
            a person agrees. "*" for all but those of `given`.
        reads: a pattern of all arguments, joined by null characters, with which it only asks its servers: given at once,
            whatever `asked` says.
        sources: those of the credentials that may name another source of packages.
        public: subcommands that need no login where `sources` name none: they go without, and ask at a repeat if they fail.
    """

    programs: str
    credentials: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()
    outside: str = ""
    given: str = "*"
    asked: str = ""
    reads: str = ""
    sources: tuple[str, ...] = ()
    public: str = ""


NEEDS = tuple(Need(**row) for row in tables.NEEDS)
_WAITS = re.compile(r"watch|trace|wait|--?(?:watch|live|wait|follow|w)(?:=.*)?")  # of clients of forges
_NIX_NAMES = re.compile(
    "--(?:option|accept-flake-config|builders|post-build-hook|store|extra-|sandbox|substituters)"
)
_OF_TERMINALS = ("tmux", "zellij")
_LOOKS = {
    name: frozenset(words.split()) for names, words in tables.LOOKS.items() for name in names.split(", ")
}
# Written by programs that the line does not name (a test runner, a compiler), where they are there.
COMMON_CACHES = (
    ".cache/huggingface/hub",
    ".cache/matplotlib",
    ".cache/fontconfig",
    ".cache/mypy",
)
# Where programs are fetched to and started from: the person's next start would run them. So each command has an empty
# folder in their place.
FETCHED_PROGRAMS = (".npm/_npx",)
_SIGNING = frozenset("commit tag merge rebase cherry-pick revert am".split())
# What sends whole folders, in which any link may be.
SENDS_FOLDERS = frozenset("scp rsync aws gcloud gsutil az".split())
OF_REPOSITORIES = frozenset("git hub gh glab go".split())
# What one command may be let do with its row: all, what signs, all once a person agrees; or it needs nothing, runs what
# a project holds, or names a program itself.
_GIVEN, _SIGNS, _ASKED, _NOTHING, _RUNS, _NAMED = "given", "signs", "asked", "nothing", "runs", "named"
_WITH_PATTERN = frozenset("grep egrep fgrep rg jq".split())
# What works on files, and runs nothing of a project.
KNOWN_TOOLS = FILE_TOOLS | _WITH_PATTERN | frozenset(REDIRECTIONS)
_BY_PROGRAM = {program: need for need in NEEDS for program in need.programs.split()}


class Needs(NamedTuple):
    """The needs of one line's programs.

    Args:
        rows: with the credentials and sockets that the line gets.
        asked: the programs for which a person has to agree to that first.
        withheld: the credentials of its rows that it does not get, since it may run an agent's own program.
    """

    rows: tuple[Need, ...] = ()
    asked: tuple[str, ...] = ()
    withheld: tuple[Need, ...] = ()


def needs_of(
    commands: Sequence[tuple[str, ...]],
    line: str = "",
    *,
    runs_own: bool = False,
    elsewhere: bool = False,
    unsafe: bool = False,
    named: bool = False,
    remotes: Collection[str] | None = None,
    logins_only: Collection[Need] = (),
) -> Needs:
    """The needs that a line is given: the rows of its programs, if every program has one but for tools that work on files.

    Whatever else runs in the line would get it too. So it gets credentials only if none of its commands runs what a
    project holds, or once a person agrees. A program that is named by a path may be an agent's own, so it has no row.

    Args:
        commands: programs with their arguments, as the judge of the line gives them. line: its text.
        runs_own: the repository has hooks or settings by which git runs other programs.
        elsewhere: the repository is not the session's.
        unsafe: a program of the line is an agent's own, or a word of it names a link.
        named: a word of the line names a credential, or a file that may have become a link to one: its program could show it.
        remotes: names that git knows for repositories on other machines; None where any name may be one.
        logins_only: rows whose files name no other source of packages.
    """
    used = [(_BY_PROGRAM[argv[0]], argv) for argv in commands if argv and argv[0] in _BY_PROGRAM]
    others = [argv for argv in commands if argv and argv[0] not in _BY_PROGRAM]
    if not used:
        return Needs()
    rows = tuple(dict.fromkeys(row for row, _ in used))
    if any(argv[0] not in KNOWN_TOOLS for argv in others):
        # What a person is asked about anyway is opened all the same: the other program may run in a container.
        doors = doors_of(commands, rows) & {DOCKER, TERMINALS, SERVICES}
        return Needs(_opening(map(_bare, rows)) if doors else (), (), rows)
    known = None if remotes is None else {*remotes, *added_remotes(commands)}
    levels = [
        _level(row, argv, runs_own=runs_own, remotes=known, is_public=row in logins_only)
        for row, argv in used
    ]
    runs = [level for level in levels if level in (_ASKED, _RUNS)]
    foreign = elsewhere and any(argv[0] in OF_REPOSITORIES for _, argv in used)
    plain = is_plain(line, {argv[0] for argv in commands if argv}) and all(map(reads_no_file, others))
    unclear = foreign or unsafe or named or _NAMED in levels or not plain or _waits(commands)
    if unclear or (runs and (_ASKED not in runs or len(rows) > 1)):
        bare = map(_bare, rows) if not unsafe else (row._replace(credentials=(), sockets=()) for row in rows)
        return Needs(_opening(bare), (), rows)
    given = _opening(_at(row, level) for (row, _), level in zip(used, levels, strict=True))
    asked = [argv[0] for (_, argv), level in zip(used, levels, strict=True) if level == _ASKED]
    return Needs(given, tuple(dict.fromkeys(asked)))


def _waits(commands: Sequence[tuple[str, ...]]) -> bool:
    """True if git comes after a program that may wait: until then the agent's next calls can change what git reads."""
    named = [argv for argv in commands if argv and argv[0] in _BY_PROGRAM]
    last = max((index for index, argv in enumerate(named) if argv[0] in OF_REPOSITORIES), default=0)
    return any(
        argv[0] not in OF_REPOSITORIES or any(map(_WAITS.fullmatch, argv[1:])) for argv in named[:last]
    )


def _opening(rows: Iterable[Need]) -> tuple[Need, ...]:
    """The rows, each once, that open or make something."""
    return tuple(row for row in dict.fromkeys(rows) if row.credentials or row.sockets or row.caches)


def _level(
    row: Need, argv: tuple[str, ...], *, runs_own: bool, remotes: Collection[str] | None, is_public: bool
) -> str:
    subcommand = argv[1] if len(argv) > 1 else ""
    of_git = argv[0] == "git"
    if of_git and subcommand not in row.given.split():
        return _of_local_git(argv, runs_own=runs_own)
    if of_git and not reaches_only(argv, remotes):
        return _NAMED
    if row.given == "*" or subcommand in row.given.split():
        opens = row.credentials or KEYRING in row.sockets
        if opens and not of_git and not has_harmless_options(argv):
            return _NAMED
        return _ASKED if argv[0] in OF_REPOSITORIES and runs_own else _GIVEN
    if row.reads and re.fullmatch(row.reads, "\0".join(argv[1:])):
        return _GIVEN
    if is_public and (subcommand in row.public.split() or "--dry-run" in argv):
        return _RUNS
    return _ASKED if row.asked == "*" or subcommand in row.asked.split() else _RUNS


def _of_local_git(argv: tuple[str, ...], *, runs_own: bool) -> str:
    if argv[1:2] and argv[1] in _SIGNING:
        return _SIGNS if has_harmless_options(argv) and not runs_own else _RUNS
    return _NOTHING if argv[1:2] and argv[1] in OF_GIT and "--no-index" not in argv else _RUNS


def _at(row: Need, level: str) -> Need:
    if level == _SIGNS:
        return row._replace(credentials=(".gnupg",), sockets=(SSH_AGENT, GPG_AGENT))
    return _bare(row) if level == _NOTHING else row


def _bare(row: Need) -> Need:
    """A row without what opens something to others; what runs things outside is asked for anyway."""
    sockets = tuple(kind for kind in row.sockets if kind in (DOCKER, TERMINALS, SERVICES, HELPER))
    return row._replace(credentials=(), sockets=sockets)


def rows_of(programs: Iterable[str]) -> list[Need]:
    """The rows of programs, each once; unknown programs have none."""
    return list(dict.fromkeys(_BY_PROGRAM[program] for program in programs if program in _BY_PROGRAM))


def only_looks(argv: Sequence[str]) -> bool:
    """True for a command that only looks, by its program and subcommand."""
    program = argv[0].rpartition("/")[2]
    if program in _OF_TERMINALS and len(argv) != 2:
        return False  # its formats and further commands run programs
    if program == "nix" and any(map(_NIX_NAMES.match, argv[1:])):
        return False
    found = _LOOKS.get(program, frozenset())
    if of_group := _LOOKS.get(" ".join((program, *argv[1:2]))):
        return argv[2:3] != () and argv[2] in of_group
    return argv[1:2] != () and argv[1] in found


def doors_of(commands: Iterable[tuple[str, ...]], rows: Iterable[Need]) -> set[str]:
    """The kinds of sockets that a line uses for more than looking."""
    used = {argv[0] for argv in commands if argv and not only_looks(argv)}
    return {kind for row in rows for kind in row.sockets if used & set(row.programs.split())}


def outside_of(commands: Iterable[tuple[str, ...]]) -> str:
    """The reason why a program of a line cannot work inside, or ""."""
    rows = (_BY_PROGRAM.get(argv[0].rpartition("/")[2]) for argv in commands if argv and not only_looks(argv))
    return next((row.outside for row in rows if row is not None and row.outside), "")


def caches() -> Iterator[str]:
    """Every cache of the table, below the home."""
    for need in NEEDS:
        yield from need.caches
    yield from COMMON_CACHES
