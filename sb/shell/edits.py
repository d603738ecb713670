"""Texts that `sed -i` and `perl -i` put into files which the same line runs afterwards."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sb.shell.words import compiled, is_literal

_EDITORS = frozenset(("sed", "gsed", "perl"))
_IN_PLACE = r"-[a-zA-Z]*i\S*|--in-place(?:=.*)?"
_PART = r"((?:\\.|(?!\1)[^\\\n])*)"  # a backslash is of one alternative alone, or time would be exponential
_SUBSTITUTION = rf"s([^\w\s\\]){_PART}\1{_PART}\1"
_ADDED = r"(?m)(?:^|[\d/$!;{ ])[aic](?:\\\s*|\s+)(.+)$"
_VALUE = r'"(?:[^"\\]|\\.)*"\s*:\s*"((?:[^"\\]|\\.)*)"'
_MOST = 16  # texts of one command


def inserted(program: str, arguments: Sequence[str]) -> list[str]:
    """What an editor is told to put into files, as far as it may be a command; of `"name": "text"` the text."""
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
