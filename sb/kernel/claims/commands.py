"""The commands of a command line, as far as a claim about them needs it; nothing here decides what may run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

LONGEST_LINE = 4_000  # characters that are looked at
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?[^\n]*\n.*?(?:\n\s*\1\b|\Z)", re.DOTALL)
_TOKENS = re.compile(
    r"'[^']*(?:'|\Z)|\"(?:\\.|[^\"\\])*(?:\"|\Z)|\\.|[0-9&]?>+&?[0-9-]?|&&|\|\|?|[;&\n]|[^'\"&|;\n\\>0-9]+|.",
    re.DOTALL,
)
_SEPARATORS = ("&&", "||", "|", ";", "&", "\n")
_ASSIGNED = r"[A-Za-z_]\w*=(?:'[^']*'|\"[^\"]*\"|\S*)"
_WRAPPER = re.compile(
    rf"(?:\(+|\{{|!|{_ASSIGNED}|(?:sudo|env|time|nohup|nice|exec|command|then|do|else|if|while|xvfb-run|npx|bunx|pnpx|stdbuf)(?: -\S+)*"
    r"|timeout(?: -\S+)* \S+|(?:uv|poetry|pipenv|pdm|hatch|rye|conda|mamba|pixi)(?: -\S+)* run(?: --?[\w-]+(?:=\S+)?)*|pnpm exec|bundle exec"
    r"|[\w./~-]*python[\d.]*(?: -[^mc\s]\S*)* -m|(?:[\w/]*/)?(?:ba|z)?sh -l?c ['\"]?|docker(?:-compose| compose)? (?:exec|run)(?: -\S+)* \S+"
    r"|coverage run(?: -[^m]\S*)* -m)\s+"
)
_FOLDER = re.compile(r"(?:\.{0,2}/)?(?:[\w.@~+-]+/)+(?=[\w.-]+(?:\s|$))")
_VERSION = re.compile(r"^((?:[\w./~-]*/)?(?:go|python|pip|node|ruby|php|java))\d[\w.]*(?= )")
_READS = re.compile(
    r"(?:echo|printf|cat|grep|egrep|rg|ag|ls|find|fd|head|tail|sed -n|cd|pwd|which|type|wc|sort|uniq|diff|less|more|stat|file|tree|jq|awk|cut|true|false"
    r"|export|source|sleep|set|mkdir|touch|rm|test|\[|man|date|whoami|kill|pkill|ps|du|df|tr|xargs|read|:"
    r"|(?:pip|npm|pnpm|yarn|bun|cargo|go|gem|apt|apt-get|brew|uv|poetry)(?: pip)? (?:install|i|ci|add|list|show|ls|view|info|why|outdated|get|mod|sync|lock)"
    r"|git(?: -C \S+| --no-pager)* (?:status|log|diff|show|add|branch|remote|fetch|ls-files|rev-parse|config|blame|grep|describe|reflog|tag -l))(?:\s|$)"
)


class Command(NamedTuple):
    """One command of a line.

    Args:
        text: without its wrappers. reads: it only looks, or makes room.
        masked: the line's exit code is not this command's. ignored: its failure is thrown away.
        background: nobody waits for it.
    """

    text: str
    reads: bool
    masked: bool
    ignored: bool
    background: bool


@lru_cache(maxsize=2048)
def commands(line: str) -> tuple[Command, ...]:
    """The commands of a line in order."""
    return tuple(_commands(_HEREDOC.sub("\n", line[:LONGEST_LINE])))


def _commands(line: str) -> Iterator[Command]:
    parts: list[tuple[str, str]] = []
    text = ""
    for match in _TOKENS.finditer(line.replace("\\\n", " ")):
        token = match[0]
        if token in _SEPARATORS:
            parts.append((text, token))
            text = ""
        else:
            text += token
    parts.append((text, ""))
    while parts and not parts[-1][0].strip():
        parts.pop()
    for number, (words, separator) in enumerate(parts):
        bare = stripped(words)
        if bare:
            later = (
                [separator, *(after for _, after in parts[number + 1 : -1])]
                if number + 1 < len(parts)
                else []
            )
            next_word = parts[number + 1][0].strip() if number + 1 < len(parts) else ""
            ignored = separator == "||" and next_word.split(" ")[0] in ("true", ":", "echo", "exit")
            masked = any(item != "&&" for item in later)
            yield Command(bare, bool(_READS.match(bare)), masked, ignored, separator == "&")


def stripped(words: str) -> str:
    """A command without what it is started by and the folder of its program."""
    bare = words.strip()
    for _ in range(8):
        match = _WRAPPER.match(f"{bare} ")
        if not match:
            break
        bare = bare[match.end() :].strip()
    bare = _VERSION.sub(r"\1", bare).removesuffix("2>&1").rstrip()
    wrapped = bare.startswith(("./gradlew", "./mvnw"))
    return bare if wrapped else _FOLDER.sub("", bare, count=1) if _FOLDER.match(bare) else bare
