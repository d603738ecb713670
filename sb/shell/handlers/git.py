"""Judge git commands beyond what the table says."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sb.shell.parsing.inputs import NOTHING, Input
from sb.shell.parsing.words import compiled, display, is_literal
from sb.shell.places.repositories import settings_of
from sb.shell.programs.rules import (
    DESTROY,
    NETWORK,
    QUIET,
    WRITE,
    Finding,
    highest,
    operands,
    options_before,
    rule_finding,
    run_by_options,
)
from sb.shell.programs.ruleset import active

if TYPE_CHECKING:
    from sb.shell.judge import Judge

# Settings whose value git runs, by the end of their name.
_RUN_SETTINGS = (
    "pager", "editor", "sshcommand", "fsmonitor", "hookspath", "external", "program", "helper", "textconv", "clean", "smudge",
    "process", "cmd", "command", "gitproxy", "driver", "difffilter", "askpass", "packobjectshook", "browser",
)  # fmt: skip
# Settings that have git run what lies in a folder, or what other settings say, at its next command.
_RUN_UNSEEN = frozenset(("core.hookspath", "core.fsmonitor", "init.templatedir"))
_SHELLS = frozenset(
    "sh bash zsh dash ksh fish python python3 node perl ruby php env nc ncat curl wget".split()
)
_ANY = "./…"  # any program
_OTHER_FILES = ("GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
_PARAMETER = r"'([^'=]+)(?:=|'=')([^']*)'"
_RUN_NOTHING = ("", "true", "false", "0", "1", "/dev/null")


def git(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge one git command."""
    found = _elsewhere(judge, arguments)
    rest = arguments
    while rest and rest[0][:1] == "-":
        if rest[0] == "-c" and len(rest) > 1:
            key, _, value = rest[1].partition("=")
            found = highest(found, _setting(judge, key.lower(), value))
        elif rest[0].startswith("--config-env"):
            pair = rest[0].partition("=")[2] if "=" in rest[0] else "".join(rest[1:2])
            key, _, name = pair.partition("=")
            values = (value if is_literal(value) else _ANY for value in judge.values.get(name, (_ANY,)))
            found = highest(found, *(_setting(judge, key.lower(), value) for value in values))
        elif rest[0].startswith("--exec-path="):
            found = highest(
                found, Finding(NETWORK, f"git {display(rest[0], 20)}: changes which programs are used")
            )
        rest = rest[2:] if rest[0] in options_before("git").split() else rest[1:]
    special = _SPECIAL.get(rest[0]) if rest else None
    own = special(judge, rest[1:]) if special else None
    if own is None:
        own = rule_finding("git", arguments) or found
    if rest:
        own = highest(own, *(judge.line(text) for text in run_by_options(f"git {rest[0]}", rest[1:])))
    if rest and f"git {rest[0]}" not in active().table.rules and found.rank and is_literal(rest[0]):
        return highest(found, own)
    return highest(own, found)


def with_git_apart(argv: Sequence[str]) -> Sequence[str]:
    """`git-push …` and `/usr/lib/git-core/git-push …` as `git push …`; other commands as they are."""
    folder, _, base = argv[0].rpartition("/")
    verb = base.lower().removeprefix("git-")
    if verb == base.lower() or f"git {verb}" not in active().table.rules:
        return argv
    program = "git" if not folder or folder.endswith("/git-core") else f"{folder}/git"
    return (program, verb, *argv[1:])


def _elsewhere(judge: Judge, arguments: Sequence[str]) -> Finding:
    """True if git follows the settings of another repository, which may name programs that it runs."""
    named = [word.partition("=")[2] for word in arguments if word.startswith("--git-dir=")]
    named += [after for word, after in itertools.pairwise(arguments) if word == "--git-dir"]
    if named:
        own = settings_of(judge.paths.folders[0])
        places = [os.path.realpath(place) for word in named for place in judge.paths.places(word)]
        where = next((place for place in places if place != own or not is_literal(place)), "")
    else:
        where = "…" if judge.paths.anywhere else judge.paths.foreign()
    return (
        Finding(
            NETWORK,
            f"git in {display(where, 40)}: follows another repository's settings, which may run programs",
        )
        if where
        else QUIET
    )


def _setting(judge: Judge, key: str, value: str) -> Finding:
    """Judge a git setting, for one command or permanent."""
    if not is_literal(key + value):
        return Finding(DESTROY, f"git -c {display(key, 30)}: the setting is unknown until it runs")
    if key.startswith("alias."):
        if value.startswith("!"):
            return judge.line(value[1:])
        return git(judge, "git", value.split(), NOTHING)
    if value not in _RUN_NOTHING and (key in _RUN_UNSEEN or key.startswith("include")):
        return Finding(DESTROY, f"git {display(key, 30)}: makes git run unknown programs")
    if key.rpartition(".")[2] in _RUN_SETTINGS or key.startswith("pager."):
        run = Finding(NETWORK, f"git {display(key, 30)}: makes git run a program")
        return highest(run, judge.line(value.lstrip("!"))) if value else run
    if key.startswith("protocol.") and (key == "protocol.allow" or ".ext." in key) and value != "never":
        return Finding(DESTROY, f"git {display(key, 30)}: lets remotes name programs")
    if key.startswith("url.") and key.endswith("insteadof"):
        return Finding(DESTROY, f"git {display(key, 30)}: redirects git to a different host")
    if key.startswith(("url.", "protocol.", "http.proxy", "remote.")):
        return Finding(NETWORK, f"git {display(key, 30)}: changes which remotes git uses")
    return QUIET


def _checkout(judge: Judge, arguments: Sequence[str]) -> Finding | None:
    """Judge a checkout: a name that is a file in the folder loses its changes, else it is a branch."""
    if any(word in ("-b", "--orphan", "-t", "--track", "--detach") for word in arguments):
        return None
    names = [arguments[at] for at in operands(arguments)]
    if len(names) > 1:
        return Finding(DESTROY, f"git checkout {display(names[1], 30)}: discards uncommitted work")
    if names and (
        not is_literal(names[0]) or any(os.path.lexists(place) for place in judge.paths.places(names[0]))
    ):
        return Finding(DESTROY, f"git checkout {display(names[0], 30)}: discards uncommitted work")
    return None


def _restore(judge: Judge, arguments: Sequence[str]) -> Finding | None:
    if any(word in ("--staged", "-S") for word in arguments) and not any(
        word[:1] == "-" and ("--worktree".startswith(word) or "W" in word) for word in arguments
    ):
        return Finding(WRITE, "git restore --staged: unstages changes")
    return None


def _config(judge: Judge, arguments: Sequence[str]) -> Finding | None:
    names = [arguments[at] for at in operands(arguments, "-f --file --type --default --comment")]
    names = names[1:] if names[:1] == ["set"] else names
    if len(names) > 1 and "." in names[0]:
        found = _lasting(judge, names[0].lower(), names[1])
        return highest(Finding(WRITE, "git config: changes settings"), found)
    if (
        len(names) == 1
        and is_literal(names[0])
        and "." in names[0]
        and not any(word.startswith("--") for word in arguments)
    ):
        return QUIET
    return None


def _lasting(judge: Judge, key: str, value: str) -> Finding:
    """Judge a setting that a repository keeps."""
    found = _setting(judge, key, value)
    if found.rank >= NETWORK and _runs_later(key, value):
        return Finding(DESTROY, f"git {display(key, 30)}: makes git run a program later, whoever calls it")
    return found


def _clone(judge: Judge, arguments: Sequence[str]) -> Finding | None:
    """Judge the settings that a clone begins with."""
    found = QUIET
    for at, word in enumerate(arguments):
        option, equals, value = word.partition("=")
        if len(option) > len("--c") and "--config".startswith(option):
            pair = value if equals else "".join(arguments[at + 1 : at + 2])
        elif word[:2] == "-c":
            pair = word[2:] or "".join(arguments[at + 1 : at + 2])
        else:
            continue
        key, _, value = pair.partition("=")
        found = highest(found, _lasting(judge, key.lower(), value or "true"))
    return highest(rule_finding("git", ["clone", *arguments]) or QUIET, found)


def by_variable(judge: Judge, name: str) -> Finding:
    """Judge the settings that git is given by variables: in pairs, in a list, or as a file."""
    values = judge.values
    if name in _OTHER_FILES:
        files = [value for value in values.get(name, ()) if value not in ("", "/dev/null")]
        return (
            Finding(DESTROY, f"{name}=: makes git go by another file, which may name programs")
            if files
            else QUIET
        )
    number = name.rpartition("_")[2]
    pairs: Iterable[tuple[str, str]] = itertools.product(
        values.get(f"GIT_CONFIG_KEY_{number}", ()), values.get(f"GIT_CONFIG_VALUE_{number}", ())
    )
    if name == "GIT_CONFIG_PARAMETERS":
        listed = (compiled(_PARAMETER).findall(value) for value in values.get(name, ()))
        pairs = ((key, value) for item in listed for key, value in item)
    return highest(*(_setting(judge, key.lower(), value) for key, value in pairs))


def _runs_later(key: str, value: str) -> bool:
    """True if a setting has git run more than a program that is called by its name alone."""
    if key.startswith("alias."):
        return value.startswith("!")
    runs = key.rpartition(".")[2] in _RUN_SETTINGS or key.startswith("pager.")
    words = value.split()
    return (runs and any(mark in value for mark in "/!;|&$`<>(")) or (
        runs and words[:1] != [] and words[0] in _SHELLS
    )


def _submodule(judge: Judge, arguments: Sequence[str]) -> Finding | None:
    names = operands(arguments)
    if names and arguments[names[0]] == "foreach":
        return highest(
            QUIET, judge.line(" ".join(word for word in arguments[names[0] + 1 :] if word != "--recursive"))
        )
    return None


def _bisect(judge: Judge, arguments: Sequence[str]) -> Finding | None:
    if arguments[:1] == ["run"] and arguments[1:]:
        return highest(Finding(NETWORK, "git bisect run: runs a program"), judge.command(list(arguments[1:])))
    return None


def _rm(judge: Judge, arguments: Sequence[str]) -> Finding | None:
    if "--cached" in arguments[: (arguments.index("--") if "--" in arguments else None)]:
        return Finding(WRITE, "git rm --cached: keeps the files")
    return None


_REBASE_FLAGS = frozenset(
    "-q --quiet -v --verbose --stat -n --no-stat --autostash --no-autostash --no-ff -r --rebase-merges".split()
)
_OF_A_REMOTE = r"(?:origin|upstream)/[\w.-]+(?:/[\w.-]+)*"


def _rebase(judge: Judge, arguments: Sequence[str]) -> Finding | None:
    """Judge a rebase: local commits onto a remote's branch keep all their content."""
    names = [word for word in arguments if word[:1] != "-"]
    flags = [word for word in arguments if word[:1] == "-"]
    plain = len(names) in (1, 2) and all(map(is_literal, names)) and _REBASE_FLAGS.issuperset(flags)
    if plain and compiled(_OF_A_REMOTE).fullmatch(names[0]):
        return Finding(WRITE, f"git rebase {display(names[0], 30)}: moves local commits onto a remote's")
    return None


_SPECIAL = {
    "rebase": _rebase,
    "rm": _rm,
    "checkout": _checkout,
    "restore": _restore,
    "config": _config,
    "submodule": _submodule,
    "bisect": _bisect,
    "clone": _clone,
}
