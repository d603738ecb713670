"""Rule packs: parse the YAML of one pack and compile it into rows of the table of programs.

A compiled rule is one text: a letter and a reason, then the rows that change the class, `| D --force: deletes`. The letters
are those of the classes: R read_only, W local_write, N network, D destructive. `programs.py` says what the words of a row mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from sb.base.reading import (
    Field,
    Kind,
    Place,
    Report,
    WrongValue,
    choice,
    flag,
    items,
    mapping,
    matching,
    one_or_more,
    read_fields,
    record,
)
from sb.base.text import shorten
from sb.config.document import parse_document

CLASSES = {"read_only": "R", "local_write": "W", "network": "N", "destructive": "D"}
FORMAT = 2  # of a compiled pack; another number makes caches worthless
_NAME = re.compile(r"[A-Za-z0-9_.:@%+/\[-][^\s|]*(?: [^\s|]+){0,4}")
_WORD = re.compile(r"[^\s|]+")
_REASON = re.compile(r"[^\x00-\x1f|]{3,90}")
_ROW_REASON = re.compile(r"(?!.*: )[^\x00-\x1f|]{3,90}")
_COUNT = re.compile(r"#[1-9]")
_OPTION = re.compile(r"-\S+")
_FLAGS = re.compile(r"[A-Za-z0-9]{0,40}")
T = TypeVar("T")


class Example(NamedTuple):
    """A command line in a pack, and whether the pack says that it is stopped."""

    command: str
    stops: bool
    line: int


class Pack(NamedTuple):
    """One compiled pack.

    Args:
        title: what its programs are, for people.
        required: whether it cannot be switched off.
        rules: a program, or a program with its subcommand, to its compiled rule.
        options: a program to the options before its subcommand that take a value.
        verbs: a program to a reason and the words that destroy, wherever they stand among its subcommands.
        previews: a command to the options that make it print what it would do, and the letters that may stand with them.
        sections: what sections of other modules hold, by name.
    """

    title: str = ""
    required: bool = False
    rules: Mapping[str, str] = {}
    options: Mapping[str, str] = {}
    verbs: Mapping[str, tuple[str, str]] = {}
    previews: Mapping[str, str] = {}
    examples: tuple[Example, ...] = ()
    sections: Mapping[str, Any] = {}


class Section(NamedTuple):
    """A further top-level key of packs.

    Args:
        kind: reads it. compiled: makes the section of what was read and the rules of the same pack.
    """

    kind: Kind[Any]
    compiled: Callable[[Any, Mapping[str, str]], Any] = lambda value, rules: value


def read_pack(data: bytes, source: str, sections: Mapping[str, Section] | None = None) -> Pack:
    """Parse and compile a pack.

    Args:
        source: the file's name, for errors.
        sections: further top-level keys.

    Raises:
        ConfigError: the first thing that is wrong, with file, line and rule.
    """
    report = Report(source)
    pack = read_document(data, report, sections)
    report.require_none()
    return pack


def read_document(data: bytes, report: Report, sections: Mapping[str, Section] | None = None) -> Pack:
    """Parse and compile a pack; what is wrong goes to `report`."""
    document = parse_document(data, report)
    if report.problems:
        return Pack()
    more = sections or {}
    further = (Field(name, section.kind) for name, section in more.items())
    try:
        values = read_fields(document, (*_FIELDS, *further), Place(report))
        rules = _by_name(values["rules"])
        return Pack(
            values["title"],
            values["required"],
            {name: rule.row for name, rule in rules.items()},
            {name: " ".join(words) for key, words in values["options"].items() for name in key.split(", ")},
            {name: (verb.reason, verb.words) for verb in values["verbs"] for name in verb.programs},
            {name: rule.preview for name, rule in rules.items() if rule.preview},
            tuple(example for each in (*values["verbs"], *values["rules"]) for example in each.examples),
            {
                name: section.compiled(values[name], {name: rule.row for name, rule in rules.items()})
                for name, section in more.items()
                if name in values
            },
        )
    except WrongValue:
        return Pack()


# --- values


def listed(kind: Kind[T]) -> Kind[tuple[T, ...]]:
    """The items of a section, each with a key that names it in an error: `rules[2] (vault kv delete)`."""
    return items(kind, least=0, naming=lambda key, index, item: f"{key}[{index + 1}]{_named(item)}")


def words(shape: re.Pattern[str], label: str) -> Kind[tuple[str, ...]]:
    """A text of that shape, or a list of them, at least one."""
    word = matching(label, shape)
    return one_or_more(word, items(word, empty="is an empty list", naming=lambda key, index, item: key))


def reason(shape: re.Pattern[str] = _REASON) -> Kind[str]:
    """A reason in a few words: 3 to 90 characters."""
    without = "without '|'" if shape is _REASON else "without ': ' and '|'"
    return matching(f"a reason of 3 to 90 characters {without}", shape)


def safety_class() -> Kind[str]:
    """The letter of a safety class."""
    word = choice(*CLASSES)
    return word._replace(read=lambda value, place: CLASSES[word.read(value, place)])


def no_repeats(names: Iterable[tuple[str, Place]], what: str) -> None:
    """Refuse a name that stands a second time.

    Args:
        what: each name may have once, in the plural.
    """
    seen: set[str] = set()
    for name, place in names:
        if name in seen:
            raise place.refuse(f"{shorten(name, 40)} has two {what} in this pack")
        seen.add(name)


def _line(value: Any, place: Place) -> tuple[str, int]:
    return matching("a command line", ".+").read(value, place), place.line


_LINE = Kind(_line, {"type": "string"}, "a command line")
_LINES = one_or_more(_LINE, items(_LINE, least=0, naming=lambda key, index, item: key))
_EXAMPLES = (Field("stops", _LINES, default=()), Field("passes", _LINES, default=()))


def _examples(values: dict[str, Any]) -> tuple[Example, ...]:
    return tuple(
        Example(line, name == "stops", at) for name in ("stops", "passes") for line, at in values[name]
    )


# --- sections


class _Verb(NamedTuple):
    programs: tuple[str, ...]
    reason: str
    words: str
    examples: tuple[Example, ...]


def _verb(values: dict[str, Any], place: Place) -> _Verb:
    return _Verb(values["programs"], values["reason"], " ".join(values["words"]), _examples(values))


class _Rule(NamedTuple):
    commands: tuple[str, ...]
    row: str
    preview: str
    examples: tuple[Example, ...]
    place: Place


def _rule(values: dict[str, Any], place: Place) -> _Rule:
    rows = [f"{values['class']} {values['reason']}"]
    rows += [f"{letter}! {row}" for letter, row in values["first"]]
    rows += [f"{letter} {row}" for letter, row in values["with"]]
    preview = ""
    if "preview" in values:
        preview = f"{' '.join(values['preview'])} /{values.get('flags', '')}"
    elif "flags" in values:
        raise place.below(place.value, "flags").refuse("needs preview beside it")
    return _Rule(values["commands"], " | ".join(rows), preview, _examples(values), place)


def _row(values: dict[str, Any], place: Place) -> tuple[str, str]:
    for word in values["words"]:
        if word[0] not in "-^=?~#" or (word[0] == "#" and not _COUNT.fullmatch(word)):
            hint = "--force, -f, =word, ^beginning, ~verb, ? or #2"
            raise place.refuse(f"{shorten(word, 40)} is no option and has no mark", hint)
    return values["class"], f"{' '.join(values['words'])}: {values['reason']}"


_ROWS = listed(
    record(
        (
            Field("words", words(_WORD, "an option or a word"), required=True),
            Field("class", safety_class(), required=True),
            Field("reason", reason(_ROW_REASON), required=True),
        ),
        _row,
    )
)
_VERB_FIELDS = (
    Field("programs", words(_NAME, "a program"), required=True),
    Field("words", words(_WORD, "a word"), required=True),
    Field("reason", reason(), required=True),
    *_EXAMPLES,
)
_RULE_FIELDS = (
    Field("commands", words(_NAME, "a program, or one with its subcommand"), required=True),
    Field("class", safety_class(), required=True),
    Field("reason", reason(), required=True),
    Field("first", _ROWS, default=()),
    Field("with", _ROWS, default=()),
    Field("preview", words(_OPTION, "an option")),
    Field("flags", matching("letters", _FLAGS)),
    *_EXAMPLES,
)
_FIELDS = (
    Field(
        "title",
        matching("a text of 3 to 80 characters", ".{3,80}"),
        "say what the programs of this pack are",
        required=True,
    ),
    Field("required", flag(), default=False),
    Field("options", mapping(words(_OPTION, "an option"), "a mapping of programs to options"), default={}),
    Field("verbs", listed(record(_VERB_FIELDS, _verb)), default=()),
    Field("rules", listed(record(_RULE_FIELDS, _rule)), default=()),
)


def _by_name(rules: tuple[_Rule, ...]) -> dict[str, _Rule]:
    no_repeats(((name, rule.place) for rule in rules for name in rule.commands), "rules")
    return {name: rule for rule in rules for name in rule.commands}


def _named(item: Any) -> str:
    """The first command of a rule, in brackets, or ""."""
    given = item if isinstance(item, Mapping) else {}
    first = next((given[key] for key in given if key in ("commands", "programs", "paths", "words")), "")
    first = first[0] if first and isinstance(first, list) else first
    return f" ({shorten(first, 40)})" if first and isinstance(first, str) else ""
