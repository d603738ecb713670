"""Find the rule of the table that fits a program with its arguments."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from itertools import pairwise
from typing import NamedTuple

from sb.shell.parsing.reading import RUN_BY_ARITHMETIC
from sb.shell.parsing.words import UNKNOWN, compiled, display, is_literal
from sb.shell.programs.facts import having, lists
from sb.shell.programs.ruleset import Table, active

READ, WRITE, NETWORK, DESTROY = range(4)
_DEEPEST = 4  # words of a subcommand
# Options without a value that may stand before one that only prints what would be done.
_DRY_FLAGS = frozenset(
    "--delete --force --tags --all --mirror --prune --force-with-lease --verbose --progress --stats".split()
)


class Finding(NamedTuple):
    """The class of a part of a command line, and why."""

    rank: int
    reason: str


QUIET = Finding(READ, "only reads")


def highest(*findings: Finding) -> Finding:
    """The finding of the highest class; of equals the first."""
    worst = findings[0] if findings else QUIET
    for finding in findings:
        if finding.rank > worst.rank:
            worst = finding
    return worst


def operands(arguments: Sequence[str], valued: str = "") -> list[int]:
    """The positions of the arguments that are no options.

    Args:
        valued: the options whose value is the next argument.
    """
    positions: list[int] = []
    options = valued.split()
    takes_value = False
    for at, argument in enumerate(arguments):
        if takes_value:
            takes_value = False
        elif argument == "--":
            return [*positions, *range(at + 1, len(arguments))]
        elif argument[:1] == "-" and argument != "-":
            takes_value = argument in options
        else:
            positions.append(at)
    return positions


def argument_files(arguments: Sequence[str], valued: str) -> list[str]:
    """The files whose lines `xargs` or `parallel` takes as arguments.

    Args:
        valued: the options whose value is the next argument.
    """
    commands = operands(arguments, valued)
    own = arguments[: commands[0]] if commands else arguments
    files = [word.removeprefix("--arg-file=") for word in own if word.startswith("--arg-file=")]
    files += [word[2:] for word in own if word.startswith("-a") and len(word) > len("-a")]
    pairs = list(pairwise(own)) + [pair for pair in pairwise(arguments) if pair[0] == "::::"]
    return files + [word for before, word in pairs if before in ("-a", "--arg-file", "::::")]


def options_before(program: str) -> str:
    """The options of a program, before its subcommand, that take a value."""
    return active().table.options.get(program, "")


def subcommand(program: str, arguments: Sequence[str], keys: Container[str]) -> tuple[str, Sequence[str]]:
    """The longest name under which a program and its first operands are known, and the arguments behind it."""
    return _subcommand(program, arguments, keys, operands(arguments, options_before(program)))


def _subcommand(
    program: str, arguments: Sequence[str], keys: Container[str], positions: Sequence[int]
) -> tuple[str, Sequence[str]]:
    positions = positions[:_DEEPEST]
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
    return _of_table(active().table, program, arguments)


def floor_finding(program: str, arguments: Sequence[str]) -> Finding:
    """The class that packs of one's own give a program at least, whatever handles it."""
    findings = (_of_table(table, program, arguments) for table in active().floors)
    return highest(*filter(None, findings))


def _of_table(table: Table, program: str, arguments: Sequence[str]) -> Finding | None:
    positions = operands(arguments, table.options.get(program, ""))
    finding = _at(table, program, arguments, positions)
    # An option that is not known may have the first operand as its value.
    if (
        finding
        and finding.rank < DESTROY
        and len(positions) > 1
        and _is_doubtful(table, program, arguments[: positions[0]])
    ):
        finding = highest(finding, _at(table, program, arguments, positions[1:]) or finding)
    return finding


def _is_doubtful(table: Table, program: str, before: Sequence[str]) -> bool:
    known = table.options.get(program, "").split()
    return bool(before) and before[-1][:1] == "-" and "=" not in before[-1] and before[-1] not in known


def _at(table: Table, program: str, arguments: Sequence[str], positions: Sequence[int]) -> Finding | None:
    """The finding for a program whose operands stand at these positions."""
    key, rest = program, arguments
    if program.partition(" ")[0] in table.with_subcommands:
        key, rest = _subcommand(program, arguments, table.rules, positions)
    rule = table.rules.get(key)
    if rule is None:
        return None
    first = arguments[positions[0]] if positions else ""
    if not is_literal(first) and program in table.with_subcommands:
        return Finding(DESTROY, f"{program} {display(first, 20)}: what it does is unknown until it runs")
    if key in table.previews and _only_says(table.previews[key], rest):
        return Finding(NETWORK, f"{key}: only prints what it would do")
    if "--help" in arguments or "--version" in arguments[:1]:
        if program in having("runs_for_help"):
            return Finding(NETWORK, f"{program}: runs code of the project, also to print its help")
        return Finding(READ, f"{program}: prints its help")
    if key in table.verbs:
        reason, verbs = table.verbs[key]
        named = [rest[at] for at in operands(rest, table.options.get(program, ""))]
        if hit := next((word for word in named if _has_verb(word, verbs.split())), ""):
            return Finding(DESTROY, f"{key} {display(hit, 30)}: {reason}")
    return _applied(key, rule, rest)


def _only_says(preview: str, arguments: Sequence[str]) -> bool:
    """True if the arguments have an option that makes a command print only, and that is surely no option's value.

    Args:
        preview: these options, then `/` and the letters of others that take no value.
    """
    if not all(map(is_literal, arguments)):
        return False
    options, _, letters = preview.partition("/")
    named = options.split()
    short = "".join(option[1] for option in named if len(option) == 2) + ("n" if letters else "")
    plain = compiled(f"-[{letters}{short}]+") if letters or short else compiled("(?!)")
    before = ""
    for argument in arguments:
        dry = argument in named or (plain.fullmatch(argument) and set(short) & set(argument))
        if dry and (before[:1] != "-" or before in _DRY_FLAGS or "=" in before or plain.fullmatch(before)):
            return True
        if argument == "--":
            return False
        before = argument
    return False


def _has_verb(word: str, verbs: Sequence[str]) -> bool:
    return word.rpartition(":")[2].partition("-")[0] in verbs or word in verbs


def _applied(key: str, rule: str, arguments: Sequence[str]) -> Finding:
    base, *rows = rule.split(" | ")
    finding = Finding("RWND".index(base[0]), f"{key}: {base[2:]}")
    for row in rows:
        what, _, reason = row.rpartition(": ")
        letters, *triggers = what.split()
        rank = "RWND".index(letters[0])
        if letters.endswith("!"):
            if arguments and any(_is_first(trigger, arguments[0]) for trigger in triggers):
                finding = Finding(rank, f"{key} {arguments[0]}: {reason}")
        elif rank > finding.rank:
            trigger = _trigger(triggers, arguments)
            if trigger is not None:
                name = f"{key} {trigger}".strip()
                finding = Finding(rank, f"{name}: {reason}")
    return finding


def _is_first(trigger: str, argument: str) -> bool:
    """True if an argument that lowers a class stands first, where it is nothing else's value."""
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
                    return f"{display(argument, 20)} (which may be {trigger.lstrip('^=~')})"
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
    if kind == "~":
        return argument[:1] != "-" and _has_verb(argument, [trigger[1:]])
    if kind == "^":
        bare = trigger == "^" and argument[:1] != "-"
        texts = (argument, argument.partition("=")[2]) if argument.startswith("--") else (argument,)
        return bare or (trigger != "^" and any(text.startswith((trigger[1:], UNKNOWN)) for text in texts))
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
    commands: list[str] = []
    for at, word in enumerate(arguments):
        for option in lists("runs_options").get(program, ()):
            cluster = len(option) == 2 and compiled(f"-[A-Za-z]+{option[1]}").fullmatch(word)
            if word == option or cluster:
                commands += arguments[at + 1 : at + 2]
            elif word.startswith(option) and (option[1] == "-" or len(option) > 2) and "=" in word:
                commands.append(word.rpartition("=")[2])
            elif len(option) == 2 and word.startswith(option):
                commands.append(word[2:])
    if program == "ssh":
        commands += [word.partition("Command=")[2] for word in arguments if "Command=" in word]
    words = [word for word in arguments if word[:1] != "-"]
    if program in ("npm", "pnpm", "yarn") and words[:2] == ["pkg", "set"]:
        written = (text for word in words if word.startswith("scripts") for text in _scripts(word))
        # What it deletes of the project by name is what projects' own scripts do every day; it is only written here.
        commands += [text for text in written if not compiled(_CLEANS).fullmatch(text.strip())]
    elif program == "npm" and words[:1] == ["set-script"]:
        commands += words[2:3]
    return [text for text in commands if text]


_NAME = r"(?!\.\.?(?:/|\s|$)|\.(?:git|env)\b)[\w@.][\w@.*-]*"
_DELETION = rf"(?:(?:npx |shx )?(?:rm -[rf]+|rimraf|del-cli)(?:\s+(?:--glob|(?:{_NAME}|\*\.[\w.-]+)(?:/(?:\*|{_NAME}|\*[\w.-]+))*(?<!/\*)/?(?!\S)))+)"
_CLEANS = rf"{_DELETION}(?:\s*(?:&&|;)\s*{_DELETION})*"


def _scripts(setting: str) -> list[str]:
    """The commands that `npm pkg set` writes: `scripts.test=x`, or all of them as JSON."""
    value = setting.partition("=")[2]
    try:
        given = json.loads(value) if value[:1] == "{" else value
    except (ValueError, RecursionError):
        given = value
    return [text for text in given.values() if isinstance(text, str)] if isinstance(given, dict) else [value]


_FOLLOWING = ("-H", "-L", "-P")  # options of find before the folders


def affected_folders(base: str, arguments: list[str], found: Finding) -> list[str]:
    """The folders whose whole content is removed, changed, copied or linked."""
    if base == "mv" and not any(compiled("--t.*|-[a-zA-Z]*t.*").fullmatch(word) for word in arguments):
        return [arguments[at] for at in operands(arguments, "-S --suffix")[:-1]]
    if base == "find":  # where it looks; what it runs is judged by itself
        looks = (at for at, word in enumerate(arguments) if word[:1] in "-(!" and word not in _FOLLOWING)
        arguments = arguments[: next(looks, None)]
    if base in having("takes_whole_folders") and (
        found.rank == DESTROY or base in ("mv", "chmod", "chown", "chgrp")
    ):
        return arguments
    if base in having("copies_to_last"):
        whole = base in ("ln", "rsync") or any(
            word[:1] == "-" and set("rRa") & set(word) for word in arguments
        )
        return [arguments[at] for at in operands(arguments)[:-1]] if whole else []
    if base == "rclone":
        return [arguments[at] for at in operands(arguments)[:-1]]
    if base in having("packs") and not any(
        compiled("-?[a-zA-Z]*x[a-zA-Z]*|--(?:ext|get).*").fullmatch(w) for w in arguments
    ):
        return [arguments[at] for at in operands(arguments, "-C --directory -f")]
    return []
