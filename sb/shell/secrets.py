"""Recognise credentials: their files, the commands that print them, the variables that hold them.

The table is `packs/secrets.yaml`, compiled to `secret_table.py`. A name decides, whether or not the file is there.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from sb.shell.secret_table import ADDRESSES, COMMANDS, FILES, HOSTS, NO_VARIABLES, VARIABLES
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
_MOST_QUOTED = 200  # texts in quotes of a program


class Secret(NamedTuple):
    """A kind of secret, for people; "dotenv" for files that programs load, "private" for what is only not to be sent."""

    what: str
    kind: str = ""


class _Pattern(NamedTuple):
    parts: tuple[str, ...]
    folder: bool  # everything in it too
    rooted: bool
    key: int  # the part by which it is looked up
    row: int


class _Index(NamedTuple):
    literal: dict[str, list[_Pattern]]  # by a part that is no pattern
    begins: dict[str, list[_Pattern]]  # names by how they begin
    ends: dict[str, list[_Pattern]]
    others: list[_Pattern]


@functools.cache
def _index() -> _Index:
    index = _Index({}, {}, {}, [])
    for row, (_, _, paths, _) in enumerate(FILES):
        for path in paths:
            parts = tuple(path.strip("/").split("/"))
            key = next((at for at, part in enumerate(parts) if "*" not in part), -1)
            pattern = _Pattern(parts, path.endswith("/"), path.startswith("/"), key, row)
            if key >= 0:
                index.literal.setdefault(parts[key], []).append(pattern)
                continue
            name = parts[-1]
            if len(name.partition("*")[0]) >= _KEY:
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
    return _first(_secrets_at(parts))


def _first(secrets: Iterator[Secret]) -> Secret | None:
    """The first that may not be read, else one that may not be sent."""
    private = None
    for found in secrets:
        if found.kind != PRIVATE:
            return found
        private = private or found
    return private


def _secrets_at(parts: Sequence[str]) -> Iterator[Secret]:
    index = _index()
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
                yield _secret(pattern)
    name = parts[-1] if parts else ""
    named = (index.begins.get(name[:_KEY], ()), index.ends.get(name[-_KEY:], ()), index.others)
    for pattern in (one for group in named for one in group):
        if glob(name, pattern.parts[0]) and not _excepted(parts, pattern, len(parts)):
            yield _secret(pattern)


def _secret(pattern: _Pattern) -> Secret:
    return Secret(*FILES[pattern.row][:2])


def _excepted(parts: Sequence[str], pattern: _Pattern, end: int) -> bool:
    """Whether a file is named as one that holds no secret; a folder that is itself named is none of them."""
    if pattern.folder and end == len(parts):
        return False
    return any(glob(parts[-1], other) for other in FILES[pattern.row][3])


def secret_pattern(parts: Sequence[str], *, hidden: bool = False) -> Secret | None:
    """The secret that a path may name of which some components are patterns or not known.

    At least one component has to name it, with two characters or more: `~/.ssh/*`, `~/.ss*/id_*`, and not `*`.

    Args:
        hidden: patterns of the shell stand for hidden names too.
    """
    return _first(_secrets_like(parts, hidden))


def _secrets_like(parts: Sequence[str], hidden: bool) -> Iterator[Secret]:
    for row, (_, _, paths, _) in enumerate(FILES):
        for path in paths:
            own = tuple(path.strip("/").split("/"))
            pattern = _Pattern(own, path.endswith("/"), path.startswith("/"), 0, row)
            last = 0 if pattern.rooted else len(parts) - len(own)
            first = 0 if pattern.folder else max(last, 0)
            if any(_fits_at(parts, start, pattern, hidden) for start in range(first, last + 1)):
                yield _secret(pattern)


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
    return compiled(r"[\w.*-]{2,80}").fullmatch(piece) is not None and piece[0] != "-"


# --- commands


@functools.cache
def _commands() -> dict[str, list[tuple[tuple[str, ...], int]]]:
    found: dict[str, list[tuple[tuple[str, ...], int]]] = {}
    for row, (_, commands, _, _) in enumerate(COMMANDS):
        for command in commands:
            program, *rest = command.split(" ")
            found.setdefault(program.rpartition("/")[2], []).append((tuple(rest), row))
    return found


def secret_command(program: str, arguments: Sequence[str]) -> str:
    """What a command prints that is secret, as in "prints a token of GitHub"; "" for nothing."""
    for rest, row in _commands().get(program, ()):
        what, _, options, unless = COMMANDS[row]
        if not _in_order(rest, arguments):
            continue
        given = _options(arguments) if options or unless else ()
        if options and not any(glob(one.lower(), option) for one in given for option in options):
            continue
        if not any(glob(one, option) for one in given for option in unless):
            return what
    return ""


def _in_order(words: Sequence[str], arguments: Sequence[str]) -> bool:
    """Whether the words are the first ones of the arguments, but for options and their values."""
    at = 0
    for word in words:
        skipped = 0
        while at < len(arguments) and arguments[at] != word:
            # Between the words of a command stand options, each with a value at most.
            if arguments[at][:1] != "-" and (
                not at or arguments[at - 1][:1] != "-" or "=" in arguments[at - 1]
            ):
                return False
            at, skipped = at + 1, skipped + 1
        if at == len(arguments):
            return False
        at += 1
    return True


def _options(arguments: Sequence[str]) -> list[str]:
    """The arguments, and each option joined with its value: `-o=json` for `-ojson` and for `-o json`."""
    found = list(arguments)
    for at, word in enumerate(arguments):
        if word[:1] == "-" and at + 1 < len(arguments) and "=" not in word:
            found.append(f"{word}={arguments[at + 1]}")
        if word[:1] == "-" and word[1:2] not in ("", "-") and len(word) > 2:
            found.append(f"{word[:2]}={word[2:].lstrip('=')}")
    return found


# --- variables and hosts


@functools.lru_cache(1024)
def secret_variable(name: str) -> bool:
    """Whether a variable of that name holds a secret."""
    name = name.lower()
    if any(f"_{one}_" in f"_{name}_" for one in NO_VARIABLES):
        return False
    padded = f"_{name}_"
    return any(f"_{one.strip('_')}_" in padded for one in VARIABLES) or name.endswith(
        ("password", "passwd", "_pw", "apikey")
    )


def own_hosts(text: str) -> tuple[str, ...]:
    """The hosts that a secret is meant for, by the words of its variable or command; () if they are not known."""
    words = compiled("[^a-z0-9]+").split(text.lower())
    return tuple(host for word in words for host in HOSTS.get(word, ()))


def is_own_host(host: str, hosts: Iterable[str]) -> bool:
    """Whether a host is one of these or lies below one."""
    return any(host == own or host.endswith(f".{own}") for own in hosts)


def is_metadata(host: str) -> bool:
    """Whether a host gives a cloud machine its credentials."""
    return host.strip("[]").lower().rstrip(".") in ADDRESSES


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    host = host.strip("[]").lower().rstrip(".")
    return host in ("localhost", "::1", "0.0.0.0", "host.docker.internal") or (
        host.endswith(".localhost") or compiled(r"127(?:\.\d+){3}").fullmatch(host) is not None
    )


# --- code

_QUOTED = r"""(?:"([^"\n]{1,400})"|'([^'\n]{1,400})'|`([^`\n]{1,400})`)"""
_WHOLE_ENVIRONMENT = (
    r"(?:print\w*|dump|dict|str|write|stringify|puts|p|log|inspect|items|var_dump|environ)\s*\(?\s*\(?(?:dict\()?"
    r"(?:os\.)?(?:environ\b(?!\s*[\[.])|process\.env\b(?!\s*[.\[])|ENV\b(?!\s*[\[.]))|os\.environ\.items\(|process\.env\s*\)|^\s*process\.env\s*$|ENV\.(?:to_h|inspect|each)|getenv\(\)"
)
_VARIABLE = r"""(?:environ(?:\.get)?\s*[\[(]\s*|getenv\s*\(\s*|ENV\s*[\[{]\s*|process\.env\s*\[\s*)["']?(\w+)|process\.env\.(\w+)"""
_SHOWS = r"print|console\.|puts\b|echo\b|write|log\(|\bp\s|say\b|var_dump|inspect"


def secret_in_code(code: str) -> str:
    """The secret that a program's text reads: a file that it names, or the environment; "" for none."""
    quoted = [next(filter(None, groups), "") for groups in re.findall(_QUOTED, code)[:_MOST_QUOTED]]
    for at, text in enumerate(quoted):
        for path in (text, "/".join(quoted[at : at + 2]), "/".join(quoted[at : at + 3])):
            found = secret_path(folded(path)) if " " not in path and path.strip("/.") else None
            if found is not None and found.kind != PRIVATE:
                return f"reads {found.what}"
    if compiled(_WHOLE_ENVIRONMENT).search(code):
        return "prints the environment"
    for match in compiled(_VARIABLE).finditer(code):
        if secret_variable(match[1] or match[2]) and compiled(_SHOWS).search(code):
            return f"prints {match[1] or match[2]}"
    return ""
