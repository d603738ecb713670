"""Recognise the files that hold credentials, by the names of their paths.

The table is `packs/secrets.yaml`, compiled to `secret_table.py`. A name decides, whether or not the file is there.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from sb.shell.packs.secret_index import KEY, Pattern, SecretIndex, SecretRow, index
from sb.shell.packs.secret_table import BEGINS, ENDS, FILES, LITERAL, OTHERS, PATTERNS
from sb.shell.parsing.words import (
    BRACKET,
    OPERAND,
    QUESTION,
    STAR,
    UNKNOWN,
    compiled,
    display,
    is_literal,
    is_sure,
)
from sb.shell.places.sensitive import folded

if TYPE_CHECKING:
    from sb.shell.places.paths import Paths

DOTENV, PRIVATE = "dotenv", "private"
_AS_GLOB = str.maketrans(
    {STAR: "*", UNKNOWN: "*", OPERAND: "*", QUESTION: "?", "*": "[*]", "?": "[?]", "[": "[[]", BRACKET: "["}
)
_WILD = f"[{STAR}{QUESTION}{BRACKET}{UNKNOWN}{OPERAND}]+"
_ENDING = rf"{STAR}\.(?:json|ya?ml|toml|xml|txt)"  # of many files, few of them with secrets
_ELSEWHERE = r"(?i)(?!file:)[a-z][a-z0-9+.-]*://"  # what an address of the network begins with
_MOST_ENTRIES = 1000  # of a folder
_MOST_BELOW = 1500  # of a folder and all below it
_DEEPEST = 6
_FILLED_BY_TOOLS = frozenset(
    ".git .hg .svn .jj node_modules .venv venv site-packages __pycache__ .tox .mypy_cache target dist build .next .cache".split()
)
_LONGEST = 4096  # characters of a path
SHOWN = 80  # of them in a reason


class Secret(NamedTuple):
    """A kind of secret, for people; "dotenv" for files that programs load, "private" for what is only not to be sent."""

    what: str
    kind: str = ""

    def read_by(self, word: str) -> str:
        """The reason why a word of a command line reads it."""
        return f"reads {self.what}: {display(word, SHOWN)}"


class OwnSecrets(NamedTuple):
    """Rows that packs of one's own add to the table.

    Args:
        files, commands: rows like those of the table. free: paths that hold no secret, of trusted packs.
    """

    files: tuple[SecretRow, ...] = ()
    commands: tuple[tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = ()
    free: tuple[str, ...] = ()


SHIPPED_SECRETS = OwnSecrets()
OWN: ContextVar[OwnSecrets] = ContextVar("own_secrets", default=SHIPPED_SECRETS)


@functools.lru_cache(8)
def _tables(files: tuple[SecretRow, ...]) -> tuple[tuple[SecretRow, ...], list[SecretIndex]]:
    """The rows, and the indexes in which they are looked up; their numbers go on from one to the next."""
    return ((*FILES, *files), [_SHIPPED, index(files, len(FILES))]) if files else (FILES, [_SHIPPED])


_SHIPPED: SecretIndex = (PATTERNS, LITERAL, BEGINS, ENDS, OTHERS)


def glob(name: str, pattern: str) -> bool:
    """True if a name is one that a pattern stands for; `*` is its only mark."""
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
    secret = _secret_at(tuple(parts), OWN.get().files)
    return None if secret is not None and _is_free(parts) else secret


@functools.lru_cache(1 << 11)
def _secret_at(parts: tuple[str, ...], files: tuple[SecretRow, ...]) -> Secret | None:
    return _first(_secrets_at(parts, *_tables(files)))


def secret_patterns() -> Iterator[tuple[tuple[str, ...], bool]]:
    """The patterns of credentials that need protection from readers: folded components, and whether they begin at the root."""
    rows, indexes = _tables(OWN.get().files)
    for own, _, rooted, _, row in (pattern for item in indexes for pattern in item[0]):
        if rows[row][1] != PRIVATE:
            yield own, rooted


def _is_free(parts: Sequence[str]) -> bool:
    """True if a path is one that a trusted pack names as holding no secret."""
    for path in OWN.get().free:
        own = path.strip("/").split("/")
        for start in range(1 if path.startswith("/") else len(parts) - len(own) + 1):
            ends = start + len(own) == len(parts) or path.endswith("/")
            if ends and len(parts) >= len(own) and all(map(glob, parts[start : start + len(own)], own)):
                return True
    return False


def _first(secrets: Iterator[Secret]) -> Secret | None:
    """The first that may not be read, else one that may not be sent."""
    private = None
    for secret in secrets:
        if secret.kind != PRIVATE:
            return secret
        private = private or secret
    return private


def _secrets_at(
    parts: Sequence[str], rows: Sequence[SecretRow], indexes: Sequence[SecretIndex]
) -> Iterator[Secret]:
    name = parts[-1] if parts else ""
    for patterns, literal, begins, ends, others in indexes:
        for at, part in enumerate(parts):
            for number in literal.get(part, ()):
                own, folder, rooted, key, row = patterns[number]
                start = at - key
                end = start + len(own)
                if start < 0 or end > len(parts) or (rooted and start) or (end < len(parts) and not folder):
                    continue
                fits = len(own) == 1 or all(map(glob, parts[start:end], own))
                if fits and not _excepted(parts, end, rows[row], folder=folder):
                    yield Secret(*rows[row][:2])
        for number in (*begins.get(name[:KEY], ()), *ends.get(name[-KEY:], ()), *others):
            own, folder, _, _, row = patterns[number]
            if glob(name, own[0]) and not _excepted(parts, len(parts), rows[row], folder=folder):
                yield Secret(*rows[row][:2])


def _excepted(parts: Sequence[str], end: int, row: SecretRow, *, folder: bool) -> bool:
    """True if a file is named as one that holds no secret; a folder that is itself named is none of them."""
    if folder and end == len(parts):
        return False
    return any(glob(parts[-1], other) for other in row[3])


def secret_pattern(parts: Sequence[str], *, hidden: bool = False) -> Secret | None:
    """The secret that a path with patterns or unknown components may name.

    At least one component has to name it, with two characters or more: `~/.ssh/*`, `~/.ss*/id_*`, and not `*`.

    Args:
        hidden: patterns of the shell stand for hidden names too.
    """
    return _secret_like(tuple(parts), hidden, OWN.get().files)


@functools.lru_cache(1 << 10)
def _secret_like(parts: tuple[str, ...], hidden: bool, files: tuple[SecretRow, ...]) -> Secret | None:
    return _first(_secrets_like(parts, hidden, files))


def _secrets_like(parts: Sequence[str], hidden: bool, files: tuple[SecretRow, ...]) -> Iterator[Secret]:
    (rows, indexes), (components, wild) = _tables(files), _components(files)
    patterns = [pattern for item in indexes for pattern in item[0]]
    # One component at least names a secret: other patterns than those with one that it may be cannot fit.
    named: set[int] = set()
    for part in filter(_names, dict.fromkeys(parts)):
        head, tail, _, _ = _shape(part)
        fixed = [item for item in components if item.startswith(head) and item.endswith(tail)]
        for component in (*fixed, *wild):
            if _may_be(part, component, hidden):
                named.update(components[component])
    for pattern in (patterns[number] for number in sorted(named)):
        own, folder, rooted, _, row = pattern
        last = 0 if rooted else len(parts) - len(own)
        first = 0 if folder else max(last, 0)
        if any(_fits_at(parts, start, pattern, rows[row], hidden) for start in range(first, last + 1)):
            yield Secret(*rows[row][:2])


@functools.lru_cache(8)
def _components(files: tuple[SecretRow, ...]) -> tuple[dict[str, list[int]], list[str]]:
    """The components of all patterns, each with the numbers of the patterns that have it; and those with a `*`."""
    components: dict[str, list[int]] = {}
    patterns = (pattern for table in _tables(files)[1] for pattern in table[0])
    for number, pattern in enumerate(patterns):
        for component in dict.fromkeys(pattern[0]):
            components.setdefault(component, []).append(number)
    return components, [component for component in components if "*" in component]


def _fits_at(parts: Sequence[str], start: int, pattern: Pattern, row: SecretRow, hidden: bool) -> bool:
    end = start + len(pattern[0])
    own, below = parts[start:end], parts[end:]
    if len(own) < len(pattern[0]):
        return False
    if not all(_may_be(part, item, hidden) for part, item in zip(own, pattern[0], strict=True)):
        return False
    if not any(map(_names, own)) or (below and is_literal(below[-1]) and not _named_well(own)):
        return False
    return not _excepted(parts, end, row, folder=pattern[1])


def _names(part: str) -> bool:
    return len(compiled(_WILD).sub("", part)) >= 2


def _named_well(own: Sequence[str]) -> bool:
    """True if the components of a folder are enough to tell it from others that begin alike."""
    return any(len(compiled(_WILD).sub("", part)) >= 3 for part in own)


def _may_be(part: str, pattern: str, hidden: bool) -> bool:
    """True if a component that may be a pattern can be what another pattern stands for."""
    if is_literal(part):
        return glob(part, pattern)
    if part[0] in (STAR, QUESTION, BRACKET) and pattern.startswith(".") and not hidden:
        return False
    head, tail, known, shape = _shape(part)
    if "*" in pattern:
        other_head, *middle, other_tail = pattern.split("*")
        if not other_head and not other_tail:
            return pattern == "*" or any(item in part for item in middle if item)
        ends = ((head, other_head), (tail[::-1], other_tail[::-1]))
        return all(bool(end) and _agree(end, other) for end, other in ends if other)
    if not pattern.startswith(head) or not pattern.endswith(tail):
        return False
    stem, dot, extension = pattern.rpartition(".")
    if stem and tail == dot + extension and known - len(tail) < 2:
        return False  # `*.json` names no file of secrets
    return fnmatchcase(pattern, shape)


@functools.lru_cache(1 << 8)
def _shape(part: str) -> tuple[str, str, int, str]:
    """The known beginning and end of a component with patterns, how much of it is known, and its glob."""
    pieces = compiled(_WILD).split(part.partition(BRACKET)[0] + (STAR if BRACKET in part else ""))
    return pieces[0], pieces[-1], len("".join(pieces)), part.translate(_AS_GLOB)


def _agree(text: str, other: str) -> bool:
    return text.startswith(other) or other.startswith(text)


def secret_inside(folder: str, *, deep: bool = False) -> str:
    """The first file with a secret in a folder, as in "an SSH key: /x/id_rsa"; "" for none.

    Args:
        deep: also in the folders below it.
    """
    found = next(secrets_below(folder) if deep else secrets_inside(folder), None)
    return f"{found[1].what}: {display(os.path.join(folder, found[0]), 80)}" if found else ""


def secrets_inside(folder: str) -> Iterator[tuple[str, Secret]]:
    """The names of the files with a secret directly in a folder, sorted."""
    return _secrets_of(folder, sorted(name for name, _ in _entries(folder, _MOST_ENTRIES)))


def secrets_below(
    folder: str, depth: int = _DEEPEST, *, rest: list[str] | None = None
) -> Iterator[tuple[str, Secret]]:
    """The files with a secret in a folder and in those below it, as paths relative to it; the nearest first.

    Folders that tools fill (`node_modules`, `.git` and the like) are left out, and what is behind many entries.

    Args:
        depth: how many folders deep; 0 for the folder alone. rest: gets the folders that were not looked into for their number.
    """
    level, left = [""], _MOST_BELOW
    for _ in range(depth + 1):
        below: list[str] = []
        for inner in level:
            entries = sorted(_entries(os.path.join(folder, inner), left))
            left -= len(entries)
            if rest is not None and (left <= 0 or not may_be_there(os.path.join(folder, inner))):
                rest.append(inner)
            yield from _secrets_of(folder, [os.path.join(inner, name) for name, _ in entries])
            below += [
                os.path.join(inner, name)
                for name, is_folder in entries
                if is_folder and name not in _FILLED_BY_TOOLS
            ]
        level = below
    if rest is not None and depth == _DEEPEST:
        rest += level


def _entries(folder: str, most: int) -> list[tuple[str, bool]]:
    """Names in a folder, each with True for a folder that is not a link."""
    try:
        with os.scandir(folder) as entries:
            return [
                (entry.name, entry.is_dir(follow_symlinks=False)) for entry in itertools.islice(entries, most)
            ]
    except OSError:
        return []


def _secrets_of(folder: str, names: Iterable[str]) -> Iterator[tuple[str, Secret]]:
    for name in names:
        secret = secret_path(folded(os.path.join(folder, name)))
        if secret is not None and secret.kind != PRIVATE:
            yield name, secret


def secret_word(paths: Paths, word: str) -> Secret | None:
    """The secret that a word of a command line names, in whatever folder it may run; None for none."""
    for piece in _pieces(word):
        secret = _by_piece(paths, piece)
        if secret is not None:
            return secret
    return None


def existing(paths: Paths, word: str) -> tuple[str, ...] | None:
    """The existing files that a word names, as real paths; None where that cannot be told."""
    if ":" in word or not is_sure(word):
        return None
    files = dict[str, None]()
    for piece in _pieces(word):
        there = there_now(paths, piece)
        if there is None:
            return None
        files |= dict.fromkeys(map(os.path.realpath, there))
    return tuple(files)


def there_now(paths: Paths, piece: str) -> list[str] | None:
    """The existing paths that a word stands for, by its patterns too; None where that cannot be told."""
    if paths.elsewhere or paths.anywhere or paths.wandered or paths.arrived:
        return None
    present: list[str] = []
    for place in paths.places(piece):
        if is_literal(place):
            present += [place] if may_be_there(place) else []
            continue
        fitting = _fitting(place, dotglob=paths.dotglob)
        if fitting is None:
            return None
        present += fitting
    return present


def _fitting(pattern: str, *, dotglob: bool) -> list[str] | None:
    """The existing paths that an absolute pattern fits, whatever their case; None for an unknown folder and many entries."""
    parts = pattern.split("/")
    first = next(at for at, part in enumerate(parts) if not is_literal(part))
    level, left = ["/".join(parts[:first]) or "/"], _MOST_ENTRIES
    if not os.path.isdir(level[0]):
        return None
    for part in parts[first:]:
        if STAR * 2 in part or (BRACKET in part and ":" in part):
            return None
        shape = part.casefold().translate(_AS_GLOB).replace("[^", "[!")
        hidden = dotglob or part.startswith(".")
        following: list[str] = []
        for folder in level:
            if is_literal(part):
                following += [path] if may_be_there(path := f"{folder}/{part}") else []
                continue
            names = [name for name, _ in _entries(folder, left)]
            left -= len(names)
            if left <= 0:
                return None
            fits = (
                name for name in names if (hidden or name[0] != ".") and fnmatchcase(name.casefold(), shape)
            )
            following += (f"{folder}/{name}" for name in fits)
        level = following
    return level


def may_be_there(path: str) -> bool:
    """True if there is something at a path, or that cannot be told, as in a folder of somebody else."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _pieces(word: str) -> Iterator[str]:
    if (
        not word
        or "\n" in word
        or len(word) > _LONGEST
        or ("://" in word and compiled(_ELSEWHERE).match(word))
    ):
        return
    yield word
    if word[0] == "-" and len(word) > 2 and word[1] != "-":
        yield word[2:]
    if any(char in word for char in "=:,@<"):
        yield from (piece for piece in compiled("[=:,@<]").split(word)[:32] if piece and piece != word)


def _by_piece(paths: Paths, piece: str) -> Secret | None:
    own = folded(piece)
    if not own or (" " in own[-1] and not piece.startswith(("/", "~", "."))):
        return None
    if is_literal(piece):
        secret = secret_path(own)
        if secret is None and own[-1] != "-":
            places = paths.places(piece) if piece[0] != "-" else ()
            secret = next(filter(None, (secret_path(folded(place)) for place in places)), None)
            if (
                secret is not None
                and not piece.startswith(("/", "~"))
                and not any(map(os.path.lexists, places))
            ):
                return secret if _is_plain(piece) else None
        return secret
    if OPERAND in piece or UNKNOWN in piece:
        return secret_pattern(own, hidden=True)
    secret = secret_pattern(own, hidden=paths.dotglob)
    if (
        secret is None and "/" not in piece and len(paths.folders) > 1
    ):  # in the folder that the line has gone to
        secret = secret_pattern(folded(paths.places(piece)[0]), hidden=paths.dotglob)
    last = own[-1]
    if secret is None and (is_literal(last) or not (last.startswith(".") or paths.dotglob)):
        return None  # what is there says more than the pattern only of hidden files, such as those of `.*`
    there = there_now(paths, piece)
    if there is None:
        return None if compiled(_ENDING).fullmatch(last) else secret
    both = (folded(place) for path in there for place in (path, os.path.realpath(path)))
    return _first(filter(None, map(secret_path, both)))


def _is_plain(piece: str) -> bool:
    """True if a word is like a file's name, for one that only its folder makes a secret."""
    return compiled(r"[\w.*-]{1,80}").fullmatch(piece) is not None and piece[0] != "-"
