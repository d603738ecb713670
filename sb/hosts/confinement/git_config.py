"""Git's configuration of a project: the keys that run programs, and a text without those that were added.

Git is only ever given the text, on its standard input or in a private copy, so that no link, include or lock of the
project takes part.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from sb.hosts.confinement import no_links
from sb.hosts.confinement.git_addresses import is_address, is_harmless_alias, is_remote_name
from sb.hosts.confinement.git_leading import inner_folders
from sb.hosts.confinement.git_reads import holds_link, names_file_elsewhere, person_configs
from sb.hosts.confinement.repositories import git_folder_of, git_program, leading, modules_of
from sb.shell.parsing.words import is_literal

LARGEST = 1 << 20  # bytes of a configuration that is read
_GIT_S = 5.0
_MOST_KEYS = 50  # that are taken out one by one; of more, the whole former text is put back
_MOST_WORKTREES = 200
# Keys of git whose value is a program, names one, or brings in more keys; without case, as `git config --list` has them.
_RUNS_PROGRAMS = re.compile(
    r"core\.(?:hookspath|fsmonitor|sshcommand|editor|pager|askpass|gitproxy|attributesfile|worktree|alternaterefscommand)"
    r"|sequence\.editor|gpg\.program|gpg\..+\.(?:program|defaultkeycommand)|diff\.external|diff\..+\.(?:command|textconv)"
    r"|difftool\..+\.(?:cmd|path)|merge\..+\.driver|mergetool\..+\.(?:cmd|path)|filter\..+\.(?:clean|smudge|process)"
    r"|credential\.(?:.+\.)?helper|alias\..+|include\.path|includeif\..+\.path|remote\..+\.(?:uploadpack|receivepack|vcs|proxy)"
    r"|url\..+\.(?:insteadof|pushinsteadof)|protocol\.(?:.+\.)?allow|submodule\..+\.update|uploadpack\.packobjectshook"
    r"|trailer\..+\.(?:command|cmd)|browser\..+\.(?:cmd|path)|man\..+\.(?:cmd|path)|web\.browser|pager\..+|interactive\.difffilter"
    r"|init\.templatedir|sendemail\..*(?:smtpserver|sendmailcmd|tocmd|cccmd|headercmd)|imap\.tunnel|extensions\..+"
    # Where git sends a login, and what tells it that this is the right place.
    r"|http\.(?:.+\.)?(?:proxy|curloptresolve|sslverify|sslcainfo|sslcapath|cookiefile|savecookies|proxysslcainfo|extraheader|pinnedpubkey|sslbackend)"
    r"|gc\.recentobjectshook|branch\..+\.mergeoptions|pull\.(?:twohead|octopus)"
    r"|instaweb\.(?:httpd|browser|modulepath)|guitool\..+\.cmd|svn\..*|lfs\..*(?:customtransfer|extension).*|maintenance\..*"
    r"|fetch\.bundleuri|notes\.rewriteref|tar\..+\.command|hook\..+|help\.browser"
)
_RECURSES = re.compile(
    r"(?:fetch|push)\.recursesubmodules|submodule\.(?:.+\.)?(?:recurse|fetchrecursesubmodules)"
)
# Values of such keys that run nothing, as git writes them by itself.
_HARMLESS = re.compile(
    r"extensions\.(?:worktreeconfig|objectformat|partialclone|refstorage|compatobjectformat|preciousobjects)|submodule\..+\.update"
)
# Keys with values that people set all day.
_USUAL = re.compile(
    r"(?:core\.pager|pager\.\w+|interactive\.difffilter)=(?:less|more|cat|delta|true|false)(?: -[A-Za-z]+)*"
    r"|(?:core|sequence)\.editor=(?:vim?|nvim|nano|emacs|micro|true|:|code --wait)|(?:diff|merge)tool\.prompt=.*"
    r"|credential\.helper=(?:cache|store|osxkeychain|manager|libsecret|wincred)|gpg\.program=gpg2?"
    r"|filter\.lfs\.(?:clean|smudge|process)=git-lfs (?:clean|smudge|filter-process)(?: --skip)?(?: -- %f)?"
)
_OF_LFS = re.compile(r"filter\.lfs\.(?:clean|smudge|process|required)")
_BY_LFS = re.compile(r"git-lfs (?:clean|smudge|filter-process)(?: --skip)?(?: -- %f)?|true")

# As git-lfs itself writes it: one test that it is there, with a message of its own.
_OF_LFS_HOOK = re.compile(
    rb"\A(?:#!/bin/sh\n)?(?:command -v git-lfs >/dev/null 2>&1 \|\| \{ (?:echo|printf) >&2 \"[^\"$`]*\"; exit \d; \}\n)?"
    rb"git lfs [a-z-]+ \"\$@\"\s*\Z"
)
_GITLINK = b"\0\0\xe0\0"  # the mode of a repository in this one, as the index has it
_MOST_INDEX = 64 << 20  # bytes

Pair = tuple[str, str]


class Unreadable(Exception):
    """A text that git cannot read, or cannot be rid of a key."""


def config_files(project: str) -> Iterator[str]:
    """The existing files of configuration that git reads in a project: of submodules and worktrees, too."""
    folder = git_folder_of(project)
    if not folder:
        return
    worktrees = os.path.join(folder, "worktrees")
    places = [
        os.path.join(git, name)
        for git in (folder, *modules_of(folder), *inner_folders(project))
        for name in ("config", "config.worktree")
    ]
    places += [os.path.join(worktrees, name, "config.worktree") for name in no_links.names_in(worktrees)]
    yield from (path for path in places if no_links.status(path) is not None)


def keys_of(file: str, text: bytes, project: str) -> list[Pair]:
    """The keys that run programs in a text, with their values.

    Args:
        file: where it is. project: its root; the working tree of a submodule lies in it.

    Raises:
        Unreadable: git cannot read it.
    """
    return [
        (name, value)
        for name, value in _listed(text)
        if runs_program(name, value) and not _is_tree(file, name, value, project)
    ]


def has_local_remote(project: str) -> bool:
    """True if a remote of a repository is on this machine: its own hooks would run, and it needs no login."""
    return any(_is_local(pair) for file in config_files(project) for pair in _all_keys(file))


def remote_addresses(project: str) -> Iterator[str]:
    """The addresses and paths of a project's remotes."""
    for file in config_files(project):
        yield from (
            value for name, value in _all_keys(file) if re.fullmatch(r"remote\..+\.(?:push)?url", name)
        )


def remote_names(project: str) -> set[str]:
    """The names of a project's remotes that are on other machines."""
    urls = [pair for file in config_files(project) for pair in _all_keys(file) if pair[0].endswith("url")]
    found = [(re.fullmatch(r"remote\.(.+)\.url", name), url) for name, url in urls]
    return {match[1] for match, url in found if match and is_address(url)}


def runs_others(project: str) -> bool:
    """True if git may run more than its own programs in a repository: hooks, settings, repositories in it.

    An agent can write all of that but the hooks, and what it wrote is seen here as git reads it.
    """
    folder = git_folder_of(project)
    if not folder:  # none, or one that is reached by a link or by a file which is not git's
        return any(no_links.status(os.path.join(project, name)) for name in (".git", "HEAD"))
    names = [
        name for name in no_links.names_in(os.path.join(folder, "hooks")) if not name.endswith(".sample")
    ]
    if any(not _OF_LFS_HOOK.search(_text(os.path.join(folder, "hooks", name))) for name in names):
        return True
    # Repositories in this one are those that a fetch goes into.
    if holds_link(folder) or any(leading(folder)) or no_links.names_in(os.path.join(folder, "modules")):
        return True
    if len(no_links.names_in(os.path.join(folder, "worktrees"))) > _MOST_WORKTREES:
        return True
    index = _text(os.path.join(folder, "index"))
    in_parts = len(index) == _MOST_INDEX or any(
        name.startswith("sharedindex.") for name in no_links.names_in(folder)
    )
    if in_parts or _GITLINK in index or no_links.status(os.path.join(project, ".gitmodules")):
        return True
    if any(
        names_file_elsewhere(*pair, project, file, is_persons=True)
        for file in person_configs()
        for pair in _all_keys(file)
    ):
        return True
    return any(
        (runs_program(*pair) and not is_usual(pair) and not _is_tree(file, *pair, project))
        or names_file_elsewhere(*pair, project, file)
        for file in config_files(project)
        for pair in _all_keys(file)
    )


def recurses(project: str) -> bool:
    """True if git goes into the submodules of a repository by its settings."""
    return any(_RECURSES.fullmatch(name) for file in config_files(project) for name, _ in _all_keys(file))


def _is_local(pair: Pair) -> bool:
    name, value = pair[0].lower(), pair[1]
    is_url = re.fullmatch(r"remote\..+\.(?:push)?url", name)
    if not is_url and not re.fullmatch(r"branch\..+\.(?:push)?remote|remote\.pushdefault", name):
        return False
    return not is_address(value) and (bool(is_url) or not is_remote_name(value))


def _all_keys(file: str) -> list[Pair]:
    """The keys of a file; of one that cannot be read, one that leads on."""
    try:
        return _listed(_text(file))
    except Unreadable:
        return [("include.path", file)]


@lru_cache(16)
def _listed(text: bytes) -> list[Pair]:
    """The keys of a text, as git reads them; raises Unreadable."""
    listed = _git("-", "--list", "-z", "--no-includes", text=text)
    return [(name, value) for name, _, value in (word.partition("\n") for word in listed.split("\0") if word)]


def _text(path: str) -> bytes:
    """The beginning of a file; of one that cannot be read, an include, so that it counts as leading on."""
    try:
        return no_links.read(path, _MOST_INDEX)
    except OSError:
        return b"[include]\npath = unreadable"


def without(text: bytes, added: Collection[Pair], former: Collection[Pair], folder: Path) -> bytes:
    """A text with the former values of each key that was added.

    Args:
        folder: private, for a copy.

    Raises:
        Unreadable: git cannot take them out. OSError: the copy cannot be written.
    """
    names = dict.fromkeys(name for name, _ in added)
    if len(names) > _MOST_KEYS:
        raise Unreadable
    with tempfile.TemporaryDirectory(dir=folder, prefix=".config-") as own:
        copy = Path(own, "config")
        copy.write_bytes(text)
        for name in names:
            _git(str(copy), "--unset-all", name)
            for key, value in former:
                if key == name:
                    _git(str(copy), "--add", name, value)
        return copy.read_bytes()


def keys_named(command: str, commands: Iterable[Sequence[str]] = ()) -> list[Pair]:
    """The keys set by a line that is one git command and nothing else, or that a person was asked about.

    Args:
        commands: of a line that does more, with their words as far as they are known.
    """
    alone = _keys_of_words(_one_command(command))
    asked = (pair for argv in commands if all(map(is_literal, argv)) for pair in _keys_of_words(list(argv)))
    return alone or [pair for pair in asked if runs_program(*pair) and not is_usual(pair)]


_BY_HUSKY = {("husky",): ".husky/_", ("husky", "init"): ".husky/_", ("husky", "install"): ".husky"}


def _keys_of_words(words: Sequence[str]) -> list[Pair]:
    if words[:3] == ["git", "lfs", "install"]:
        return [("filter.lfs.*", "")]
    if tuple(words) in _BY_HUSKY:
        return [("core.hookspath", _BY_HUSKY[tuple(words)])]
    if words[:2] != ["git", "config"]:
        # `git remote` and `git submodule` set no key that runs a program.
        return []
    named = [word for word in words[2:] if word not in _OPTIONS]
    if named[:1] == ["set"]:
        named = named[1:]
    if len(named) != 2 or named[0].startswith("-"):
        return []
    section, _, key = named[0].rpartition(".")
    head, dot, middle = section.partition(".")
    return [(f"{head.lower()}{dot}{middle}.{key.lower()}", named[1])]


def is_usual(pair: Pair) -> bool:
    """True for a key with a value that people set all day."""
    return bool(_USUAL.fullmatch(f"{pair[0].lower()}={pair[1]}"))


def keys_to_ask(command: str, commands: Iterable[Sequence[str]] = ()) -> list[Pair]:
    """The keys that a line sets, with which git runs a program that is none of the usual ones, or takes in more keys.

    Args:
        commands: as for `keys_named`.
    """
    return [pair for pair in keys_named(command, commands) if runs_program(*pair) and not is_usual(pair)]


_OPTIONS = frozenset(("--local", "--worktree", "--add", "--replace-all", "--all", "--append"))


def is_accepted(pair: Pair, accepted: Collection[Pair]) -> bool:
    """True for a key and value that a judged command set."""
    if pair in accepted:
        return True
    by_lfs = ("filter.lfs.*", "") in accepted
    return by_lfs and bool(_OF_LFS.fullmatch(pair[0]) and _BY_LFS.fullmatch(pair[1]))


def runs_program(name: str, value: str) -> bool:
    """True for a key with which git runs a program, or takes in more keys."""
    lowered = name.lower()
    if lowered.startswith("alias."):
        return not is_harmless_alias(value)
    if _HARMLESS.fullmatch(lowered) and not value.lstrip().startswith("!"):
        return False
    return _RUNS_PROGRAMS.fullmatch(lowered) is not None


def _is_tree(file: str, name: str, value: str, project: str) -> bool:
    """True for the working tree of a submodule, which git names in the submodule's own configuration."""
    folder = os.path.dirname(file)
    if name != "core.worktree" or not value or "/modules/" not in f"{folder}/":
        return False
    return f"{os.path.normpath(os.path.join(folder, value))}/".startswith(f"{project}/")


def _one_command(command: str) -> Sequence[str]:
    """The words of a line that is one command without variables, substitutions and redirections; else none."""
    both = "'" in command and '"' in command  # quotes in quotes, which the next line would not tell apart
    if both or re.search(r"[$`\\\n*?~{}\[\]]", re.sub(r"'[^']*'", "", command.strip())):
        return []
    try:
        lexer = shlex.shlex(command.strip(), posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        words = list(lexer)
    except ValueError:
        return []
    return [] if any(re.fullmatch(r"[();<>|&]+", word) for word in words) else words


def _git(file: str, *options: str, text: bytes | None = None) -> str:
    """Run `git config` on one file, or on a text, which starts nothing that it names.

    Raises:
        Unreadable: it fails, or takes too long.
    """
    command = [git_program(), "config", "--file", file, *options]
    env = {"PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "HOME": "/"}
    try:
        done = subprocess.run(
            command, cwd="/", env=env, input=text or b"", capture_output=True, timeout=_GIT_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Unreadable(str(error)) from None
    return done.stdout.decode(errors="surrogateescape")
