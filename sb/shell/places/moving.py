"""Where a line goes: commands that leave its shell in another folder, known or not."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sb.base.repository import project_folder
from sb.shell.parsing.inputs import Input
from sb.shell.parsing.nodes import Word
from sb.shell.parsing.outputs import substituted
from sb.shell.parsing.words import compiled, display, is_literal
from sb.shell.programs.rules import DESTROY, QUIET, READ, Finding, operands

if TYPE_CHECKING:
    from sb.shell.judge import Judge

_MOST_READ = 1 << 16  # bytes of a file that is sourced
_GOES = (
    r"(?m)(?:^|[\s;&|({`\\])(?:cd|pushd|popd|chdir|source|\.)[ \t]|^\s*(?:export\s+)?(?:HOME|CDPATH|OLDPWD)="
)
# Files that set up a shell: those that name `cd` at all do so in functions.
_SETS_UP = (
    r"(?:.*/)?(?:activate|nvm\.sh|asdf\.sh|conda\.sh|sdkman-init\.sh|\.envrc|\.env(?:\.[\w-]+)?|\.(?:bash|zsh)rc"
    r"|\.(?:bash_|z)?profile|\.cargo/env)"
)
_OWN_FOLDER = r'"?\$\(dirname (?:-- )?"?\$(?:0|\{0\}|\{?BASH_SOURCE(?:\[0\])?\}?)"?\)"?'


def cd(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `cd` and similar builtins, which move relative paths."""
    positions, paths = operands(arguments), judge.paths
    word = arguments[positions[-1]] if positions else "~"
    paths.enter(word)
    if name == "popd":
        word = paths.stack.pop() if paths.stack and not arguments else "-"
    elif name == "pushd":
        word = word if positions else "-"
        paths.stack.append(paths.here or "-")
    elif word == "-" and len(judge.values["OLDPWD"]) == 1:
        word = paths.previous or "-"
    moved_home = word.startswith("~") and len(judge.values["HOME"]) > 1
    by_path = "CDPATH" in judge.values and not word.startswith(("/", ".", "~"))
    judge.go("-" if moved_home or by_path else word)
    return Finding(READ, f"{name}: changes the working folder")


def known_folder(word: Word, here: str) -> str:
    """The folder that a word of `cd` names, where a known command computes it; "" for any other."""
    if substituted(word) == ["git", "rev-parse", "--show-toplevel"]:
        return project_folder(Path(here)) if here else ""
    return "." if compiled(_OWN_FOLDER).fullmatch(word.raw) else ""


def keeps_folder(judge: Judge, words: Sequence[str]) -> bool:
    """True if a file of commands, as it is now, leaves the shell that sources it where it is."""
    if not all(map(is_literal, words)):
        return False
    if any(map(compiled(_SETS_UP).fullmatch, words)):
        return True
    places = [place for word in words for place in judge.paths.now(word)]
    return bool(places) and all(judge.stays(place) and _stays_by_text(place) for place in places)


def _stays_by_text(place: str) -> bool:
    try:
        if not os.path.isfile(place):
            return False
        with open(place, "rb") as opened:
            text = opened.read(_MOST_READ + 1)
    except (OSError, ValueError):
        return False
    return len(text) <= _MOST_READ and compiled(_GOES).search(text.decode(errors="replace")) is None


def lost_target(judge: Judge, target: str, by: str) -> Finding:
    """Judge the loss of a file whose folder is unknown until the line runs."""
    relative = not target.startswith(("/", "~"))
    moved_home = target[:1] == "~" and len(judge.values["HOME"]) > 1
    unknown = moved_home or (relative and judge.paths.lost and not judge.paths.here)
    if not unknown or judge.comes_back(("cd", target)):
        return QUIET
    return Finding(DESTROY, f"{by} {display(target, 40)}: in which folder is unknown until it runs")
