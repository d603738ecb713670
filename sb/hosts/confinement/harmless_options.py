"""Options with which a program that has keys starts no other one, reads no other configuration and sends no login elsewhere.

A list of what is harmful lost to spelling: programs take short options in one word and long ones cut short. So only a line
whose every option is listed in `tables.yaml` gets keys unasked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from sb.hosts.confinement import tables


class Options(NamedTuple):
    """The harmless options of one program.

    Args:
        flags, valued, attached: letters of short options; of the second kind a value follows, in the word or behind it, of
            the third only in the word.
        words: long options without their dashes; `name=` has a value.
        pattern: of further long options with a value, by their names.
        operands: of the first two operands, joined by a null character; subcommands that it has by itself.
        free: of the operands behind which another machine's words begin.
        settings: of the value of `-o`. first: so many words are its subcommand, and stand before any option.
        before: long options with a value that stand before these all the same.
        ends_options: "--" ends them.
    """

    flags: str = ""
    valued: str = ""
    words: str = ""
    attached: str = ""
    pattern: str = "(?!)"
    operands: str = r"[\s\S]*"
    free: str = "(?!)"
    settings: str = r"[\s\S]*"
    ends_options: bool = False
    first: int = 0
    before: tuple[str, ...] = ()


_BY_PROGRAM = {
    name: Options(**fields) for names, fields in tables.OPTIONS.items() for name in names.split(", ")
}
# No program has an option of a blank: a text that begins so is a value, as of `gh pr create --body "- first"`.
_TEXT = re.compile(r"-\s[\s\S]*")
_OPTION_VALUE = "o"


def has_harmless_options(argv: Sequence[str]) -> bool:
    """True for a command whose every option is a harmless one; False for a program without a list.

    Args:
        argv: with its program.
    """
    start = 2 if argv[0] == "git" else 1
    options = _BY_PROGRAM.get(" ".join(argv[:start]))
    return options is not None and _all_harmless(options, argv[start:])


def _all_harmless(options: Options, words: Sequence[str]) -> bool:
    while words and words[0].partition("=")[0] in options.before:
        words = words[1 if "=" in words[0] else 2 :]
    if any(word.startswith("-") for word in words[: options.first]):
        return False
    operands: list[str] = []
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if word == "--":
            return options.ends_options and _fits(options, [*operands, *reversed(rest)])
        if word == "-" or not word.startswith("-") or _TEXT.fullmatch(word):
            operands.append(word)
            if re.fullmatch(options.free, "\0".join(operands)):
                break
            continue
        taken = _value_taken(options, word)
        if taken is None:
            return False
        name, value = taken
        # A value that looks like an option is looked at as one: some programs have the same letter with a value and without.
        if value is None and rest and not rest[-1].startswith("-"):
            value = rest.pop()
        if name == _OPTION_VALUE and not re.fullmatch(options.settings, value or ""):
            return False
    return _fits(options, operands)


def _fits(options: Options, operands: Sequence[str]) -> bool:
    return not operands or re.fullmatch(options.operands, "\0".join(operands)) is not None


def _value_taken(options: Options, word: str) -> tuple[str, str | None] | None:
    """The option that ends a word with its value, "" for none in it or behind it, None for one behind it.

    None for a word with an option that is not listed.
    """
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        known = _words(options)
        if name in known:
            return name, value if equals or not known[name] else None
        return (name, value if equals else None) if re.fullmatch(options.pattern, name) else None
    for index, letter in enumerate(word[1:], start=2):
        if letter in options.valued:
            return letter, word[index:] or None
        if letter in options.attached:
            return letter, word[index:]
        if letter not in options.flags:
            return None
    return "", ""


@lru_cache(32)
def _words(options: Options) -> dict[str, bool]:
    """The long options, and True for those with a value."""
    return {name.rstrip("="): name.endswith("=") for name in options.words.split()}
