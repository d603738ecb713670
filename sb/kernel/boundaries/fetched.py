"""Addresses that a command line fetches from, as far as they can be read in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PROGRAM = re.compile(r"(?<![\w.\-])(curl|wget|https?|xhs?|aria2c|lynx|w3m)(?:\.exe)?(?=[\s\"']|$)(?!://)")
_END = re.compile(r"[;|\n`]|&(?!\w+=)|\)")  # of one command; an & before NAME= stands in an address
_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s\"']+")
_ADDRESS = re.compile(r"(?i)(?:https?|ftps?)://[^\s\"'<>|;)`]+")
_WITHOUT_SCHEME = re.compile(
    r"(?i)(?:[\w\-]+\.)+[a-z][a-z\-]+(?::\d+)?(?:[/?#].*)?|(?:\d+\.){3}\d+(?:[:/].*)?"
)
_COMPUTED = re.compile(r"[$`{\[]")
# Options whose value is no address, of the two programs that most lines name.
_VALUED = frozenset(
    "-o --output -H --header -d --data --data-raw --data-binary -F --form -A --user-agent -u --user -e --referer -b --cookie"
    " -c --cookie-jar -X --request -T --upload-file --cacert --cert --key -O --output-document -P -w --write-out".split()
)
MOST = 32  # addresses of one line


def addresses_of(command: str) -> list[str]:
    """What a command line fetches from: addresses, or `shell:PROGRAM` where one is computed or cannot be read."""
    found = dict.fromkeys(_ADDRESS.findall(command))
    for match in _PROGRAM.finditer(command):
        end = _END.search(command, match.end())
        found |= dict.fromkeys(_of_program(match[1], command[match.end() : end.start() if end else None]))
    return list(found)[:MOST] + ([f"shell:{MOST}+"] if len(found) > MOST else [])


def _of_program(program: str, arguments: str) -> Iterator[str]:
    before, seen = "", False
    for word in (one.strip("\"'").removeprefix("--url=") for one in _WORD.findall(arguments)):
        valued, before = before in _VALUED and not (program != "wget" and before == "-O"), word
        if valued:
            continue
        if word in ("-K", "--config", "-i", "--input-file") or (_COMPUTED.search(word) and word[0] != "-"):
            yield f"shell:{program}"
        elif _ADDRESS.search(word):
            seen = True
        elif _WITHOUT_SCHEME.fullmatch(word):
            seen = True
            yield f"https://{word}"
    if not seen:
        yield f"shell:{program}"
