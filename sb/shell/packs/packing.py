"""Rule packs: parse the YAML of one pack and compile it into rows of the table of programs.

A compiled rule is one text: a letter and a reason, then the rows that change the class, `| D --force: deletes`. The letters
are those of the classes: R read_only, W local_write, N network, D destructive. `programs.py` says what the words of a row mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sb.config.document import Entry, Listing, Node, Report, Scalar, Table, describe, parse_document
from sb.text import nearest, shorten

CLASSES = {"read_only": "R", "local_write": "W", "network": "N", "destructive": "D"}
FORMAT = 2  # of a compiled pack; another number makes caches worthless
_NAME = re.compile(r"[A-Za-z0-9_.:@%+/\[-][^\s|]*(?: [^\s|]+){0,4}")
_WORD = re.compile(r"[^\s|]+")
_REASON = re.compile(r"[^\x00-\x1f|]{3,90}")
_ROW_REASON = re.compile(r"(?!.*: )[^\x00-\x1f|]{3,90}")
_COUNT = re.compile(r"#[1-9]")
_FLAGS = re.compile(r"[A-Za-z0-9]{0,40}")


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


Section = Callable[["PackReader", Node, str], Any]


def read_pack(data: bytes, source: str, sections: Mapping[str, Section] | None = None) -> Pack:
    """Parse and compile a pack.

    Args:
        source: the file's name, for errors.
        sections: further top-level keys, each with what reads it.

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
    return Pack() if report.problems else PackReader(report, sections or {}).pack(document)


class PackReader:
    """Reads one document; what is wrong goes to its report."""

    def __init__(self, report: Report, sections: Mapping[str, Section]) -> None:
        self.report = report
        self._more = sections
        self._rules: dict[str, str] = {}
        self._options: dict[str, str] = {}
        self._verbs: dict[str, tuple[str, str]] = {}
        self._previews: dict[str, str] = {}
        self._examples: list[Example] = []

    def wrong(self, node: Node | Entry, key: str, message: str, hint: str = "") -> None:
        self.report.add(node.line, key, message, hint)

    def rule(self, command: str) -> str:
        """The compiled rule of a command in this pack, "" for none."""
        return self._rules.get(command, "")

    def pack(self, document: Table) -> Pack:
        known = {
            "title": self._title,
            "required": self._required,
            "options": self._read_options,
            "verbs": self._read_verbs,
            "rules": self._read_rules,
        }
        values: dict[str, Any] = {}
        # Further sections come last: some are about programs whose rules stand in the same pack.
        for entry in sorted(document.entries, key=lambda entry: entry.key in self._more):
            if read := known.get(entry.key):
                values[entry.key] = read(entry.value, entry.key)
            elif more := self._more.get(entry.key):
                values[entry.key] = more(self, entry.value, entry.key)
            else:
                self.wrong(entry, entry.key, f"unknown key{nearest(entry.key, [*known, *self._more])}")
        if not values.get("title") and not self.report.problems:
            self.report.add(0, "title", "is missing", "say what the programs of this pack are")
        further = {name: values[name] for name in self._more if name in values}
        return Pack(
            values.get("title", ""),
            values.get("required", False),
            self._rules,
            self._options,
            self._verbs,
            self._previews,
            tuple(self._examples),
            further,
        )

    # --- values

    def text(self, node: Node, key: str, shape: re.Pattern[str], label: str) -> str:
        """A text of that shape; "" once a problem is reported."""
        if isinstance(node, Scalar) and shape.fullmatch(node.text):
            return node.text
        self.wrong(node, key, f"must be {label}, not {describe(node)}")
        return ""

    def texts(self, node: Node, key: str, shape: re.Pattern[str], label: str) -> list[str]:
        """A text or a list of them, at least one."""
        items = node.items if isinstance(node, Listing) else (node,)
        if not items:
            self.wrong(node, key, "is an empty list")
        return [text for item in items if (text := self.text(item, key, shape, label))]

    def fields(
        self, node: Node, key: str, required: Sequence[str], optional: Sequence[str]
    ) -> dict[str, Node]:
        """The entries of a mapping; unknown keys and missing ones are reported."""
        if not isinstance(node, Table):
            self.wrong(node, key, f"must be a mapping, not {describe(node)}")
            return {}
        found: dict[str, Node] = {}
        for entry in node.entries:
            if entry.key in required or entry.key in optional:
                found[entry.key] = entry.value
            else:
                self.wrong(
                    entry, f"{key}.{entry.key}", f"unknown key{nearest(entry.key, [*required, *optional])}"
                )
        missing = [name for name in required if name not in found]
        if missing and len(found) == len(node.entries):  # else one is spelled wrongly
            self.wrong(node, key, f"has no {' and no '.join(missing)}")
        return {} if missing else found

    def items(self, node: Node, key: str) -> Iterator[tuple[Node, str]]:
        """The items of a list, each with the key that names it in an error: `rules[2] (vault kv delete)`."""
        if not isinstance(node, Listing):
            self.wrong(node, key, f"must be a list, not {describe(node)}")
            return
        for number, item in enumerate(node.items, 1):
            yield item, f"{key}[{number}]{_named(item)}"

    def class_letter(self, node: Node, key: str) -> str:
        """The letter of a safety class; "" once a problem is reported."""
        letter = CLASSES.get(node.text, "") if isinstance(node, Scalar) else ""
        if not letter:
            self.wrong(node, f"{key}.class", f"must be one of {', '.join(CLASSES)}, not {describe(node)}")
        return letter

    def reason(self, node: Node, key: str, shape: re.Pattern[str] = _REASON) -> str:
        """A reason in a few words: 3 to 90 characters."""
        without = "without '|'" if shape is _REASON else "without ': ' and '|'"
        return self.text(node, f"{key}.reason", shape, f"a reason of 3 to 90 characters {without}")

    def examples(self, given: Mapping[str, Node], key: str) -> None:
        """Keep the command lines of `stops:` and `passes:`."""
        for name in ("stops", "passes"):
            node = given.get(name)
            lines = node.items if isinstance(node, Listing) else (node,) if node else ()
            for line in lines:
                if isinstance(line, Scalar) and line.text:
                    self._examples.append(Example(line.text, name == "stops", line.line))
                else:
                    self.wrong(line, f"{key}.{name}", f"must be a command line, not {describe(line)}")

    # --- sections

    def _title(self, node: Node, key: str) -> str:
        return self.text(node, key, re.compile(r".{3,80}"), "a text of 3 to 80 characters")

    def _required(self, node: Node, key: str) -> bool:
        return self.text(node, key, re.compile("true|false"), "true or false") == "true"

    def _read_options(self, node: Node, key: str) -> None:
        if not isinstance(node, Table):
            self.wrong(node, key, f"must be a mapping of programs to options, not {describe(node)}")
            return
        for entry in node.entries:
            inner = f"{key}.{entry.key}"
            for name in entry.key.split(", "):
                self._options[name] = " ".join(
                    self.texts(entry.value, inner, re.compile(r"-\S+"), "an option")
                )

    def _read_verbs(self, node: Node, key: str) -> None:
        for item, where in self.items(node, key):
            given = self.fields(item, where, ("programs", "words", "reason"), ("stops", "passes"))
            if not given:
                continue
            words = " ".join(self.texts(given["words"], f"{where}.words", _WORD, "a word"))
            reason = self.reason(given["reason"], where)
            for name in self.texts(given["programs"], f"{where}.programs", _NAME, "a program"):
                self._verbs[name] = (reason, words)
            self.examples(given, where)

    def _read_rules(self, node: Node, key: str) -> None:
        optional = ("first", "with", "preview", "flags", "stops", "passes")
        for item, where in self.items(node, key):
            given = self.fields(item, where, ("commands", "class", "reason"), optional)
            if not given:
                continue
            rows = [f"{self.class_letter(given['class'], where)} {self.reason(given['reason'], where)}"]
            for name, mark in (("first", "!"), ("with", "")):
                if name in given:
                    rows += self._rows(given[name], f"{where}.{name}", mark)
            rule = " | ".join(rows)
            preview = self._preview(given, where)
            for command in self.texts(
                given["commands"], f"{where}.commands", _NAME, "a program, or one with its subcommand"
            ):
                if command in self._rules:
                    self.wrong(item, where, f"{shorten(command, 40)} has two rules in this pack")
                self._rules[command] = rule
                if preview:
                    self._previews[command] = preview
            self.examples(given, where)

    def _rows(self, node: Node, key: str, mark: str) -> Iterator[str]:
        for item, where in self.items(node, key):
            given = self.fields(item, where, ("words", "class", "reason"), ())
            if given:
                words = self.texts(given["words"], f"{where}.words", _WORD, "an option or a word")
                for word in words:
                    if word[0] not in "-^=?~#" or (word[0] == "#" and not _COUNT.fullmatch(word)):
                        hint = "--force, -f, =word, ^beginning, ~verb, ? or #2"
                        self.wrong(item, where, f"{shorten(word, 40)} is no option and has no mark", hint)
                letter = self.class_letter(given["class"], where)
                yield f"{letter}{mark} {' '.join(words)}: {self.reason(given['reason'], where, _ROW_REASON)}"

    def _preview(self, given: Mapping[str, Node], where: str) -> str:
        if "preview" not in given:
            if "flags" in given:
                self.wrong(given["flags"], f"{where}.flags", "needs preview beside it")
            return ""
        options = self.texts(given["preview"], f"{where}.preview", re.compile(r"-\S+"), "an option")
        flags = self.text(given["flags"], f"{where}.flags", _FLAGS, "letters") if "flags" in given else ""
        return f"{' '.join(options)} /{flags}"


def _named(item: Node) -> str:
    """The first command of a rule, in brackets, or ""."""
    entries = item.entries if isinstance(item, Table) else ()
    for entry in entries:
        if entry.key in ("commands", "programs", "paths", "words"):
            node = (
                entry.value.items[0]
                if isinstance(entry.value, Listing) and entry.value.items
                else entry.value
            )
            return f" ({shorten(node.text, 40)})" if isinstance(node, Scalar) else ""
    return ""
