"""The command lines that `make` and `npm` run from a file, by the targets and scripts that a command names."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from sb.shell.parsing.words import compiled
from sb.shell.programs.rules import operands

_RULE = r"([^\t\n#:=][^\n#:=]{0,400}):(?![=:])([^=\n;]{0,400})(?:;(.*))?"
_VALUE = r"(?m)^[ ]{0,8}([A-Za-z_]\w*)[ ]{0,8}(?:::?|[?+!])?=[ ]{0,8}(.{0,4000})$"
_VARIABLE = r"\$[({]([A-Za-z_]\w*)[)}]"
_SHELL = r"\$\(shell ([^()\n]{1,4000})\)"
_MOST_LINES = 200
_INSTALLS = frozenset("install i ci add update rebuild pack publish prepare".split())
_BY_INSTALL = ("preinstall", "install", "postinstall", "prepare", "prepublish", "prepack", "prepublishOnly")


def recipes(text: str, arguments: Sequence[str]) -> list[str]:
    """The command lines of a makefile that `make` runs with these arguments.

    Those of the targets that are named, or of the first one, with what they depend on; all where a name is not found.
    """
    joined = text.replace("\\\n", " ")
    values = dict(re.findall(_VALUE, joined))
    rules: dict[str, tuple[list[str], list[str]]] = {}
    current: list[list[str]] = []
    for line in joined.split("\n"):
        if line[:1] == "\t":
            for lines in current:
                lines.append(line)
        elif rule := compiled(_RULE).fullmatch(line):
            current = []
            for target in rule[1].split():
                needs, lines = rules.setdefault(target, ([], []))
                needs += rule[2].split()
                lines += [rule[3]] if rule[3] else []
                current.append(lines)
    asked = [
        word for word in (arguments[at] for at in operands(arguments, "-f -C -j -o -I")) if "=" not in word
    ]
    found = [line for target in _needed(rules, asked) for line in rules[target][1]]
    return [
        *(_plain(line, values) for line in found[:_MOST_LINES]),
        *re.findall(_SHELL, joined)[:_MOST_LINES],
    ]


def _needed(rules: dict[str, tuple[list[str], list[str]]], asked: Sequence[str]) -> list[str]:
    """The targets that are made, each once."""
    first = next((target for target in rules if not target.startswith(".")), "")
    waiting = list(asked) or [first]
    if not all(target in rules for target in waiting) or any(
        "%" in target or "$" in target for target in rules
    ):
        return list(rules)
    found: dict[str, None] = {}
    while waiting:
        target = waiting.pop()
        if target in rules and target not in found:
            found[target] = None
            waiting += rules[target][0]
    return list(found)


def _plain(line: str, values: dict[str, str]) -> str:
    """A line as the shell gets it: with the makefile's own variables, others as the shell's."""
    line = line.strip().lstrip("@-+ ")
    for _ in range(3):
        line = compiled(_VARIABLE).sub(lambda match: values.get(match[1], match[0]), line)[:4000]
    return compiled(_VARIABLE).sub(r"${\1}", line).replace("$$", "$")


def package_scripts(text: str, arguments: Sequence[str]) -> list[str] | None:
    """The scripts of a `package.json` that a package manager runs with these arguments; None if it cannot be read."""
    try:
        scripts = json.loads(text).get("scripts", {})
    except (ValueError, AttributeError, RecursionError):
        return None
    words = [arguments[at] for at in operands(arguments)]
    names = [name for word in words for name in (f"pre{word}", word, f"post{word}")]
    names += _BY_INSTALL if not words or _INSTALLS & set(words) else ()
    own = scripts if isinstance(scripts, dict) else {}
    return [own[name] for name in dict.fromkeys(names) if isinstance(own.get(name), str)][:_MOST_LINES]
