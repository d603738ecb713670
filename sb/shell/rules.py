"""Find the rule of the table that fits a program with its arguments."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from sb.shell.arguments import (
    CLOUDS,
    CLUSTER_DRY_RUN,
    COPIES_TO_LAST,
    DESTROYING,
    DRY_FLAGS,
    DRY_RUN,
    RUN_OPTIONS,
    VALUED,
    WHOLE_FOLDERS,
)
from sb.shell.programs import RULES
from sb.shell.reading import RUN_BY_ARITHMETIC
from sb.shell.words import UNKNOWN, compiled, display, is_literal

READ, WRITE, NETWORK, DESTROY = range(4)


class Finding(NamedTuple):
    """The class of a part of a command line, and why."""

    rank: int
    reason: str


QUIET = Finding(READ, "only reads")


def highest(*findings: Finding) -> Finding:
    """The finding of the highest class; of equals the first."""
    return max(findings, key=lambda finding: finding.rank, default=QUIET)


def operands(arguments: Sequence[str], valued: str = "") -> list[int]:
    """The positions of the arguments that are no options.

    Args:
        valued: the options whose value is the next argument.
    """
    found: list[int] = []
    takes_value = False
    for at, argument in enumerate(arguments):
        if takes_value:
            takes_value = False
        elif argument == "--":
            return [*found, *range(at + 1, len(arguments))]
        elif argument[:1] == "-" and argument != "-":
            takes_value = argument in valued.split()
        else:
            found.append(at)
    return found


def subcommand(
    program: str, arguments: Sequence[str], keys: Container[str] = RULES
) -> tuple[str, Sequence[str]]:
    """The longest name under which a program and its first operands are known, and the arguments behind it."""
    positions = operands(arguments, VALUED.get(program, ""))[:3]
    if program == "cargo":
        positions = [at for at in positions if not arguments[at].startswith("+")]  # a toolchain
    for count in range(len(positions), 0, -1):
        key = " ".join([program, *(arguments[at] for at in positions[:count])])
        if key in keys:
            rest = [a for at, a in enumerate(arguments) if at not in positions[:count]]
            return key, rest
    if arguments and f"{program} {arguments[0]}" in keys:
        return f"{program} {arguments[0]}", arguments[1:]
    return program, arguments


def rule_finding(program: str, arguments: Sequence[str]) -> Finding | None:
    """The finding of the table for a program, or None if it is unknown."""
    key, rest = subcommand(program, arguments)
    rule = RULES.get(key)
    if rule is None:
        return None
    first = next((arguments[at] for at in operands(arguments, VALUED.get(program, ""))), "")
    if not is_literal(first) and any(name.startswith(f"{program} ") for name in RULES):
        return Finding(DESTROY, f"{program} {display(first, 20)}: what it does is unknown until it runs")
    if program in CLOUDS:
        verb = next((display(word, 30) for word in arguments if _destroys(word)), "")
        if verb:
            return Finding(DESTROY, f"{program} {verb}: deletes cloud resources")
    if "--help" in arguments or "--version" in arguments[:1]:
        return Finding(READ, f"{program}: prints its help")
    if key in DRY_RUN and _only_says(DRY_RUN[key], rest, cluster=program in ("kubectl", "oc")):
        return Finding(NETWORK, f"{key} --dry-run: only prints what it would do")
    return _applied(key, rule, rest)


def _only_says(letters: str, arguments: Sequence[str], *, cluster: bool) -> bool:
    """Whether the arguments have a dry-run option that is surely no option's value.

    Args:
        letters: other options that take no value.
        cluster: whether the option has a value.
    """
    if not all(map(is_literal, arguments)):
        return False
    plain = compiled(f"-[{letters}n]+") if letters else compiled("(?!)")
    before = ""
    for argument in arguments:
        exact = argument in CLUSTER_DRY_RUN if cluster else argument == "--dry-run"
        dry = exact or (plain.fullmatch(argument) and "n" in argument)
        if dry and (before[:1] != "-" or before in DRY_FLAGS or plain.fullmatch(before)):
            return True
        if argument == "--":
            return False
        before = argument
    return False


def _destroys(word: str) -> bool:
    return word.rpartition(":")[2].partition("-")[0] in DESTROYING


def _applied(key: str, rule: str, arguments: Sequence[str]) -> Finding:
    base, *rows = rule.split(" | ")
    found = Finding("RWND".index(base[0]), f"{key}: {base[2:]}")
    for row in rows:
        what, _, reason = row.rpartition(": ")
        letters, *triggers = what.split()
        rank = "RWND".index(letters[0])
        if letters.endswith("!"):
            if arguments and any(_is_first(trigger, arguments[0]) for trigger in triggers):
                found = Finding(rank, f"{key} {arguments[0]}: {reason}")
        elif rank > found.rank:
            trigger = _trigger(triggers, arguments)
            if trigger is not None:
                name = f"{key} {trigger}".strip()
                found = Finding(rank, f"{name}: {reason}")
    return found


def _is_first(trigger: str, argument: str) -> bool:
    """Whether an argument that lowers a class stands first, where it is nothing else's value."""
    if trigger.startswith("="):
        return argument == trigger[1:]
    return argument == trigger or (
        len(trigger) == 2 and argument.startswith(trigger) and argument[1:].isalpha()
    )


def _trigger(triggers: Sequence[str], arguments: Sequence[str]) -> str | None:
    """The argument that makes a row apply, for display; None if the row does not."""
    ended = False
    for trigger in triggers:
        if trigger[0] == "#" and len(operands(arguments)) >= int(trigger[1:]):
            return display(arguments[-1], 40)
    for argument in arguments:
        if argument == "--" and "=--" not in triggers:
            ended = True
        for trigger in triggers:
            if _fits(trigger, argument, ended=ended):
                if argument.startswith(UNKNOWN) and trigger != "?":
                    return f"{display(argument, 20)} (which may be {trigger.lstrip('^=')})"
                return trigger if trigger[0] == "-" else display(argument, 40)
    return None


def _fits(trigger: str, argument: str, *, ended: bool) -> bool:
    kind = trigger[0]
    if kind == "#":
        return False
    if trigger == "?":
        return not is_literal(argument)
    if kind == "=":
        return argument == trigger[1:]
    if kind == "^":
        bare = trigger == "^" and argument[:1] != "-"
        return bare or (trigger != "^" and argument.startswith((trigger[1:], UNKNOWN)))
    if ended:
        return False
    if argument.startswith(UNKNOWN):
        return True
    if argument[:1] != "-" or argument == "-":
        return False
    name = argument.partition("=")[0]
    if trigger.startswith("--"):
        return len(name) > 2 and trigger.startswith(name) and name.startswith("--")
    if len(trigger) > 2:
        return name == trigger
    return argument[1] != "-" and trigger[1] in name[1:]


def subscripts(name: str, words: Sequence[str]) -> Finding:
    """Judge the commands that bash runs in the brackets of a calculated text."""
    if any(compiled(RUN_BY_ARITHMETIC).search(word) for word in words) or (
        name == "compgen" and any("$(" in word or "`" in word for word in words)
    ):
        return Finding(DESTROY, f"{display(name)}: may run a quoted command")
    return QUIET


def run_by_options(program: str, arguments: Sequence[str]) -> list[str]:
    """The commands that are values of a program's options."""
    found: list[str] = []
    for at, word in enumerate(arguments):
        for option in RUN_OPTIONS.get(program, "").split():
            cluster = len(option) == 2 and compiled(f"-[A-Za-z]+{option[1]}").fullmatch(word)
            if word == option or cluster:
                found += arguments[at + 1 : at + 2]
            elif word.startswith(option) and (option[1] == "-" or len(option) > 2) and "=" in word:
                found.append(word.rpartition("=")[2])
            elif len(option) == 2 and word.startswith(option):
                found.append(word[2:])
    if program == "ssh":
        found += [word.partition("Command=")[2] for word in arguments if "Command=" in word]
    return [text for text in found if text]


_FOLLOWING = ("-H", "-L", "-P")  # options of find before the folders
_PACKING = ("tar", "gtar", "bsdtar", "zip", "7z", "7za", "7zz", "pax")


def affected_folders(base: str, arguments: list[str], found: Finding) -> list[str]:
    """The folders whose whole content is removed, changed, copied or linked."""
    if base == "mv" and not any(compiled("--t.*|-[a-zA-Z]*t.*").fullmatch(word) for word in arguments):
        return [arguments[at] for at in operands(arguments, "-S --suffix")[:-1]]
    if base == "find":  # where it looks; what it runs is judged by itself
        looks = (at for at, word in enumerate(arguments) if word[:1] in "-(!" and word not in _FOLLOWING)
        arguments = arguments[: next(looks, None)]
    if base in WHOLE_FOLDERS and (found.rank == DESTROY or base in ("mv", "chmod", "chown", "chgrp")):
        return arguments
    if base in COPIES_TO_LAST:
        whole = base in ("ln", "rsync") or any(
            word[:1] == "-" and set("rRa") & set(word) for word in arguments
        )
        return [arguments[at] for at in operands(arguments)[:-1]] if whole else []
    if base == "rclone":
        return [arguments[at] for at in operands(arguments)[:-1]]
    if base in _PACKING and not any(
        compiled("-?[a-zA-Z]*x[a-zA-Z]*|--(?:ext|get).*").fullmatch(w) for w in arguments
    ):
        return [arguments[at] for at in operands(arguments, "-C --directory -f")]
    return []
