"""Addresses that a command line fetches from, as far as they can be read in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PROGRAM = re.compile(r"(?<![\w.\-])(curl|wget|https?|xhs?|aria2c|lynx|w3m)(?:\.exe)?(?=[\s\"']|$)(?!://)")
_END = re.compile(r"[;|\n`]|&(?!\w+=)|\)")  # of one command; an & before NAME= stands in an address
_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|\d*[<>]+|(?:\\.|[^\s\"'<>\\])+")
_REDIRECTION = re.compile(r"\d*[<>]+")
_ADDRESS = re.compile(r"(?i)(?:https?|ftps?)://[^\s\"'<>|;)`]+")
_WITHOUT_SCHEME = re.compile(
    r"(?i)(?:[\w\-]+\.)+[a-z][a-z\-]+(?::\d+)?(?:[/?#].*)?|(?:\d+\.){3}\d+(?:[:/].*)?"
)
_COMPUTED = re.compile(r"[$`{\[]")
_SHORT = re.compile(r"-[A-Za-z#:]\S*")
# Letters of options whose value is no address; a proxy's is one.
_VALUED_LETTERS = {
    "curl": "AbcCdDeEFHmoPQrtTuUwXyYz",
    "wget": "oaetOTwQPUlARDIX",
    "http": "oa",
    "xh": "oa",
    "aria2c": "do",
}
_VALUED = frozenset(
    "--output --output-dir --output-document --output-file --directory-prefix --dump-header --header --data --data-raw"
    " --data-binary --data-urlencode --json --form --form-string --user-agent --user --referer --cookie --cookie-jar --request"
    " --upload-file --cacert --cert --key --write-out --auth".split()
)
# Options that fetch from what a file lists, or from elsewhere than an address says.
_ELSEWHERE_LETTERS = {"curl": "K", "wget": "i", "aria2c": "i"}
_ELSEWHERE = frozenset("--config --input-file --resolve --connect-to".split())
_OF_ADDRESS = re.compile(r"--(?:url|proxy|preproxy|base)=|-x(?=\S)")
MOST = 32  # addresses of one line


def addresses_of(command: str) -> list[str]:
    """What a command line fetches from: addresses, or `shell:PROGRAM` where one is computed or cannot be read."""
    found = dict.fromkeys(_ADDRESS.findall(command))
    for match in _PROGRAM.finditer(command):
        end = _END.search(command, match.end())
        found |= dict.fromkeys(_of_program(match[1], command[match.end() : end.start() if end else None]))
    return list(found)[:MOST] + ([f"shell:{MOST}+"] if len(found) > MOST else [])


def _of_program(program: str, arguments: str) -> Iterator[str]:
    name = program.rstrip("s")
    skips, seen = False, False
    for raw in _WORD.findall(arguments):
        if skips:
            skips = False
            continue
        if _REDIRECTION.fullmatch(raw):
            skips = True
            continue
        word = _OF_ADDRESS.sub("", raw.strip("\"'"), count=1)
        if word.startswith("-"):
            skips, elsewhere = _option(name, word)
            if elsewhere:
                yield f"shell:{program}"
        elif _COMPUTED.search(word):
            yield f"shell:{program}"
        elif _ADDRESS.search(word):
            seen = True
        elif _WITHOUT_SCHEME.fullmatch(word):
            seen = True
            yield f"https://{word}"
    if not seen:
        yield f"shell:{program}"


def _option(program: str, word: str) -> tuple[bool, bool]:
    """Whether the next word is an option's value, and whether the option has the program fetch from elsewhere."""
    if not _SHORT.fullmatch(word):
        return word in _VALUED, word.partition("=")[0] in _ELSEWHERE
    valued = _VALUED_LETTERS.get(program, "")
    for place, letter in enumerate(word[1:], 2):  # -sSLo is -s -S -L -o
        if letter in _ELSEWHERE_LETTERS.get(program, ""):
            return True, True
        if letter in valued:
            return place == len(word), False
    return False, False
