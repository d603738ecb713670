"""Destinations of programs: the arguments that name one, and what is put there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from sb.shell.destinations.copying import copied, delivered, synchronised, transferred
from sb.shell.destinations.fetching import by_git, downloaded, fetched
from sb.shell.destinations.unpacking import copied_in, extracted, into, patched, unpacked, untarred, unzipped
from sb.shell.parsing.words import compiled
from sb.shell.programs.facts import lists, texts
from sb.shell.programs.options import Arrival, parsed

if TYPE_CHECKING:
    from sb.shell.judge import Judge


def arrivals(judge: Judge, program: str, arguments: Sequence[str]) -> Iterator[Arrival]:
    """The destinations that a program's arguments name, with what lands there."""
    program = texts("same_as").get(program, program)
    if program.startswith(("python", "pypy")):
        program = "python"
    if how := texts("lands").get(program):
        yield from HOW_IT_LANDS[how](judge, program, arguments)
    elif program == "ssh-keygen" and arguments[:1] and compiled("-[lBL][vf]*").fullmatch(arguments[0]):
        return  # it only prints fingerprints or certificates
    elif program in texts("writes"):
        letters, long, operands = lists("writes")[program]
        options = parsed(arguments, letters, long)
        values = options.of(*(f"-{letter}" for letter in letters), *long.split())
        yield from map(Arrival, [*values, *options.rest[_slice(operands)]])


def _slice(operands: str) -> slice:
    """The operands between two positions, such as `1:2`; none for ""."""
    if not operands:
        return slice(0)
    first, _, end = operands.partition(":")
    return slice(int(first) if first else None, int(end) if end else None)


_Placing: TypeAlias = Callable[["Judge", str, Sequence[str]], Iterator[Arrival]]
HOW_IT_LANDS: dict[str, _Placing] = {
    placing.__name__: placing
    for placing in (
        copied,
        synchronised,
        transferred,
        untarred,
        extracted,
        copied_in,
        into,
        downloaded,
        fetched,
        unpacked,
        unzipped,
        patched,
        by_git,
        delivered,
    )
}
