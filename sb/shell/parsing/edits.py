"""Texts that commands write to files which the same line may run afterwards: copies, and insertions of `sed -i` and `perl -i`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sb.shell.parsing.inputs import Input
from sb.shell.parsing.words import compiled, is_literal
from sb.shell.programs.rules import operands

if TYPE_CHECKING:
    from sb.shell.judge import Judge

_EDITORS = frozenset(("sed", "gsed", "perl"))
_IN_PLACE = r"-[a-zA-Z]*i\S*|--in-place(?:=.*)?"
_PART = r"((?:\\.|(?!\1)[^\\\n])*)"  # a backslash is of one alternative alone, or time would be exponential
_SUBSTITUTION = rf"s([^\w\s\\]){_PART}\1{_PART}\1"
_ADDED = r"(?m)(?:^|[\d/$!;{ ])[aic](?:\\\s*|\s+)(.+)$"
_VALUE = r'"(?:[^"\\]|\\.)*"\s*:\s*"((?:[^"\\]|\\.)*)"'
_MOST = 16  # texts of one command
# With these, `tee` and `truncate` leave what a file holds.
KEEPS = r"-[a-z]*a[a-z]*|--append|--size=[+>].*|[+>][0-9].*"


def inserted(program: str, arguments: Sequence[str]) -> list[str]:
    """The texts that an editor puts into files, as far as they may be commands; of `"name": "text"` the text."""
    if program not in _EDITORS or not any(map(compiled(_IN_PLACE).fullmatch, arguments)):
        return []
    scripts = [word for word in arguments if is_literal(word)]
    found = [
        re.sub(r"\\(.)", r"\1", text)
        for script in scripts
        for text in (
            *(match[3] for match in compiled(_SUBSTITUTION).finditer(script)),
            *compiled(_ADDED).findall(script),
        )
    ]
    return [line for text in found for line in (compiled(_VALUE).findall(text) or [text]) if line][:_MOST]


def note_scripts(judge: Judge, base: str, arguments: Sequence[str], stdin: Input) -> None:
    """Note what a command writes to files that the line may run."""
    if base == "tee":
        append = any(map(compiled(KEEPS).fullmatch, arguments))
        for word in (arguments[at] for at in operands(arguments) if is_literal(arguments[at])):
            judge.scripts.write(judge.paths.now(word), stdin, append=append)
    elif base in ("cp", "mv", "ln", "install"):
        words = [arguments[at] for at in operands(arguments)]
        places = [judge.paths.now(word) if is_literal(word) else [] for word in words]
        judge.scripts.copy(base, arguments, places)
    elif texts := inserted(base, arguments):
        for word in filter(is_literal, arguments):
            judge.scripts.edit(judge.paths.now(word), texts)
