"""Rule packs: the records of programs and variables, compiled into the table that `facts.py` reads.

A record says of one program, or of several alike, what its class does not: traits (`is`), which `traits.txt` explains, and
facts with values. A key of several words is a program with its subcommand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sb.base.reading import Field, Kind, Place, items, matching, one_or_more, record
from sb.base.text import nearest
from sb.shell.packs.packing import CLASSES, Section, listed, no_repeats, safety_class, words

_LINES = Path(__file__).with_name("traits.txt").read_text(encoding="utf-8").splitlines()
TRAITS = {trait: meaning for trait, _, meaning in (line.partition(": ") for line in _LINES)}
# Facts with one value, with a list, and with fields, in the order in which these are compiled.
_TEXTS = ("judged_as", "lands", "same_as", "spares")
_LISTS = tuple("beside manages options_before runs_by_default runs_options sends_with statements".split())
_FIELDS = {
    "code": ("options", "values"),
    "fills": ("letters", "options", "default"),
    "runs_files": ("as", "options"),
    "wraps": ("class", "skips", "values", "flags"),
    "writes": ("letters", "options", "operands"),
}
VARIABLES = ("configures_hosts", "loads", "runs", "writes")
# Traits of programs that do more than read.
_CHANGING = frozenset(
    "writes_operands replaces_content removes takes_whole_folders publishes mails copies_to_hosts ends_processes".split()
)
_OPPOSITE = (("silent", "views"), ("counts", "views"), ("instant", "builds"))
_NAME = re.compile(r"[^\s|]+(?: [^\s|]+){0,4}")
_WORD = re.compile(r"[^\s|]+")
_VALUE = re.compile(r"[^\x00-\x1f]+")
_FIELD = re.compile(r"[^\x00-\x1f|]+")
_PHRASE = re.compile(r"[^\s|]+(?: [^\s|]+){0,4}")


class Program(NamedTuple):
    """A compiled record: traits, and facts as texts; items of a list and fields are joined by `|`."""

    traits: tuple[str, ...]
    facts: Mapping[str, str]


class _Record(NamedTuple):
    names: tuple[str, ...]
    program: Program
    place: Place


def _record(values: dict[str, Any], place: Place) -> _Record:
    names, traits = values.pop("names"), values.pop("is", ())
    if not (traits or values):
        raise place.refuse("says nothing of its programs")
    facts = {name: "|".join(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return _Record(names, Program(traits, facts), place)


def _programs(records: tuple[_Record, ...], rules: Mapping[str, str]) -> dict[str, Program]:
    """Programs by name; a record that contradicts itself, or its program's rule, goes to the report."""
    no_repeats(((name, entry.place) for entry in records for name in entry.names), "records")
    for item in records:
        for name in item.names:
            if contradiction := _contradiction(name, item.program, rules.get(name, "")):
                raise item.place.refuse(contradiction)
    return {name: entry.program for entry in records for name in entry.names}


def _trait(value: Any, place: Place) -> str:
    trait = matching("a trait", _WORD).read(value, place)
    if trait not in TRAITS:
        raise place.refuse(f"unknown trait {trait!r}{nearest(trait, TRAITS)}")
    return trait


def _fields_kind(names: tuple[str, ...]) -> Kind[str]:
    """A mapping of these names, as its values joined by `|`."""
    text, several = matching("a text", _FIELD), words(_WORD, "an option")
    value = Kind(
        lambda value, place: (
            " ".join(several.read(value, place)) if isinstance(value, list) else text.read(value, place)
        ),
        several.schema,
    )
    fields = [Field(name, safety_class() if name == "class" else value) for name in names]

    def joined(values: dict[str, str], place: Place) -> str:
        return "|".join(values.get(name, "") for name in names)

    return record(fields, joined, f"a mapping of {', '.join(names)}")


_TRAIT = Kind(_trait, {"enum": [*TRAITS]}, "a trait")
_RECORD_FIELDS = (
    Field("names", words(_NAME, "a program"), required=True),
    Field("is", one_or_more(_TRAIT, items(_TRAIT, empty="is an empty list", naming=lambda key, *_: key))),
    *(Field(name, matching("a text", _VALUE)) for name in _TEXTS),
    *(Field(name, words(_PHRASE, "words")) for name in _LISTS),
    *(Field(name, _fields_kind(names)) for name, names in _FIELDS.items()),
)


def _variables(values: dict[str, tuple[str, ...]], place: Place) -> dict[str, str]:
    return {name: "|".join(names) for name, names in values.items()}


def _contradiction(name: str, program: Program, rule: str) -> str:
    """The reason why a record cannot be true, by itself or beside the class of its program; "" if it can."""
    for item, other in _OPPOSITE:
        if {item, other} <= {*program.traits}:
            return f"{name} is both {item} ({TRAITS[item]}) and {other} ({TRAITS[other]})"
    reads = rule.startswith(f"{CLASSES['read_only']} ") and " | " not in rule
    if reads and (changing := _CHANGING.intersection(program.traits)):
        trait = min(changing)
        return f"{name} is read_only by its rule, and {trait} by its record ({TRAITS[trait]})"
    if program.facts.get("same_as") == name:
        return f"{name} is the same as itself"
    letter, _, values, flags = (program.facts.get("wraps") or "|||").split("|")
    if both := {*values.split()} & {*flags.split()}:
        return f"{name} takes a value behind {min(both)}, and none"
    if letter and reads and letter != CLASSES["read_only"]:
        return f"{name} is read_only by its rule, and not where it runs another program"
    return ""


SECTIONS: dict[str, Section] = {
    "programs": Section(listed(record(_RECORD_FIELDS, _record)), _programs),
    "variables": Section(record([Field(name, words(_WORD, "a variable")) for name in VARIABLES], _variables)),
}
