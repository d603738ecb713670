"""The table of known programs: the shipped packs without those that are switched off, and packs of one's own.

`sb/shell/packs/*.yaml` are the source; `table.py` is generated from them, since reading YAML takes longer than judging. A rule
is one text: a class and a reason, then rows that raise it, `| class words: reason`. R only reads, W changes files of this
machine, N talks to the network or runs what the line does not show, D destroys, publishes or takes rights. A row applies
when one of its words does:

- `-f`: that letter in a group of short options; `--force`: that option or a beginning of it; `-delete`: that option, of one dash
- `^+`: an argument that begins with what follows; `=/x`: an argument that is what follows
- `~drop`: an operand that is that verb or begins with it and a dash or colon (`drop-index`, `db:drop`)
- `#2`: at least so many arguments that are no options
- `?`: an argument that is not known until the line runs, or is a pattern

A row whose letter has `!` lowers the class if one of its words is the first argument. A key of several words is a program
with its subcommand; the longest one that fits is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import NamedTuple

from sb.shell.credentials.files import OWN, SHIPPED_SECRETS, OwnSecrets
from sb.shell.packs.table import PACKS


class _Mappings(NamedTuple):
    rules: Mapping[str, str]
    options: Mapping[str, str]
    verbs: Mapping[str, tuple[str, str]]
    previews: Mapping[str, str]


class Table(_Mappings):
    """Rules, and what finding one needs; `sb.shell.packs.packing.Pack` says what each mapping holds."""

    @cached_property
    def with_subcommands(self) -> frozenset[str]:
        """The programs that have a rule for a subcommand."""
        return frozenset(key.partition(" ")[0] for key in self.rules if " " in key)


class Ruleset(NamedTuple):
    """The rules that a command line is judged by.

    Args:
        table: the shipped rules with those of trusted packs, which come first.
        floors: of packs, trusted or not, that also raise the class of programs which have a handler.
        secrets: what packs say of credentials.
    """

    table: Table
    floors: tuple[Table, ...] = ()
    secrets: OwnSecrets = SHIPPED_SECRETS


def merged(tables: Iterable[Table]) -> Table:
    """One table of several; the later one wins."""
    rules: dict[str, str] = {}
    options: dict[str, str] = {}
    verbs: dict[str, tuple[str, str]] = {}
    previews: dict[str, str] = {}
    for table in tables:
        for key in table.rules:  # a rule of its own has no preview of another's
            previews.pop(key, None)
        rules.update(table.rules)
        options.update(table.options)
        verbs.update(table.verbs)
        previews.update(table.previews)
    return Table(rules, options, verbs, previews)


def shipped(without: Collection[str] = ()) -> Table:
    """The shipped rules.

    Args:
        without: names of packs that are switched off; one that is required stays.
    """
    return merged(_shipped_pack(name) for name in PACKS if name not in without or PACKS[name][0])


def _shipped_pack(name: str) -> Table:
    _, rules, options, verbs, previews = PACKS[name]
    return Table(
        {key: rule for rule, keys in rules for key in keys.split("|")},
        {program: words for words, programs in options for program in programs.split("|")},
        {program: (reason, words) for reason, words, programs in verbs for program in programs.split("|")},
        {key: preview for preview, keys in previews for key in keys.split("|")},
    )


SHIPPED_RULES = Ruleset(shipped())
_ACTIVE: ContextVar[Ruleset] = ContextVar("ruleset", default=SHIPPED_RULES)


def active() -> Ruleset:
    """The rules that the line at hand is judged by."""
    return _ACTIVE.get()


@contextmanager
def judged_by(ruleset: Ruleset) -> Iterator[None]:
    """Judge by these rules."""
    before, secrets = _ACTIVE.set(ruleset), OWN.set(ruleset.secrets)
    try:
        yield
    finally:
        _ACTIVE.reset(before)
        OWN.reset(secrets)
