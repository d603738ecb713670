"""Credentials on this machine: the files and folders that a confined command cannot read.

The table of `sb.shell.credentials.files` says which paths hold credentials; here the ones that exist are listed. Only a
user's home and the system are searched: credentials in a project stay readable, since its programs need them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from glob import glob

from sb.hosts.confinement import tables
from sb.shell.credentials.files import PRIVATE, secret_path, secret_patterns, secrets_inside
from sb.shell.credentials.files import glob as fits
from sb.shell.places.sensitive import folded

# Folders below which patterns of the table begin, besides the root.
_BASES = ("", ".config", ".local/share", ".cache", "Library", "Library/Application Support")
# Profiles of browsers and mail programs, whose files have names that say nothing elsewhere.
_PROFILES = (
    *(f".config/{browser}/*" for browser in ("google-chrome", "chromium", "BraveSoftware/Brave-Browser", "microsoft-edge", "vivaldi")),
    *(".mozilla/firefox/*", ".thunderbird/*", ".librewolf/*"),
    *("Library/Application Support/Google/Chrome/*", "Library/Application Support/Firefox/Profiles/*"),
)  # fmt: skip
# Lines of an .npmrc that say neither where packages come from nor what is run; `ignore-scripts` would have to be read.
_LOGIN_LINE = re.compile(
    r"\s*(?:[#;].*|//[^\s=]+\s*=.*|(?:_auth|_authToken|email|always-auth|fund|audit|progress|loglevel|save-exact|save-prefix|init[-.][\w.-]+)\s*=.*)?"
)
_MOST_OF_LOGINS = 1 << 16


def names_logins_only(path: str) -> bool:
    """True if a package manager's file holds logins alone, and cannot redirect downloads.

    Args:
        path: of a regular file; False for anything else, and for one that cannot be read or is above 64 KiB.
    """
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _MOST_OF_LOGINS:
            return False
        with open(path, encoding="utf-8") as file:
            return all(map(_LOGIN_LINE.fullmatch, file.read().splitlines()))
    except (OSError, UnicodeDecodeError):
        return False


_LISTS = frozenset(("KUBECONFIG",))  # of several files


def moved_credentials(home: str, env: Mapping[str, str]) -> dict[str, str]:
    """The credentials that variables move, as real paths, each with its usual place.

    Args:
        home: absolute, of the user. env: of the host.
    """
    real, found = os.path.realpath(home), dict[str, str]()
    for variable, usual in tables.CREDENTIAL_FILES.items():
        value = env.get(variable, "")
        for path in value.split(os.pathsep) if variable in _LISTS else [value]:
            if os.path.isabs(path) and os.path.isfile(path):
                found[os.path.realpath(path)] = os.path.join(real, usual)
    for variable, usual in tables.CREDENTIAL_FOLDERS.items():
        folder = os.path.realpath(env.get(variable) or "/")
        place = os.path.join(real, usual) if usual else real
        around_home = f"{real}/".startswith(f"{folder.rstrip('/')}/")
        if os.path.isabs(env.get(variable, "")) and os.path.isdir(folder) and not around_home:
            found |= {path: known for path, known in _inside(folder, place, real) if path != known}
    return found


def _inside(folder: str, usual: str, home: str) -> Iterator[tuple[str, str]]:
    """The credentials in a folder that stands for one of the home, each with the path that it has there."""
    listing = _Listing()
    head = tuple(os.path.relpath(usual, home).casefold().split("/")) if usual != home else ()
    for base in _BASES:
        for own, at_root in secret_patterns():
            whole = (*base.casefold().split("/"), *own) if base else own
            if at_root or len(whole) <= len(head) - 1 or not all(map(fits, head, whole)):
                continue
            for place in listing.expand(folder, whole[len(head) :]):
                known = os.path.join(usual, os.path.relpath(place, folder)).removesuffix("/.")
                yield from _known_as(place, known)


def _known_as(place: str, known: str) -> Iterator[tuple[str, str]]:
    """A place that is a credential under another path, or those of its entries that are."""
    if not os.path.isdir(place):
        if os.path.isfile(place) and _is_secret(known):
            yield os.path.realpath(place), known
        return
    names = names_in(place)
    secret = [name for name in names if _is_secret(os.path.join(known, name))]
    if names and len(secret) == len(names):
        yield os.path.realpath(place), known
    else:
        yield from (
            (os.path.realpath(os.path.join(place, name)), os.path.join(known, name)) for name in secret
        )


def _is_secret(path: str) -> bool:
    found = secret_path(folded(path))
    return found is not None and found.kind != PRIVATE


def credentials_of(home: str) -> list[str]:
    """The existing files and folders that hold credentials of a user or of the system, as real paths, sorted.

    A folder is listed whole if nothing in it is free to read, else file by file.

    Args:
        home: absolute.
    """
    listing = _Listing()
    rooted, below = _patterns()
    places = dict[str, None]()
    for own in rooted:
        places |= dict.fromkeys(listing.expand("/", own))
    for base in _BASES:
        folder = os.path.join(home, base) if base else home
        for head, names in listing.names(folder).items():
            for name in names if head in below else ():
                inner = os.path.join(folder, name)
                places |= dict.fromkeys(
                    place for rest in below[head] for place in listing.expand(inner, rest)
                )
    folders = [home, *(folder for profile in _PROFILES for folder in glob(os.path.join(home, profile)))]
    for folder in folders:
        places |= dict.fromkeys(os.path.join(folder, name) for name, _ in secrets_inside(folder))
    found = (path for place in places for path in _files(place))
    return sorted(dict.fromkeys(map(os.path.realpath, found)))


@lru_cache(1)
def _patterns() -> tuple[list[tuple[str, ...]], dict[str, list[tuple[str, ...]]]]:
    """Patterns that begin at the root, and those with folders by their first component, which is none with a mark."""
    rooted: list[tuple[str, ...]] = []
    below: dict[str, list[tuple[str, ...]]] = {}
    for own, at_root in secret_patterns():
        if at_root and own[0] != "proc":  # of processes outside: closed to a command in a user namespace
            rooted.append(own)
        elif not at_root and len(own) > 1 and "*" not in own[0]:
            below.setdefault(own[0], []).append(own[1:])
    return rooted, below


def _files(place: str) -> Iterator[str]:
    """The credentials of a place: itself, or the entries of a folder that also has harmless ones."""
    if not _is_secret(place):
        return
    if not os.path.isdir(place):
        yield place
        return
    names = [name for name, _ in secrets_inside(place)]
    if len(names) == len(names_in(place)):
        yield place
    else:
        yield from (os.path.join(place, name) for name in names)


def names_in(folder: str) -> list[str]:
    """The entries of a folder; none where it cannot be listed."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


class _Listing:
    """Folders' entries by their folded names, read once each: patterns are in lower case."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, list[str]]] = {}

    def expand(self, folder: str, own: tuple[str, ...]) -> list[str]:
        """The existing paths below a folder that the components of a pattern name."""
        places = [folder]
        for part in own:
            places = [os.path.join(place, name) for place in places for name in self._matching(place, part)]
        return places

    def names(self, folder: str) -> dict[str, list[str]]:
        """The names in a folder by their folded forms."""
        entries = self._entries.get(folder)
        if entries is None:
            entries = self._entries[folder] = {}
            for name in names_in(folder):
                entries.setdefault(name.casefold(), []).append(name)
        return entries

    def _matching(self, folder: str, part: str) -> Iterator[str]:
        entries = self.names(folder)
        if "*" not in part:
            yield from entries.get(part, ())
        else:
            yield from (name for key, names in entries.items() if fits(key, part) for name in names)
