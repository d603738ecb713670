"""The output of a command in `$(…)`, as far as it is known without running it."""

from __future__ import annotations

from collections.abc import Sequence

from sb.shell.parsing.computed import alternatives
from sb.shell.parsing.nodes import Script, Simple, Word
from sb.shell.parsing.words import MADE, OPERAND, UNKNOWN, compiled, is_literal
from sb.shell.programs.facts import having

_TELLS_A_NAME = having("tells_a_name")
# What people put into the files of their shell, and repeat where these are not read.
_SETS_UP = (
    ["ssh-agent"],
    ["direnv", "hook"],
    ["direnv", "export"],
    ["pyenv", "init"],
    ["pyenv", "virtualenv-init"],
    ["rbenv", "init"],
    ["nodenv", "init"],
    ["conda", "shell.bash"],
    ["brew", "shellenv"],
    ["fnm", "env"],
    ["mise", "activate"],
    ["opam", "env"],
)


def output(script: Script) -> str:
    """The text that a command substitution becomes, mostly unknown."""
    command = _only(script)
    if found := alternatives(script):
        return found
    if command is None:
        return UNKNOWN
    words = [word.text for word in command.words]
    if words == ["cat"] and len(command.redirects) == 1:
        redirect = command.redirects[0]
        return redirect.body.text if redirect.operator.startswith("<<") and redirect.body else UNKNOWN
    if _makes(words):
        return MADE
    return OPERAND if tells_names(words) else UNKNOWN


def tells_names(words: Sequence[str]) -> bool:
    """True if each word that a command prints is surely no option."""
    first = " ".join(
        words[:3] if words[:2] == ["git", "branch"] else words[:2] if words[:1] == ["git"] else words[:1]
    )
    return first in _TELLS_A_NAME or (first == "lsof" and _uses_a_port(words[1:]))


def _uses_a_port(arguments: Sequence[str]) -> bool:
    """True if `lsof` prints the numbers of the processes that use one port; without a port it would be all of them."""
    text = " ".join(word for word in arguments if word != "-sTCP:LISTEN")
    options = compiled(r"(?:-[tinP]+ )*-[tinP]*i ?(?:tcp|udp)?:\d+(?: -[tnP]+)*").fullmatch(text)
    return options is not None and compiled(r"-[a-zA-Z]*t").search(text) is not None


def is_made(word: Word) -> bool:
    """True if a word is a new, empty file or folder, made by `mktemp` in the very same place."""
    return _makes(substituted(word))


def _makes(words: Sequence[str]) -> bool:
    unmade = any(compiled("-[a-z]*u.*|--dry.*").fullmatch(word) for word in words)
    return words[:1] == ["mktemp"] and not unmade


def program_of(word: Word) -> str:
    """The program that a word looks up: `python` for `$(which python)`; "" for none."""
    words = substituted(word)
    asked = words[1:] if words[:1] == ["which"] else words[2:] if words[:2] == ["command", "-v"] else []
    return asked[0] if len(asked) == 1 and asked[0][:1] != "-" else ""


def sets_up(word: Word) -> bool:
    """True if a word is what a known program prints to set up a shell."""
    words = substituted(word)
    rests = (words[len(begin) :] for begin in _SETS_UP if words[: len(begin)] == begin)
    return any(all(part[:1] == "-" or part in ("bash", "hook") for part in rest) for rest in rests)


def file_of(word: Word) -> str:
    """The file whose content a word is: `app.pid` for `$(cat app.pid)` and `$(< app.pid)`; "" for none."""
    words = substituted(word)
    if len(words) == 2 and words[0] == "cat":
        return words[1]
    command = _only(word.scripts[0]) if len(word.scripts) == 1 else None
    if command is None or command.words or command.assigned or word.text not in (UNKNOWN, OPERAND):
        return ""
    targets = [redirect.target.text for redirect in command.redirects if redirect.operator == "<"]
    return targets[0] if len(targets) == len(command.redirects) == 1 and is_literal(targets[0]) else ""


def substituted(word: Word) -> list[str]:
    """The command whose output a whole word is, as words; none if it is anything else."""
    command = _only(word.scripts[0]) if len(word.scripts) == 1 else None
    if command is None or command.assigned or word.text not in (UNKNOWN, OPERAND, MADE):
        return []
    if not word.raw.startswith(("$(", '"$(', "`", '"`')):
        return []
    words = [part.text for part in command.words]
    return words if all(is_literal(part) for part in words) else []


def _only(script: Script) -> Simple | None:
    return script[0] if len(script) == 1 and isinstance(script[0], Simple) else None
