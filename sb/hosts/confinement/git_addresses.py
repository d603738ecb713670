"""Addresses that git reaches: a repository on this machine is an agent's own as likely as not, with hooks that git would run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Sequence

from sb.hosts.confinement import tables
from sb.shell.places.this_machine import is_this_machine

# Of other schemes git runs `git-remote-SCHEME`, wherever it finds it; of a path, the hooks of what is there.
_ADDRESS = re.compile(r"(?:https?|ssh|git|git\+ssh|ssh\+git|ftps?)://[^\s]+|[^-/\s:.][^/\s:]*:(?!:|//)\S*")
_REMOTE_NAME = re.compile(r"[\w][\w.-]*")
_FLAGS, _WITH_VALUE, _REACH, _OF_REMOTE, _OF_SUBMODULE, _OF_LFS, _IN_ALIASES = (
    frozenset(tables.GIT[name].split())
    for name in ("flags", "valued", "reach", "of_remote", "of_submodule", "of_lfs", "in_aliases")
)
_SHORT_FLAGS = re.compile(r"-[qvfnatpd46r]+")
_SHORT_WITH_VALUE = ("-b", "-j")
_ALIAS_OPTION = re.compile(
    r"-[A-Za-z0-9]{1,6}|--(?:graph|oneline|decorate|all|abbrev\S*|stat|shortstat|cached|staged|amend|no-edit|short|branch|name-only|"
    r"name-status|hard|soft|mixed|ff-only|no-ff|topo-order|date-order|color|word-diff|patch|follow|first-parent|show-toplevel|"
    r"no-merges|merged|no-merged|reverse|list|verbose|quiet|force|delete|ignore-\S+|(?:pretty|format|date|sort|color|word-diff|"
    r"author|since|until|max-count|decorate|diff-filter|max-parents)=[\s\S]*)"
)
_ALIAS_OPERAND = re.compile(r"[\w@^~{}-]+|\.|--")


def is_harmless_alias(value: str) -> bool:
    """True for the value of an alias by which git runs none but itself, on this machine."""
    try:
        words = shlex.split(value)
    except ValueError:
        return False
    if words[:1] and words[0] in _REACH:
        return reaches_only(["git", *words], ("origin",))
    if not words or words[0] not in _IN_ALIASES:
        return False
    if words[0] == "merge" and any(re.match(r"-\w*s", word) for word in words):
        return False  # a strategy, of which git runs `git-merge-NAME`
    return all((_ALIAS_OPTION if word[:1] == "-" else _ALIAS_OPERAND).fullmatch(word) for word in words[1:])


def is_address(text: str) -> bool:
    """True for an address on another machine, of a scheme that git speaks itself."""
    by_ssh = re.fullmatch(r"(?:(?:git\+)?ssh(?:\+git)?://)?(?:[^@/]*@)?(\[[^]]*\]|[^/:]+)(?:[:/].*)?", text)
    return bool(_ADDRESS.fullmatch(text)) and not (by_ssh and is_this_machine(by_ssh[1]))


def is_remote_name(text: str) -> bool:
    """True for what may be the name of a remote, and no path or address."""
    return bool(_REMOTE_NAME.fullmatch(text))


def added_remotes(commands: Sequence[Sequence[str]]) -> Iterator[str]:
    """The remotes that a line adds, with an address on another machine."""
    for argv in commands:
        if tuple(argv[:3]) == ("git", "remote", "add"):
            operands = _operands(argv[3:])
            if operands is not None and len(operands) == 2 and is_address(operands[1]):
                yield operands[0]


def reaches_only(argv: Sequence[str], remotes: Collection[str] | None) -> bool:
    """True if a command of git reaches remotes or other machines alone, and has no option that could name a program.

    Args:
        argv: with its program. remotes: configured ones that are on other machines; None where any name may be one.
    """
    subcommand, words = argv[1], list(argv[2:])
    kind = ""
    if subcommand in ("remote", "submodule", "lfs"):
        listing = not words or words[0].startswith("-")
        kind, words = ("", words) if listing else (words[0], words[1:])
    operands = _operands(words, subcommand)
    if operands is None:
        return False
    if subcommand == "remote":
        if kind in ("add", "set-url"):
            return len(operands) > 1 and all(map(is_address, operands[1:]))
        return not (kind or operands) or (kind in _OF_REMOTE and all(map(is_remote_name, operands)))
    if subcommand == "submodule":
        return (
            not kind
            or kind in _OF_SUBMODULE
            or (kind == "add" and bool(operands) and is_address(operands[0]))
        )
    if subcommand == "lfs" and kind not in ("pull", "push", "fetch"):
        return not kind or kind in _OF_LFS
    if subcommand == "clone":
        return bool(operands) and is_address(operands[0])
    if subcommand in _REACH or subcommand == "lfs":
        return not operands or _is_known(operands[0], remotes)
    return False


def _is_known(word: str, remotes: Collection[str] | None) -> bool:
    if is_address(word):
        return True
    return is_remote_name(word) and (remotes is None or word in remotes)


def _operands(words: Sequence[str], subcommand: str = "") -> list[str] | None:
    """The words that are no options; None if an option is none of those that are known to name no program."""
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        name = word[2:].partition("=")[0]
        if not word.startswith("-"):
            operands.append(word)
        elif word.startswith("--"):
            if name in _WITH_VALUE and "=" not in word:
                next(rest, "")
            elif name not in _FLAGS and name not in _WITH_VALUE:
                return None
        elif word in _SHORT_WITH_VALUE:
            next(rest, "")
        elif not _SHORT_FLAGS.fullmatch(word) and not (word == "-u" and subcommand in ("push", "fetch")):
            return None
    return operands
