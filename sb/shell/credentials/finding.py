"""Files with secrets that `find` and its like find: by the names that they look for, or among all that is there."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from fnmatch import fnmatchcase

from sb.shell.credentials.files import PRIVATE, Secret, secret_word, secrets_below
from sb.shell.credentials.taints import CLEAN, NAMES, Taint
from sb.shell.parsing.words import QUESTION, STAR, compiled, is_literal
from sb.shell.places.paths import Paths

_NAME_TESTS = "-i?(?:name|path|wholename|regex|lname)"
_VALUED = ("-type", "-maxdepth", "-mindepth", "-exec", "-user", "-size", "-mtime", "-perm", "-newer")
_ENDING = r"\*\.(?:json|ya?ml|toml|xml|txt)"  # of many files, few of them with secrets
_FOLLOWING = frozenset(("-L", "-H", "-follow"))  # links to folders
_AS_GLOB = str.maketrans({STAR: "*", QUESTION: "?"})


def found_files(paths: Paths, program: str, arguments: Sequence[str], *, taken: bool) -> Taint:
    """The files with secrets that a search finds.

    Args:
        taken: a command takes what is found; then it may be any file of the folders that are searched.
    """
    for at, word in enumerate(arguments):
        before = arguments[at - 1] if at else ""
        if word[:1] == "-" or before in _VALUED:
            continue
        text = word.rstrip("/").rpartition("*/")[2] if before in ("-path", "-wholename", "-ipath") else word
        if taken and program == "find" and compiled(_ENDING).fullmatch(text):
            continue  # what is there counts
        secret = _by_name(paths, text)
        named = program == "find" and before in ("-name", "-iname")
        if (
            secret is not None
            and secret.kind != PRIVATE
            and not (named and _finds_none(paths, arguments, word))
        ):
            return Taint(NAMES, secret.read_by(word))
    return _of_any_name(paths, arguments) if program == "find" and taken else CLEAN


def _by_name(paths: Paths, text: str) -> Secret | None:
    """The secret that a pattern of a search names: it is not one of the line's own folder, so names alone decide."""
    arrived, paths.arrived = paths.arrived, True
    secret = secret_word(paths, text.replace("*", STAR) if "*" in text else text)
    if secret is None and "*" in text:
        secret = secret_word(paths, text.replace("*", ""))
    paths.arrived = arrived
    return secret


def _of_any_name(paths: Paths, arguments: Sequence[str]) -> Taint:
    """The files with secrets in the folders that `find` searches, as far as its tests of names let them through."""
    tests = [at for at, word in enumerate(arguments) if compiled(_NAME_TESTS).fullmatch(word)]
    tests = [] if "-prune" in arguments else [at for at in tests if arguments[at - 1] not in ("!", "-not")]
    if not all(arguments[at] in ("-name", "-iname") for at in tests):
        return CLEAN
    shapes = [shape.translate(_AS_GLOB) for at in tests for shape in arguments[at + 1 : at + 2]]
    found = [
        (name, secret)
        for root in _roots(arguments)
        if is_literal(root)
        for place in paths.now(root)
        for name, secret in secrets_below(place, *_depth(arguments))
        if not shapes or any(_fits(name, shape) for shape in shapes)
    ]
    if not found:
        return CLEAN
    what = found[0][1].read_by(found[0][0])
    return Taint(NAMES, what, packed=True, names=tuple(name for name, _ in found))


def _finds_none(paths: Paths, arguments: Sequence[str], shape: str) -> bool:
    """True if `find` surely finds no file with secrets by a name, nor in a folder of that name."""
    shape, rest = shape.translate(_AS_GLOB), list[str]()
    if not _FOLLOWING.isdisjoint(arguments):
        return False
    for root in _roots(arguments):
        if not is_literal(root) or paths.arrived or paths.elsewhere or paths.anywhere or paths.wandered:
            return False
        for place in paths.now(root):
            found = secrets_below(place, *_depth(arguments), rest=rest)
            if any(_fits(part, shape) for name, _ in found for part in name.split("/")) or rest:
                return False
    return True


def _roots(arguments: Sequence[str]) -> list[str]:
    return list(itertools.takewhile(lambda word: word[:1] not in "-(!", arguments)) or ["."]


def _depth(arguments: Sequence[str]) -> tuple[int, ...]:
    """The depth to which `find` goes; () if it is not limited."""
    given = (after for word, after in itertools.pairwise(arguments) if word == "-maxdepth")
    return tuple(max(int(depth) - 1, 0) for depth in given if compiled(r"\d{1,3}").fullmatch(depth))[:1]


def _fits(name: str, shape: str) -> bool:
    return fnmatchcase(os.path.basename(name).casefold(), shape.casefold())
