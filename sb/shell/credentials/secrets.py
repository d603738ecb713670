"""Recognise credentials that are no files: commands that print them, variables, hosts, and code.

The table is `packs/secrets.yaml`, compiled to `secret_table.py`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from sb.shell.credentials.files import OWN, PRIVATE, OwnSecrets, glob, secret_path
from sb.shell.packs.secret_table import ADDRESSES, COMMANDS, HOSTS, NO_VARIABLES, VARIABLES
from sb.shell.parsing.words import compiled, display
from sb.shell.places.addresses import is_metadata_host
from sb.shell.places.sensitive import folded

_MOST_QUOTED = 200  # texts in quotes of a program


# --- commands


@functools.lru_cache(8)
def _commands(own: OwnSecrets) -> dict[str, list[tuple[tuple[str, ...], int]]]:
    found: dict[str, list[tuple[tuple[str, ...], int]]] = {}
    for row, (_, commands, _, _) in enumerate((*COMMANDS, *own.commands)):
        for command in commands:
            program, *rest = command.split(" ")
            found.setdefault(program.rpartition("/")[2], []).append((tuple(rest), row))
    return found


def secret_command(program: str, arguments: Sequence[str]) -> str:
    """The secret that a command prints, as in "prints a token of GitHub"; "" for none."""
    own = OWN.get()
    for rest, row in _commands(own).get(program, ()):
        what, _, options, unless = COMMANDS[row] if row < len(COMMANDS) else own.commands[row - len(COMMANDS)]
        if not _in_order(rest, arguments):
            continue
        given = _options(arguments) if options or unless else ()
        if options and not any(glob(item.lower(), option) for item in given for option in options):
            continue
        if not any(glob(item, option) for item in given for option in unless):
            return what
    return ""


def _in_order(words: Sequence[str], arguments: Sequence[str]) -> bool:
    """True if the words are the first ones of the arguments, but for options and their values."""
    at = 0
    for word in words:
        skipped = 0
        while at < len(arguments) and arguments[at] != word:
            # Between the words of a command stand options, each with a value at most.
            if arguments[at][:1] != "-" and (
                not at or arguments[at - 1][:1] != "-" or "=" in arguments[at - 1]
            ):
                return False
            at, skipped = at + 1, skipped + 1
        if at == len(arguments):
            return False
        at += 1
    return True


def _options(arguments: Sequence[str]) -> list[str]:
    """The arguments, and each option joined with its value: `-o=json` for `-ojson` and for `-o json`."""
    found = list(arguments)
    for at, word in enumerate(arguments):
        if word[:1] == "-" and at + 1 < len(arguments) and "=" not in word:
            found.append(f"{word}={arguments[at + 1]}")
        if word[:1] == "-" and word[1:2] not in ("", "-") and len(word) > 2:
            found.append(f"{word[:2]}={word[2:].lstrip('=')}")
    return found


# --- variables and hosts


@functools.lru_cache(1024)
def secret_variable(name: str) -> bool:
    """True if a variable of that name holds a secret."""
    name = name.lower()
    if any(f"_{variable}_" in f"_{name}_" for variable in NO_VARIABLES):
        return False
    padded = f"_{name}_"
    return any(f"_{variable.strip('_')}_" in padded for variable in VARIABLES) or name.endswith(
        ("password", "passwd", "_pw", "apikey")
    )


def own_hosts(text: str) -> tuple[str, ...]:
    """The hosts that a secret is meant for, by the words of its variable or command; () if they are not known."""
    words = compiled("[^a-z0-9]+").split(text.lower())
    return tuple(host for word in words for host in HOSTS.get(word, ()))


def is_own_host(host: str, hosts: Iterable[str]) -> bool:
    """True if a host is one of these or lies below one."""
    return any(host == own or host.endswith(f".{own}") for own in hosts)


def is_named_after(host: str, what: str) -> bool:
    """True if a word of a variable's name is a part of the host: `$ACME_TOKEN` for api.acme.com."""
    words = [
        word
        for word in compiled("[^a-z0-9]+").split(what.lower())
        if len(word) > 3 and word not in ("prints", "token", "secret", "password")
    ]
    return any(word in host.split(".") for word in words)


def is_metadata(host: str) -> bool:
    """True if a host gives a cloud machine its credentials."""
    return host.strip("[]").lower().rstrip(".") in ADDRESSES or is_metadata_host(host)


# --- code

_QUOTED = r"""(?:"([^"\n]{1,400})"|'([^'\n]{1,400})'|`([^`\n]{1,400})`)"""
_TEXT = r"""(?:"[^"\n]{0,400}"|'[^'\n]{0,400}')"""
_ADDED = rf"(?P<texts>{_TEXT}(?:\s{{0,9}}[+.]\s{{0,9}}{_TEXT}){{1,40}})"
_LISTED = rf"[\[(]\s{{0,9}}(?P<texts>{_TEXT}(?:\s{{0,9}},\s{{0,9}}{_TEXT}){{0,40}})\s{{0,9}}[\])]"
_OF_OTHERS = rf"{_LISTED}\.join\(\s{{0,9}}(?P<quote>[\"'])(?P<by>[^\"'\n]{{0,9}})(?P=quote)\s{{0,9}}\)"
_OF_PYTHON = rf"(?P<quote>[\"'])(?P<by>[^\"'\n]{{0,9}})(?P=quote)\.join\(\s{{0,9}}{_LISTED}\s{{0,9}}\)"
_WHOLE_ENVIRONMENT = (
    r"(?:print\w*|dump|dict|str|write|stringify|puts|p|log|inspect|items|var_dump|environ)\s*\(?\s*\(?(?:dict\()?"
    r"(?:os\.)?(?:environ\b(?!\s*[\[.])|process\.env\b(?!\s*[.\[])|ENV\b(?!\s*[\[.]))|os\.environ\.items\(|(?<!keys\()process\.env\s*\)|^\s*process\.env\s*$|ENV\.(?:to_h|inspect|each)|%ENV\b|\$_(?:ENV|SERVER)\b(?!\s*\[)|getenv\(\)"
)
_VARIABLE = r"""(?:environ(?:\.get)?\s*[\[(]\s*|getenv\s*\(\s*|ENV\s*[\[{]\s*|process\.env\s*\[\s*)["']?(\w+)|process\.env\.(\w+)"""
_SHOWS = r"print|console\.|puts\b|echo\b|write|log\(|\bp\s|say\b|var_dump|inspect"


_LISTS = r"listdir|scandir|os\.walk|iterdir|readdir|Dir\.(?:entries|children|each)|opendir"
_READS = r"\bopen\(|read_text|read_bytes|readFile|\.read\b|file_get_contents|<\$"
_CHOOSES = r"(?i)endswith|suffix|splitext|extname|fnmatch|match|startswith|\bre\.|include|glob|['\"]\.\w"


_TYPICAL = (".ssh/id_rsa", ".ssh/id_ed25519", ".aws/credentials", ".env", ".netrc", ".gnupg/secring.gpg")


def _fitting(pattern: str) -> str:
    """A usual place of credentials that a pattern of files stands for, or ""."""
    parts = folded(pattern)
    for place in _TYPICAL:
        own = place.split("/")
        ends = zip(reversed(own), reversed(parts), strict=False)
        fits = len(parts) >= len(own) and all(fnmatchcase(name, part) for name, part in ends)
        if fits and parts[-len(own)][:1] == ".":  # no pattern of other files begins like that
            return place
    return ""


def shows_every_file(code: str) -> bool:
    """True if a program's text reads and prints the files of a folder, whatever their names."""
    found = all(compiled(pattern).search(code) for pattern in (_LISTS, _READS, _SHOWS))
    return found and compiled(_CHOOSES).search(code) is None


def _joined(code: str) -> str:
    """A program's text with the texts joined that it adds up: `".env"` for `"." + "env"` and `[".", "env"].join("")`."""

    def texts(match: re.Match[str]) -> list[str]:
        return [next(filter(None, groups), "") for groups in re.findall(_QUOTED, match["texts"])]

    def added(match: re.Match[str]) -> str:
        return f'"{"".join(texts(match))}"'

    def listed(match: re.Match[str]) -> str:
        return f'"{match["by"].join(texts(match))}"'

    if compiled(_ADDED).search(code):
        code = compiled(_ADDED).sub(added, code)
    return (
        compiled(_OF_PYTHON).sub(listed, compiled(_OF_OTHERS).sub(listed, code)) if "join" in code else code
    )


def secret_in_code(code: str) -> str:
    """The secret that a program's text reads: a file that it names, or the environment; "" for none."""
    code = _joined(code)
    quoted = [next(filter(None, groups), "") for groups in re.findall(_QUOTED, code)[:_MOST_QUOTED]]
    for at, text in enumerate(quoted):
        for path in (text, "/".join(quoted[at : at + 2]), "/".join(quoted[at : at + 3])):
            found = secret_path(folded(path)) if " " not in path and path.strip("/.") else None
            if found is not None and found.kind != PRIVATE:
                return f"reads {found.what}"
        if "*" in text and (typical := _fitting(text)):
            return f"reads {typical} by the pattern {display(text, 60)}"
    if compiled(_WHOLE_ENVIRONMENT).search(code):
        return "prints the environment"
    for match in compiled(_VARIABLE).finditer(code):
        if secret_variable(match[1] or match[2]) and compiled(_SHOWS).search(code):
            return f"prints {match[1] or match[2]}"
    return ""
