"""Facts about programs: the records of the rule packs, as the rooms that judge a line ask for them.

The records stand in `sb/shell/packs/*.yaml`; `program_packing.py` says what their words mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from sb.shell.packs.program_table import FACTS, TRAITS, VARIABLES


@cache
def having(*traits: str) -> frozenset[str]:
    """The programs that have one of these traits."""
    return frozenset(name for trait in traits for name in TRAITS[trait].split("|"))


def texts(fact: str) -> Mapping[str, str]:
    """The value of a fact, by program."""
    return FACTS[fact]


@cache
def lists(fact: str) -> dict[str, tuple[str, ...]]:
    """The items of a fact that is a list, or its fields in the order in which they are compiled, by program."""
    return {name: tuple(value.split("|")) for name, value in FACTS[fact].items()}


class Wrapper(NamedTuple):
    """A program that runs the command which its arguments are.

    Args:
        letter: of the class that it has at least. skips: operands before the command.
        values: options with a value, as one text. flags: options that surely have none; of others that is not known.
    """

    letter: str
    skips: int = 0
    values: str = ""
    flags: str = ""


WRAPPERS = {
    name: Wrapper(letter, int(skips or 0), values, flags)
    for name, (letter, skips, values, flags) in lists("wraps").items()
}
# Variables whose value is a command that a program runs, those that change which programs or code run, those that decide
# which settings a host's agent goes by, or that it goes by none, and those that name a file or folder which is written.
COMMAND_VARIABLES, LOADER_VARIABLES, HOST_VARIABLES, WRITTEN_VARIABLES = (
    frozenset(VARIABLES[name].split("|")) for name in ("runs", "loads", "configures_hosts", "writes")
)
XARGS_VALUED = "-I -n -P -L -d -E -s -a -R -J --arg-file --delimiter --max-args --max-procs --max-lines --max-chars --replace --eof"
