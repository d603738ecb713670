"""Recognise the files that hold credentials, by the names of their paths.

The table is `packs/secrets.yaml`, compiled to `secret_table.py`. A name decides, whether or not the file is there.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from sb.shell.secret_table import FILES
from sb.shell.sensitive import folded
from sb.shell.words import BRACKET, OPERAND, QUESTION, STAR, UNKNOWN, compiled, is_literal

if TYPE_CHECKING:
    from sb.shell.paths import Paths

DOTENV, PRIVATE = "dotenv", "private"
_AS_GLOB = str.maketrans(
    {STAR: "*", UNKNOWN: "*", OPERAND: "*", QUESTION: "?", "*": "[*]", "?": "[?]", "[": "[[]", BRACKET: "["}
)
_KEY = 3  # characters of a name by which patterns of names are looked up
_WILD = f"[{STAR}{QUESTION}{BRACKET}{UNKNOWN}{OPERAND}]+"
_ELSEWHERE = r"(?i)(?!file:)[a-z][a-z0-9+.-]*://"  # what an address of the network begins with
_LONGEST = 4096  # characters of a path


class Secret(NamedTuple):
    """A kind of secret, for people; "dotenv" for files that programs load, "private" for what is only not to be sent."""

    what: str
    kind: str = ""


class _Pattern(NamedTuple):
    parts: tuple[str, ...]
    folder: bool  # everything in it too
    rooted: bool
    key: int  # the part by which it is looked up
    secret: Secret
    excepted: tuple[str, ...]  # names of files that hold none


class _Index(NamedTuple):
    literal: dict[str, list[_Pattern]]  # by a part that is no pattern
    begins: dict[str, list[_Pattern]]  # names by how they begin
    ends: dict[str, list[_Pattern]]
    others: list[_Pattern]


class OwnSecrets(NamedTuple):
    """What packs of one's own add to the table.

    Args:
        files, commands: rows like those of the table. free: paths that hold no secret, of trusted packs.
    """

    files: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = ()
    commands: tuple[tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = ()
    free: tuple[str, ...] = ()


SHIPPED_SECRETS = OwnSecrets()
OWN: ContextVar[OwnSecrets] = ContextVar("own_secrets", default=SHIPPED_SECRETS)


@functools.lru_cache(8)
def _patterns(own: OwnSecrets) -> list[_Pattern]:
    found: list[_Pattern] = []
    for what, kind, paths, excepted in (*FILES, *own.files):
        found += (_pattern(path, Secret(what, kind), excepted) for path in paths)
    return found


def _pattern(path: str, secret: Secret, excepted: tuple[str, ...] = ()) -> _Pattern:
    parts = tuple(path.strip("/").split("/"))
    key = next((at for at, part in enumerate(parts) if "*" not in part), -1)
    return _Pattern(parts, path.endswith("/"), path.startswith("/"), key, secret, excepted)


@functools.lru_cache(8)
def _index(own: OwnSecrets) -> _Index:
    index = _Index({}, {}, {}, [])
    for pattern in _patterns(own):
        name = pattern.parts[-1]
        if pattern.key >= 0:
            index.literal.setdefault(pattern.parts[pattern.key], []).append(pattern)
        elif len(name.partition("*")[0]) >= _KEY:
            index.begins.setdefault(name[:_KEY], []).append(pattern)
        elif len(name.rpartition("*")[2]) >= _KEY:
            index.ends.setdefault(name[-_KEY:], []).append(pattern)
        else:
            index.others.append(pattern)
    return index


def glob(name: str, pattern: str) -> bool:
    """Whether a name is one that a pattern stands for; `*` is its only mark."""
    if "*" not in pattern:
        return name == pattern
    head, *middle, tail = pattern.split("*")
    if len(name) < len(head) + len(tail) or not name.startswith(head) or not name.endswith(tail):
        return False
    at, end = len(head), len(name) - len(tail)
    for part in middle:
        at = name.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def secret_path(parts: Sequence[str]) -> Secret | None:
    """The secret that a path holds, given as folded components; None for none."""
    found = _first(_secrets_at(parts))
    return None if found is not None and _is_free(parts) else found


def _is_free(parts: Sequence[str]) -> bool:
    """Whether a path is one that a trusted pack names as holding no secret."""
    for path in OWN.get().free:
        pattern = _pattern(path, Secret(""))
        count = len(pattern.parts)
        for start in range(1 if pattern.rooted else len(parts) - count + 1):
            ends = start + count == len(parts) or pattern.folder
            if ends and len(parts) >= count and all(map(glob, parts[start : start + count], pattern.parts)):
                return True
    return False


def _first(secrets: Iterator[Secret]) -> Secret | None:
    """The first that may not be read, else one that may not be sent."""
    private = None
    for found in secrets:
        if found.kind != PRIVATE:
            return found
        private = private or found
    return private


def _secrets_at(parts: Sequence[str]) -> Iterator[Secret]:
    index = _index(OWN.get())
    for at, part in enumerate(parts):
        for pattern in index.literal.get(part, ()):
            start = at - pattern.key
            end = start + len(pattern.parts)
            if start < 0 or end > len(parts) or (pattern.rooted and start):
                continue
            own = parts[start:end]
            if end < len(parts) and not pattern.folder:
                continue
            if (len(own) == 1 or all(map(glob, own, pattern.parts))) and not _excepted(parts, pattern, end):
                yield pattern.secret
    name = parts[-1] if parts else ""
    named = (index.begins.get(name[:_KEY], ()), index.ends.get(name[-_KEY:], ()), index.others)
    for pattern in (one for group in named for one in group):
        if glob(name, pattern.parts[0]) and not _excepted(parts, pattern, len(parts)):
            yield pattern.secret


def _excepted(parts: Sequence[str], pattern: _Pattern, end: int) -> bool:
    """Whether a file is named as one that holds no secret; a folder that is itself named is none of them."""
    if pattern.folder and end == len(parts):
        return False
    return any(glob(parts[-1], other) for other in pattern.excepted)


def secret_pattern(parts: Sequence[str], *, hidden: bool = False) -> Secret | None:
    """The secret that a path may name of which some components are patterns or not known.

    At least one component has to name it, with two characters or more: `~/.ssh/*`, `~/.ss*/id_*`, and not `*`.

    Args:
        hidden: patterns of the shell stand for hidden names too.
    """
    return _first(_secrets_like(parts, hidden))


def _secrets_like(parts: Sequence[str], hidden: bool) -> Iterator[Secret]:
    for pattern in _patterns(OWN.get()):
        last = 0 if pattern.rooted else len(parts) - len(pattern.parts)
        first = 0 if pattern.folder else max(last, 0)
        if any(_fits_at(parts, start, pattern, hidden) for start in range(first, last + 1)):
            yield pattern.secret


def _fits_at(parts: Sequence[str], start: int, pattern: _Pattern, hidden: bool) -> bool:
    end = start + len(pattern.parts)
    own, below = parts[start:end], parts[end:]
    if len(own) < len(pattern.parts):
        return False
    if not all(_may_be(part, one, hidden) for part, one in zip(own, pattern.parts, strict=True)):
        return False
    if not any(map(_names, own)) or (below and is_literal(below[-1]) and not _named_well(own)):
        return False
    return not _excepted(parts, pattern, end)


def _names(part: str) -> bool:
    return len(compiled(_WILD).sub("", part)) >= 2


def _named_well(own: Sequence[str]) -> bool:
    """Whether the components of a folder are enough to tell it from others that begin alike."""
    return any(len(compiled(_WILD).sub("", part)) >= 3 for part in own)


def _may_be(part: str, pattern: str, hidden: bool) -> bool:
    """Whether a component that may be a pattern can be what another pattern stands for."""
    if is_literal(part):
        return glob(part, pattern)
    if part[0] in (STAR, QUESTION, BRACKET) and pattern.startswith(".") and not hidden:
        return False
    pieces = compiled(_WILD).split(part.partition(BRACKET)[0] + (STAR if BRACKET in part else ""))
    head, tail = pieces[0], pieces[-1]
    if "*" in pattern:
        other_head, *middle, other_tail = pattern.split("*")
        if not other_head and not other_tail:
            return pattern == "*" or any(one in part for one in middle if one)
        ends = ((head, other_head), (tail[::-1], other_tail[::-1]))
        return all(bool(one) and _agree(one, other) for one, other in ends if other)
    stem, dot, extension = pattern.rpartition(".")
    if stem and tail == dot + extension and len("".join(pieces)) - len(tail) < 2:
        return False  # `*.json` names no file of secrets
    return fnmatchcase(pattern, part.translate(_AS_GLOB))


def _agree(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def secret_word(paths: Paths, word: str) -> Secret | None:
    """The secret that a word of a command line names, in whatever folder it may run; None for none."""
    for piece in _pieces(word):
        found = _by_piece(paths, piece)
        if found is not None:
            return found
    return None


def _pieces(word: str) -> Iterator[str]:
    if not word or "\n" in word or len(word) > _LONGEST or compiled(_ELSEWHERE).match(word):
        return
    yield word
    if word[0] == "-" and len(word) > 2 and word[1] != "-":
        yield word[2:]
    if compiled("[=:,@<]").search(word):
        yield from (piece for piece in compiled("[=:,@<]").split(word)[:32] if piece and piece != word)


def _by_piece(paths: Paths, piece: str) -> Secret | None:
    own = folded(piece)
    if not own or (" " in own[-1] and not piece.startswith(("/", "~", "."))):
        return None
    if is_literal(piece):
        found = secret_path(own)
        if found is None and own[-1] != "-":
            places = paths.places(piece) if piece[0] != "-" else ()
            found = next(filter(None, (secret_path(folded(place)) for place in places)), None)
            if (
                found is not None
                and not piece.startswith(("/", "~"))
                and not any(map(os.path.lexists, places))
            ):
                return found if _is_plain(piece) else None
        return found
    if OPERAND in piece or UNKNOWN in piece:
        return secret_pattern(own, hidden=True)
    found = secret_pattern(own, hidden=paths.dotglob)
    if found is None and "/" not in piece:  # in the folder that the line has gone to
        found = (
            secret_pattern(folded(paths.places(piece)[0]), hidden=paths.dotglob)
            if len(paths.folders) > 1
            else None
        )
    return found


def _is_plain(piece: str) -> bool:
    """Whether a word is like a file's name, for one that only its folder makes a secret."""
    return compiled(r"[\w.*-]{1,80}").fullmatch(piece) is not None and piece[0] != "-"
