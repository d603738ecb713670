"""Rule packs: the records of programs and variables, compiled into the table that `facts.py` reads.

A record says of one program, or of several alike, what its class does not: traits (`is`), and facts with values. A key of
several words is a program with its subcommand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from sb.base.reading import Field, Kind, Place, items, matching, one_or_more, record
from sb.base.text import nearest
from sb.shell.packs.packing import CLASSES, Section, listed, no_repeats, safety_class, words

TRAITS = {
    "any_program": "its operands may be a program, although a rule is about it",
    "asks_names": "asks a name server, or a host",
    "assigns": "a builtin that sets variables by their names",
    "brings": "brings files whose names the line does not tell",
    "builds": "runs the project's code, which could delete by itself what the line deletes later",
    "calculates": "a builtin that calculates what stands in brackets behind a name",
    "changes_environment": "installs packages into an environment",
    "changes_folder": "a builtin that goes to another folder",
    "copies": "copies, moves or links files",
    "copies_over": "its last argument is written, which is judged as a write",
    "copies_to_hosts": "copies files to another host",
    "copies_to_last": "copies or links folders to what its last argument names",
    "counts": "prints names and counts, and nothing of what a file says",
    "declares": "a builtin that sets variables by NAME=VALUE",
    "downloads": "puts what it gets from the network into a file",
    "edits_in_place": "with -i it edits the files that it names",
    "ends_processes": "ends processes",
    "file_tool": "works on files alone",
    "finds": "finds files, and prints their names",
    "followed": "its class says no more than the changes that are collected",
    "gives_secrets": "gives a command the secrets of a store, or a file, as variables",
    "has_destination": "an argument names where something lands",
    "http": "a client of HTTP",
    "inert": "leaves every path as it is, where its rule says that it only reads",
    "instant": "ends at once, and leaves every file where it is",
    "interprets": "code in its arguments may run programs",
    "keeps_content": "changes no content of a file that is there",
    "local_harm": "destroys only files and processes of the machine, or container, that it runs on",
    "mails": "sends mail",
    "makes": "makes what was not there, or changes permissions",
    "may_tell_names": "prints names only, with some arguments",
    "moves_or_closes": "what happens to a folder happens to everything in it",
    "output_options_differ": "means something else by the options that name an output file",
    "package_manager": "runs the scripts of package.json",
    "packs": "packs files into an archive",
    "passes": "its output holds what it is given",
    "pattern_first": "its first operand is no file",
    "prints": "its output holds its arguments",
    "prints_names": "may print a name that it is given",
    "publishes": "publishes what it is given",
    "reads_code": "runs the code that it reads, if no argument names any",
    "reads_operands": "names others, or packages, and reads the files that it names",
    "removes": "removes what it names",
    "replaces_content": "what its operands held is gone afterwards",
    "runs_arguments": "its arguments, or input, are commands",
    "runs_as_module": "python -m runs it as the program of that name",
    "runs_code": "an interpreter of code in the line",
    "runs_for_help": "runs code that the project names, whatever it is asked for",
    "runs_lines": "runs command lines that it reads",
    "searches_folders": "searches all files of a folder",
    "searches_text": "searches files for a pattern, which is its first operand",
    "serves_files": "offers a folder to whoever asks",
    "shell": "a shell",
    "silent": "shows nothing of a file that it names, or uses it as its own login",
    "skips_hidden": "leaves hidden files out unless it is told not to",
    "sources_first": "its last argument alone is a destination",
    "stays_here": "makes no file, nor runs another program with other files than this machine's",
    "stays_in_folder": "leaves the shell in the folder that it goes to",
    "streams": "sends its input to another host",
    "takes_names": "takes names of files from another file",
    "takes_whole_folders": "removes or changes folders with all that is in them",
    "tells_a_name": "prints one word that is no option",
    "transparent": "runs another program with the same rights and effects, in its own place",
    "views": "shows files whole",
    "works_elsewhere": "runs a command on another machine or in a container",
    "writes_operands": "its operands are files that it writes",
}
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
