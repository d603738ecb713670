"""Finds the secrets in a command line that nothing can execute, so that they may be hidden from view.

What is hidden from the person who decides must not be able to act. So this names the few places in which a secret is
certainly data, given to programs that take it for data; everything else is shown.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from sb.base.secrets.redaction import secret_spans
from sb.shell.parsing.nodes import Node, Pipeline, Simple, Unparsed
from sb.shell.parsing.syntax import parse
from sb.shell.parsing.words import is_literal

# Expansions, substitutions, escapes, several lines, here-documents and -strings, history, comments: anywhere in the line.
_MAY_ACT = re.compile(r"[$`\\!#\x00-\x1f\x7f]|<<|[^\x20-\x7e]")
# Neither a path nor an option, a pattern or a part of an address.
_INERT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=\-]*")
_INERT_IN_HEADER = re.compile(r"[A-Za-z0-9_.+=/\-]+")

# Programs that run nothing they are given; and others that may run a command among their arguments, which could look
# the secret up, so of these every word has to be too simple for one.
_RUNS_NOTHING = frozenset(("curl", "wget", "http", "https"))
_SIMPLY_CALLED = frozenset(("git", "gh", "glab", "psql", "pg_dump", "mysqldump"))
_ONLY_READS = frozenset(("jq", "head", "tail", "wc"))
_SIMPLE_WORD = re.compile(r"[A-Za-z0-9_./:=@,+?&%-]*")
_SECRET = r"(?:pass(?:word|wd)|token|secret|api[_-]?key|access[_-]?key)"
_VARIABLE = re.compile(rf"(?:[A-Z0-9]+_)*{_SECRET}|PGPASSWORD|MYSQL_PWD", re.IGNORECASE)
_OPTION = rf"--(?:[a-z0-9]+-)*{_SECRET}"
_LOGIN_OPTIONS = ("-u", "--user")  # of curl; of git push, the next word is a branch
_HEADER_OPTIONS = ("-H", "--header")
_HEADER = r"(?:Authorization: ?(?:Bearer|Basic|token) |(?:X-Api-Key|Private-Token|X-Auth-Token): ?)"
_SCHEME = r"(?:https?|ftps?|postgres(?:ql)?)"


def secret_literals(command: str) -> list[tuple[int, int]]:
    """The spans of recognised secrets that are plain data in a command line; [] when in doubt."""
    if _MAY_ACT.search(command):
        return []
    spans = secret_spans(command)
    try:
        commands = list(_simple(parse(command))) if spans else []
    except (Unparsed, RecursionError, ValueError):
        return []
    if not all(map(_is_plain, commands)):
        return []
    return [span for span in spans if _is_data(command[slice(*span)], command, commands)]


def _simple(nodes: tuple[Node, ...]) -> Iterator[Simple]:
    for node in nodes:
        if isinstance(node, Pipeline):
            yield from _simple(node.parts)
        elif isinstance(node, Simple):
            yield node
        else:
            raise Unparsed("a compound command may run its input")


def _is_plain(simple: Simple) -> bool:
    """True if a command treats its arguments as data and is not redefined."""
    words = (
        [word for _, word in simple.assigned]
        + list(simple.words)
        + [redirect.target for redirect in simple.redirects]
    )
    if any(word.scripts for word in words) or not simple.words:
        return False
    program = simple.words[0].text
    if simple.assigned and program not in _SIMPLY_CALLED:
        return False
    if program in _SIMPLY_CALLED:
        return all(_VARIABLE.fullmatch(name) for name, _ in simple.assigned) and all(
            _SIMPLE_WORD.fullmatch(word.text) for word in words
        )
    return program in _RUNS_NOTHING | _ONLY_READS


def _is_data(secret: str, command: str, commands: list[Simple]) -> bool:
    """True if a secret appears once in the line, where it is data."""
    if command.count(secret) != 1:
        return False
    for simple in commands:
        if simple.words[0].text not in _ONLY_READS:
            words = [word.text for word in simple.words]
            texts = [("", word.text) for _, word in simple.assigned]
            texts += itertools.pairwise(words)
            places = ((before, text) for before, text in texts if is_literal(text))
            if any(_is_place(secret, words[0], before, text) for before, text in places):
                return True
    return False


def _is_place(secret: str, program: str, before: str, text: str) -> bool:
    """True if a word holds a secret where it is data.

    The word after an option is none where only the program knows whether the option takes one: after psql's --password
    stands the name of a database.

    Args:
        before: the word before it, "" for what is assigned to a variable.
    """
    if secret not in text:
        return False
    value = re.escape(secret)
    if before in _HEADER_OPTIONS and _INERT_IN_HEADER.fullmatch(secret):
        return re.fullmatch(f"{_HEADER}{value}", text, re.IGNORECASE) is not None
    if not _INERT.fullmatch(secret):
        return False
    if not before:
        return text == secret
    if program == "curl" and before in _LOGIN_OPTIONS and re.fullmatch(rf"[\w.-]+:{value}", text):
        return True
    return bool(
        re.fullmatch(rf"{_OPTION}={value}", text)
        or re.fullmatch(rf"{_SCHEME}://[\w.-]*:{value}@[A-Za-z0-9.-]+(?:[:/?].*)?", text)
    )
