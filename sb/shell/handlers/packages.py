"""Changes of `sb`'s environment by package managers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sb.shell.destinations.changing import change
from sb.shell.parsing.words import compiled, display, is_literal
from sb.shell.places.guarded import refusal
from sb.shell.programs.facts import having, lists
from sb.shell.programs.rules import DESTROY, QUIET, Finding, highest, operands, rule_finding
from sb.shell.programs.ruleset import active

if TYPE_CHECKING:
    from sb.shell.judge import Judge

_PIP = r"pip[\d.]*|easy_install[\d.-]*|python[\d.]*|pypy[\d.]*"
_CHANGING = frozenset(
    ("install", "uninstall", "sync", "remove", "update", "upgrade", "add", "ensurepip", "venv")
)
_MODULES = frozenset(("pip", "ensurepip", "venv", "virtualenv", "easy_install", "uv", "pipx", "conda"))
# Of pipx and `uv tool`: what leaves environments as they are.
_LOOKING = frozenset(
    ("list", "dir", "run", "environment", "ensurepath", "completions", "interpreter", "help")
)
# Options and variables that name an interpreter or an environment, and those that name a folder of packages.
_PYTHONS = ("--python", "-p")
_FOLDERS = ("--target", "-t", "--prefix", "--root", "--directory", "--clear")
_INSTALLED_INTO = ("--target", "-t", "--prefix", "--root")
_VARIABLES = (
    "VIRTUAL_ENV UV_PROJECT_ENVIRONMENT CONDA_PREFIX PIP_PREFIX PIP_TARGET PIP_PYTHON UV_PYTHON"
).split()
_VALUED = (
    "--python -p --target -t --prefix --root --index-url -i --extra-index-url -r --requirement -c --constraint "
    "--system-site-packages-from --prompt --cache-dir --log --directory --project --index"
)


def environment_changes(judge: Judge, program: str, arguments: Sequence[str]) -> Finding:
    """Judge changes of packages or environments that `sb` runs from."""
    base = program.rpartition("/")[2].lower()
    if base in lists("manages"):
        _interpreters(judge, base, [arguments[at] for at in operands(arguments)], arguments)
    return highest(
        _beside(judge, program), _changed(judge, program, base, arguments), _local(base, arguments)
    )


def _local(base: str, arguments: Sequence[str]) -> Finding:
    """Judge `pnpm PROGRAM …`, `yarn PROGRAM …` and `npm run SCRIPT -- …`, which run a program of the project."""
    if base not in having("package_manager"):
        return QUIET
    words = [arguments[at] for at in operands(arguments, _VALUED)]
    words = words[1:] if words[:1] in (["run"], ["run-script"]) else words if base != "npm" else []
    found = rule_finding(words[0], words[1:]) if words and is_literal(words[0]) else None
    return (
        found
        if found and found.rank == DESTROY and f"{base} {words[0]}" not in active().table.rules
        else QUIET
    )


def _beside(judge: Judge, program: str) -> Finding:
    """Judge a program in sb's own environment: it may change that environment."""
    place = judge.paths.guards(program) if "/" in program and not program.endswith("/sb") else None
    if place is None or place.asks or place.free or os.path.isfile(place.path):
        return QUIET
    return Finding(DESTROY, f"{display(program)}: runs in sb's own environment")


def _changed(judge: Judge, program: str, base: str, arguments: Sequence[str]) -> Finding:
    interpreter = base.startswith(("python", "pypy"))
    if base not in having("changes_environment") and not compiled(_PIP).fullmatch(base):
        return QUIET
    words = [arguments[at] for at in operands(arguments, _VALUED)]
    if interpreter:
        at = next(
            (at for at, word in enumerate(arguments[:8]) if compiled("-[A-Za-z]*m").fullmatch(word)), -1
        )
        module = arguments[at + 1] if 0 <= at < len(arguments) - 1 else ""
        if module not in _MODULES:
            return QUIET
        words = [module, *(word for word in words if word != module)]
    if base == "pipx" or words[:1] == ["pipx"] or words[:1] == ["tool"]:
        return _tools(judge, base, [word for word in (*words, *arguments) if word not in ("pipx", "tool")])
    if base != "virtualenv" and not _CHANGING & set(words[:3]) and words[:1] != ["virtualenv"]:
        return QUIET
    makes = base == "virtualenv" or bool({"venv", "virtualenv"} & set(words[:2]))
    found = highest(*(_changes(judge, folder) for folder in _named(judge, arguments, words, makes=makes)))
    if makes:
        return found
    if {"install", "sync"} & set(words[:3]):
        found = highest(found, *(_lands(judge, base, arguments)))
    own = list(_programs(judge, program))
    found = highest(found, *(_changes(judge, os.path.dirname(os.path.dirname(path))) for path in own))
    return found if own and all(map(_is_environment, own)) else highest(found, _elsewhere(judge, base))


def _interpreters(judge: Judge, base: str, words: Sequence[str], arguments: Sequence[str]) -> Finding:
    """Refuse to remove or upgrade the interpreter that hooks run."""
    if not {"uninstall", "remove", "rm", "upgrade", "delete"} & set(words[:3]):
        return QUIET
    names = [
        word
        for word in words[1:]
        if compiled(r"(python@?|cpython-?)?\d[\w.+-]*|python[\w.@-]*").fullmatch(word)
    ]
    names = [word.removeprefix("python").lstrip("@-") for word in names]
    programs = (place for place in judge.paths.guarded.places if "python" in os.path.basename(place.path))
    for place in programs:
        own = place.path.casefold()
        managed = any(f"/{folder}/" in own for folder in lists("manages").get(base, ()))
        if managed and ("--all" in arguments or any(name in own for name in names)):
            judge.refuse(refusal(place.path))
    return QUIET


def _tools(judge: Judge, base: str, words: Sequence[str]) -> Finding:
    """Judge pipx and `uv tool`, which give each program its own environment."""
    if words[:1] and words[0] not in _LOOKING:
        names = {word.lower().replace("_", "-").partition("=")[0].partition("[")[0] for word in words[1:]}
        if "secondbrain-sb" in names or words[0].endswith("-all") or "--all" in words:
            judge.refuse(f"{base} {display(words[0])}: changes or removes sb, which agents must not do")
    return QUIET


def _named(judge: Judge, arguments: Sequence[str], words: Sequence[str], *, makes: bool) -> Iterator[str]:
    """The folders that options, variables and operands name; making an environment changes no interpreter."""
    for at, word in enumerate(arguments):
        option, equals, value = word.partition("=")
        value = value if equals else "".join(arguments[at + 1 : at + 2])
        if option in _PYTHONS and value and not makes:
            yield from _prefixes(value)
        if option in _FOLDERS and value:
            yield value
    for variable in _VARIABLES:
        for value in judge.values.get(variable, ()):
            yield from _prefixes(value)
    yield from (word for word in words if "/" in word or word.startswith((".", "~")))


def _lands(judge: Judge, base: str, arguments: Sequence[str]) -> Iterator[Finding]:
    """Judge the folders that packages are put into: what lies there may be overwritten, and runs later."""
    from sb.base.repository import git_root
    from sb.shell.snapshots.area import temporary_folders  # most lines install nothing

    own = git_root(judge.paths.folders[0]) or judge.paths.folders[0]
    for at, word in enumerate(arguments):
        option, equals, value = word.partition("=")
        value = value if equals else "".join(arguments[at + 1 : at + 2])
        if option not in _INSTALLED_INTO or not value or not is_literal(value):
            continue
        for place in map(os.path.realpath, judge.paths.now(value)):
            if not any(f"{place}/".startswith(f"{folder}/") for folder in (own, *temporary_folders())):
                yield Finding(
                    DESTROY, f"{base} {option} {display(value, 40)}: installs outside of the project"
                )


def _prefixes(value: str) -> Iterator[str]:
    """An environment, named by its folder or by its interpreter."""
    named = os.path.basename(value).startswith(("python", "pypy"))
    yield os.path.dirname(os.path.dirname(value)) if named else value


def _programs(judge: Judge, program: str) -> Iterator[str]:
    """The paths of a program, by its own path or by PATH."""
    if "/" in program:
        yield program
        return
    import shutil  # it brings five modules of compression, and most lines name no package manager

    for path in judge.values.get("PATH", ()):
        if is_literal(path) and (found := shutil.which(program, path=path)):
            yield found


def _is_environment(program: str) -> bool:
    return os.path.exists(os.path.join(os.path.dirname(os.path.dirname(program)), "pyvenv.cfg"))


def _changes(judge: Judge, folder: str) -> Finding:
    """Judge a change of an environment or of its packages."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    inner = (f"lib/{version}/site-packages", f"lib/{version}/dist-packages", "lib/python3/dist-packages")
    return highest(*(change(judge, os.path.join(folder, below, "x")) for below in (".", *inner)))


def _elsewhere(judge: Judge, base: str) -> Finding:
    """Judge a package manager outside of any environment: it may change packages that sb shares."""
    if any(place.asks for place in judge.paths.guarded.places):
        return Finding(DESTROY, f"{base}: may change packages that sb uses")
    return QUIET
