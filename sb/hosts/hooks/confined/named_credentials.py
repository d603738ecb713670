"""Credentials that a line opens by naming them: what it was judged as reading or writing, so that a person is asked.

A name alone opens nothing: whatever else runs in the line would read it, too.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

from sb.hosts.confinement.needs import KNOWN_TOOLS
from sb.shell import ShellVerdict
from sb.shell.credentials.files import SHOWN
from sb.shell.credentials.showing import RUN_OTHERS, read_words, shows_files
from sb.shell.parsing.words import display


def named_credentials(
    effects: ShellVerdict, written: Collection[str], closed: Collection[str], cwd: str
) -> dict[str, None]:
    """The closed paths that commands of a line name and open.

    One command gets them alone or beside tools that work on files.

    Args:
        written: absolute paths that a person is asked about. closed: paths that no command reads by itself.
    """
    writes, opened = {*map(_real, written)}, dict[str, None]()
    others = [argv for argv in effects.commands if argv and argv[0] not in KNOWN_TOOLS]
    for argv in effects.commands if len(others) < 2 else ():
        if not argv or (others and argv is not others[0]):
            continue
        reads = {*_reads(argv)} if effects.secrets else set[str]()
        for word in argv[1:]:
            if not (path := _place(word, cwd)):
                continue
            is_asked = word in reads and _is_asked(word, effects)
            if path in writes or is_asked:
                opened |= dict.fromkeys(closed_by(path, closed))
            if is_asked or (word in reads and not others):  # a folder that is read whole
                below = f"{path.rstrip('/')}/"
                opened |= {place: None for place in closed if place.startswith(below)}
    return opened


def asked_words(effects: ShellVerdict) -> set[str]:
    """The words of a line that a person is asked about, since its commands read credentials by them."""
    words = (word for argv in effects.commands if argv and effects.secrets for word in _reads(argv))
    return {word for word in words if _is_asked(word, effects)}


def _is_asked(word: str, effects: ShellVerdict) -> bool:
    return any(why.endswith(f": {display(word, SHOWN)}") for why in effects.secrets)


def closed_by(path: str, closed: Collection[str]) -> Iterator[str]:
    """The closed paths that a path is, or lies in."""
    return (place for place in closed if f"{_real(path)}/".startswith(f"{place}/"))


def _reads(argv: Sequence[str]) -> Sequence[str]:
    """The words that a command reads as files, by its record; a shell reads what its script says."""
    program, words = argv[0].rpartition("/")[2], argv[1:]
    shown = program not in RUN_OTHERS and shows_files(program, words)
    return read_words(program, words) if shown else ()


def _place(word: str, cwd: str) -> str:
    """The absolute path that a word names; "" for what is none."""
    text = word.rpartition("=")[2] if word.startswith("-") else word
    is_path = "/" in text or text.startswith((".", "~"))
    return _real(os.path.join(cwd, os.path.expanduser(text))) if is_path else ""


def _real(path: str) -> str:
    """A path without links in its folders; the last component stays, as the profile has it."""
    head, name = os.path.split(path)
    return os.path.join(os.path.realpath(head), name) if name else os.path.realpath(path)
