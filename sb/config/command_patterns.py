"""Parse the patterns of commands in policy rules.

A pattern such as `git push --force` is a program, its first operands, and options, each of them a file-name pattern.
Options that stand before a subcommand do not count (`git -C . push`), nor does the program's folder, nor what stands
behind the last word.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FORBIDDEN = re.compile(r"[;|&<>()$`\"'\\\n{}#]")


class CommandPattern(NamedTuple):
    """A parsed pattern: the program, its operands in order, and options."""

    program: str
    operands: tuple[str, ...]
    options: tuple[str, ...]


def parse_pattern(text: str) -> CommandPattern:
    """Parse one pattern of `runs`.

    Raises:
        ValueError: it is not one command.
    """
    words = text.split()
    if not words:
        raise ValueError("is blank: name a program")
    redirects = words[0] == ">"
    if sign := _FORBIDDEN.search(" ".join(words[1:]) if redirects else text):
        raise ValueError(f"has a {sign[0]!r}: name one command in plain words, such as git push")
    if words[0].startswith("-"):
        raise ValueError(f"begins with the option {words[0]}: name a program first")
    if "/" in words[0]:
        raise ValueError(
            f"names the folder of {words[0]}: a program counts wherever it lies, so leave it out"
        )
    if "=" in words[0].rstrip("="):
        raise ValueError(f"begins with {words[0]}: a variable is named alone, such as PATH=")
    options = tuple(word for word in words[1:] if word.startswith("-") and word != "-")
    return CommandPattern(words[0], tuple(word for word in words[1:] if word not in options), options)
