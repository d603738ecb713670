"""Lines that reach this machine by ssh: what its sshd starts for them is not confined."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from glob import glob

from sb.shell.places.this_machine import is_this_machine

_TO_A_HOST = frozenset("ssh autossh sftp mosh sshfs ssh-copy-id".split())
_COPIES = frozenset("scp rsync sftp sshfs".split())
_OF_GIT = frozenset("push fetch pull clone ls-remote remote submodule archive".split())
_VALUED = "BbcDEeFIiJLlmOopQRSWw"  # options of ssh with a value
_SCHEME = re.compile(r"[a-z+]+://")
_SCHEMES = ("ssh", "git+ssh", "scp", "sftp", "rsync")
_LINE = re.compile(r"\s*([A-Za-z]+)(?:\s*=\s*|\s+)(.*?)\s*")
_SYSTEM = "/etc/ssh/ssh_config"
_DEEPEST = 4  # files that include others
_MOST = 1 << 18  # characters of a file


def reaches_this_machine(argv: Sequence[str], home: str) -> bool:
    """True for a command that connects to this machine, by an alias of the person's settings of ssh, too.

    Args:
        argv: with its program. home: of the user.
    """
    program = argv[0].rpartition("/")[2] if argv else ""
    hosts = []
    for word in _operands(argv[1:])[:1] if program in _TO_A_HOST else ():
        hosts += [_host(word), word.rpartition("@")[2]]  # the second is an address with colons
    if program in _COPIES or (program == "git" and not _OF_GIT.isdisjoint(argv)):
        hosts += filter(None, map(_of_address, argv[1:]))
    return any(_is_here(host, home) for host in hosts)


def is_address_here(address: str, home: str) -> bool:
    """True for an address on this machine that git reaches by ssh."""
    host = _of_address(address)
    return bool(host) and _is_here(host, home)


def _is_here(host: str, home: str) -> bool:
    return is_this_machine(host) or any(map(is_this_machine, _names_of(host, home)))


def _of_address(word: str) -> str:
    """The host of `host:path` and of an address of ssh or rsync; "" for anything else."""
    scheme = _SCHEME.match(word)
    remote = scheme[0].startswith(_SCHEMES) if scheme else ":" in word.partition("/")[0]
    return _host(word) if remote else ""


def _operands(words: Sequence[str]) -> list[str]:
    """The words that are neither options of ssh nor their values."""
    operands, rest = list[str](), iter(words)
    for word in rest:
        if word == "--" or not word.startswith("-"):
            operands += [*rest] if word == "--" else [word]
            continue
        letters = "" if word.startswith("--") else word[1:]
        at = next((at for at, letter in enumerate(letters) if letter in _VALUED), None)
        if at is not None and at == len(letters) - 1:
            next(rest, "")
    return operands


def _host(word: str) -> str:
    """The host of a destination: `user@host`, `host:path`, `ssh://user@host:port/path`."""
    authority = _SCHEME.sub("", word).partition("/")[0].rpartition("@")[2]
    return authority.partition("]")[0] if authority.startswith("[") else authority.partition(":")[0]


def _names_of(host: str, home: str) -> Iterator[str]:
    """The hosts that an alias may stand for, by every part of the settings that may be meant for it."""
    for path in (os.path.join(home, ".ssh", "config"), _SYSTEM):
        yield from _named_in(path, host, os.path.dirname(path), home)


def _named_in(path: str, host: str, folder: str, home: str, depth: int = 0) -> Iterator[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(_MOST).splitlines()
    except OSError:
        return
    counts = True
    for line in lines:
        found = _LINE.fullmatch(line)
        word, value = (found[1].lower(), found[2].replace('"', "")) if found else ("", "")
        if word == "host":
            counts = any(fnmatchcase(host.lower(), pattern.lower()) for pattern in value.split())
        elif word == "match":
            named = re.search(r"(?i)\b(?:original)?host\s+(\S+)", value)
            counts = not named or any(fnmatchcase(host.lower(), item.lower()) for item in named[1].split(","))
        elif word == "hostname" and counts:
            yield value.replace("%h", host)
        elif word == "include" and counts and depth < _DEEPEST:
            for name in value.split():
                pattern = os.path.join(folder, name.replace("~", home, 1) if name[:1] == "~" else name)
                for inner in sorted(glob(pattern)):
                    yield from _named_in(inner, host, folder, home, depth + 1)
