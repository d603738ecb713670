"""Folder of a host's settings in a project without one, there while a session lasts, so that no command makes another."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from sb.hosts.confinement import no_links

NAME = ".claude"
_FILE, _IGNORED = ".gitignore", b"# Written by sb for the time of a session.\n*\n"
# What of git removes ignored files, and what of it would show an empty repository as a new one.
_REMOVES_IGNORED = {"clean": r"-\w*[xX]\w*", "stash": r"-\w*a\w*|--all"}
_SHOWS_REPOSITORIES = frozenset(("add", "status", "ls-files"))


def settings_of(folder: str) -> str:
    """The path of that folder, there or not."""
    return os.path.join(os.path.realpath(folder), NAME)


def make_settings(folder: str) -> bool:
    """Make it where there is none; returns whether it was made.

    Git is to leave it alone: it cannot be removed while a command runs, and `git stash -u` would fail.

    Args:
        folder: the project, or where the host was started in it.
    """
    try:
        _make_in(os.path.realpath(folder))
    except FileExistsError:
        return False
    return True


def _make_in(folder: str) -> None:
    """Make both or fail, by handles: a process in the background could put a link in the place of either."""
    with no_links.opened(folder) as around:
        os.mkdir(NAME, 0o755, dir_fd=around)
        with no_links.opened(os.path.join(folder, NAME)) as settings:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with open(os.open(_FILE, flags, 0o644, dir_fd=settings), "wb") as file:
                file.write(_IGNORED)


def remove_settings(folder: str) -> None:
    """Remove what `make_settings` made; what a person has put there since stays."""
    path = settings_of(folder)
    if not no_links.is_folder(path):
        return
    with no_links.opened(path) as settings:
        if _is_ours(settings):
            os.unlink(_FILE, dir_fd=settings)
        if os.listdir(settings):
            return
    with no_links.opened(os.path.dirname(path)) as around:
        os.rmdir(NAME, dir_fd=around)


def is_made_settings(path: str) -> bool:
    """True for that folder while nothing else is in it, and for the file that is."""
    if os.path.basename(path) not in (NAME, _FILE):
        return False
    settings = path if os.path.basename(path) == NAME else os.path.dirname(path)
    try:
        with no_links.opened(settings) as handle:
            named = os.path.basename(settings) == NAME and os.listdir(handle) == [_FILE]
            return named and _is_ours(handle)
    except OSError:
        return False


def made_settings(folders: Iterable[str]) -> tuple[str, ...]:
    """Those folders of settings that `make_settings` made and that nothing else is in."""
    return tuple(filter(is_made_settings, map(settings_of, folders)))


def removes_ignored(commands: Iterable[Sequence[str]]) -> bool:
    """True for a line in which git removes ignored files, such as that folder, and shows no files that are new.

    Git passes over a repository in its place without a word, and cannot remove what is held.
    """
    of_git = [words for argv in commands if argv[0] == "git" and (words := _subcommand(argv))]
    return not any(words[0] in _SHOWS_REPOSITORIES for words in of_git) and any(
        re.fullmatch(_REMOVES_IGNORED.get(words[0], "(?!)"), word) for words in of_git for word in words[1:]
    )


def _subcommand(argv: Sequence[str]) -> Sequence[str]:
    """The words of git from its subcommand on."""
    start = 1
    while start < len(argv) and argv[start].startswith("-"):
        start += 2 if argv[start] in ("-C", "-c", "--git-dir", "--work-tree") else 1
    return argv[start:]


def _is_ours(settings: int) -> bool:
    """True for a `.gitignore` of ours in an opened folder."""
    try:
        return no_links.read_in(settings, _FILE, len(_IGNORED) + 1) == _IGNORED
    except OSError:
        return False
