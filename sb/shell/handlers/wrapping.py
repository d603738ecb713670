"""Judge programs that run another one: `sudo`, `env`, `xargs`, `find -exec`, `docker run`."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from sb.shell.destinations.changing import change
from sb.shell.handlers.interpreters import shell, written_input
from sb.shell.parsing.inputs import NOT_KNOWN, Input
from sb.shell.parsing.nodes import Unparsed
from sb.shell.parsing.words import OPERAND, UNKNOWN, compiled, display, is_literal
from sb.shell.programs.facts import WRAPPERS, XARGS_VALUED, having
from sb.shell.programs.rules import (
    DESTROY,
    NETWORK,
    QUIET,
    READ,
    WRITE,
    Finding,
    argument_files,
    highest,
    operands,
    rule_finding,
    subcommand,
)

if TYPE_CHECKING:
    from sb.shell.judge import Judge

_FLOORS = {
    "R": "runs another program",
    "W": "writes a file and runs another program",
    "N": "runs a program that may be downloaded or remote",
    "D": "runs a program with other privileges",
}
_RUN_BY_A_SHELL = frozenset(("ssh", "watch", "su", "parallel", "git submodule foreach", "bws run"))
_GIVE_SECRETS = having("gives_secrets")
_RUNS_EACH = ("hyperfine",)  # of its operands, by a shell
_LOADER = r"ld(?:64)?(?:-(?:linux|musl)[\w.-]*)?\.so(?:\.\d+)?"
_COMMAND_OPTIONS = ("-c", "--command", "--call")
_LOADS = ("--preload", "--audit")
_IN_NIX = ("-c", "--command", "--run")
_DECRYPTED = "decrypted.env"  # in place of the file that `sops exec-file` makes


def with_loader_apart(argv: Sequence[str]) -> Sequence[str]:
    """`/lib64/ld-linux-x86-64.so.2 …` as `ld.so …`, by which a file runs as by its own name; others as they are."""
    return ("ld.so", *argv[1:]) if compiled(_LOADER).fullmatch(argv[0].rpartition("/")[2]) else argv


def wrapped(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge a program that runs another one; without a command as the table says."""
    key, rest = subcommand(name, arguments, WRAPPERS)
    if key not in WRAPPERS:
        return rule_finding(name, arguments) or Finding(NETWORK, f"{name}: runs an unknown program")
    with judge.given_variables(key) if key in _GIVE_SECRETS else contextlib.nullcontext():
        return _wrapped(judge, key, (name, arguments, rest), stdin)


def _wrapped(judge: Judge, key: str, words: tuple[str, list[str], Sequence[str]], stdin: Input) -> Finding:
    name, arguments, rest = words
    letter, before, valued, flags = WRAPPERS[key]
    floor = Finding("RWND".index(letter), f"{key}: {_FLOORS[letter]}")
    if name == "command" and arguments[:1] in (["-v"], ["-V"]):
        return QUIET
    doubtful, commands, at = _options(rest, valued, flags)
    gives = key in _GIVE_SECRETS
    if gives and "--" in rest:  # `chamber` takes several stores before it
        at, before = rest.index("--") + 1, 0
    # The words of the other program are no words of this one, such as `rm` in `op run -- rm`, or what xargs adds to `npx eslint`.
    last = at + before + (0 if gives else 1)
    is_known = gives or (not doubtful and all(map(is_literal, rest[:last])))
    own = (
        rule_finding(name, arguments[: len(arguments) - len(rest) + last] if is_known else arguments) or floor
    )
    found = highest(floor, own if own.rank == DESTROY else floor)
    for text in commands:
        found = highest(found, judge.line(text, stdin))
    if key == "sops exec-file":
        rest = [word.replace("{}", _DECRYPTED) for word in rest]
    if "-m" in rest[:at] and name in ("uv", "uvx", "python"):
        return highest(found, judge.command(["python", *rest[rest.index("-m") :]], stdin))
    command = _behind(rest[at:], before)
    if key == "parallel" and (not command or command[0] == "::::"):  # it runs the lines that it reads
        files = argument_files(rest, valued)
        return highest(found, shell(judge, name, [], Input("file", path=files[0]) if files else stdin))
    if key == "ssh" and not command and stdin.kind == "text":
        return highest(found, judge.line(stdin.text))
    if not command:
        return found if found.rank else Finding(READ, f"{key}: only reads")
    if key == "parallel" and ":::" not in command:
        command.append(UNKNOWN)  # what it reads
    if key in _RUNS_EACH:
        return highest(found, *(judge.line(text, stdin) for text in command))
    if key == "ld.so" and (loaded := [value for option, value in pairwise(arguments) if option in _LOADS]):
        found = highest(found, *(judge.assign("LD_PRELOAD", value) for value in loaded))
    if command[0] in _COMMAND_OPTIONS and len(command) > 1:
        return highest(found, judge.line(command[1], stdin))
    return highest(
        found,
        _run(judge, key, command, stdin),
        *([_run(judge, key, command[1:], stdin)] if doubtful and command[1:] else []),
    )


def _options(arguments: Sequence[str], valued: str, flags: str = "") -> tuple[bool, list[str], int]:
    """True if an option may take a value, the commands in options, and where the options end."""
    known = valued.split()
    doubtful = False
    commands: list[str] = []
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word == "--":
            return doubtful, commands, at + 1
        if word[:1] != "-" or word == "-":
            break
        option, assigned, value = word.partition("=")
        if word in known:
            if word in _COMMAND_OPTIONS and at + 1 < len(arguments):
                commands.append(arguments[at + 1])
            at += 1
        elif not assigned and word not in flags.split():
            doubtful = True
        elif option in known and option in _COMMAND_OPTIONS:
            commands.append(value)
        at += 1
    return doubtful, commands, at


def _behind(arguments: Sequence[str], before: int) -> list[str]:
    rest = list(arguments[before:])
    return rest[1:] if rest[:1] == ["--"] else rest


def _run(judge: Judge, key: str, command: list[str], stdin: Input) -> Finding:
    if key in _RUN_BY_A_SHELL or " " in command[0]:
        return judge.line(" ".join(command), stdin)
    return judge.command(command, stdin)


def nix(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `nix` and `nix-shell`: also what they run in the environment that they make."""
    found = rule_finding(name, arguments) or Finding(NETWORK, f"{name}: runs an unknown program")
    begins = [at for at, word in enumerate(arguments) if word in _IN_NIX]
    command = arguments[begins[0] + 1 :] if begins else []
    if not command:
        return found
    # One text for a shell, or the words of a command.
    inside = judge.line(command[0], stdin) if name == "nix-shell" else judge.command(command, stdin)
    return highest(found, inside)


def env(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `env`: assignments, then a command."""
    found = QUIET
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word in ("-u", "--unset", "-C", "--chdir", "-P"):
            at += 1
        elif word.startswith(("-S", "--split-string")) or (
            word[:1] == "-" and word[1:2] != "-" and "S" in word
        ):
            text = word.partition("=")[2] if word.startswith("--") else word.partition("S")[2]
            return highest(found, judge.line(" ".join([text, *arguments[at + 1 :]]), stdin))
        elif word == UNKNOWN and arguments[at + 1 :]:
            with judge.given_variables() as given:  # $(cat .env)
                floor = Finding(NETWORK, f"{name}: runs a program with what a file says")
                rest = arguments[at + given :]
                return highest(found, floor if given else QUIET, judge.command(rest, stdin))
        elif word[:1] != "-" and "=" not in word:
            return highest(found, judge.command(arguments[at:], stdin))
        elif word[:1] != "-":
            variable, _, value = word.partition("=")
            if not variable.isidentifier():
                return Finding(
                    DESTROY, f"env {display(variable)}: a function from the environment is not inspected"
                )
            found = highest(found, judge.assign(variable, value))
        at += 1
    return found


def exec_(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `exec`: it replaces the shell, or redirects its files."""
    at = 0
    while at < len(arguments) and arguments[at][:1] == "-":
        at += 2 if "a" in arguments[at] else 1
    return judge.command(arguments[at:], stdin) if arguments[at:] else QUIET


_MOST_GIVEN = 64  # words of a text that are handed on
_MOST_TEXTS = 2000  # and that are looked at


def xargs(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `xargs`: a command with arguments from its input."""
    replaced = ""
    at = 0
    while at < len(arguments) and arguments[at][:1] == "-" and arguments[at] != "-":
        word = arguments[at]
        if word == "--":
            at += 1
            break
        if word.startswith("-I"):
            replaced = word[2:] or "".join(arguments[at + 1 : at + 2])
        elif word.startswith(("-i", "--replace")):
            replaced = word[2:] if word.startswith("-i") and word[2:] else word.partition("=")[2] or "{}"
        if word in XARGS_VALUED.split() and "=" not in word and word != "--replace":
            at += 1
        at += 1
    command = arguments[at:]
    if not command:
        return QUIET
    for file in filter(is_literal, argument_files(arguments, XARGS_VALUED)):
        stdin = Input("file", path=file)
    stdin = written_input(judge, stdin)
    texts = list(dict.fromkeys(stdin.text.split())) if stdin.kind == "text" else []
    if len(texts) > _MOST_TEXTS:
        raise Unparsed("too many words to check")
    for text in texts:
        judge.look(text)
    given = texts if stdin.kind == "text" else judge.names_in(stdin.path) if stdin.path else []
    if any(mark in stdin.text for mark in "'\"\\") or len(given) > _MOST_GIVEN:
        given = []
    known = [[word.replace(replaced, item) for word in command] for item in given] if replaced else []
    known += [[*command, *given]] if given and not replaced else []
    read = OPERAND if stdin.names else UNKNOWN
    command = [word.replace(replaced, read) for word in command] if replaced else [*command, read]
    found = judge.command(command, NOT_KNOWN)
    found = highest(found, *(judge.command(words, NOT_KNOWN) for words in known))
    if stdin.kind == "text" and found.rank in (WRITE, DESTROY):
        found = highest(found, *(change(judge, text, whole=True) for text in texts))
    return found


_FIND_PATTERNS = ("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename")


def find(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `find` and `fd` by what they do with the files they find."""
    found = Finding(READ, f"{name}: only reads")
    at = 0
    while at < len(arguments):
        word = arguments[at]
        at += 1
        if word in ("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"):
            end = next((i for i in range(at, len(arguments)) if arguments[i] in (";", "+")), len(arguments))
            command = [argument.replace("{}", OPERAND) for argument in arguments[at:end]]
            if name != "find" and OPERAND not in command:
                command.append(OPERAND)
            at = end
            if command[:1] == [OPERAND]:
                found = highest(found, Finding(NETWORK, f"{name} {word}: runs the files it finds"))
            elif command:
                position = judge.paths.position
                judge.paths.lost = judge.paths.lost or word.endswith(
                    "dir"
                )  # it runs in the folders of what is found
                found = highest(found, judge.command(command, stdin))
                judge.paths.position = position
        elif word == "-delete" and name == "find":
            found = highest(found, Finding(DESTROY, "find -delete: deletes the files it finds"))
        elif word in _FIND_PATTERNS and at < len(arguments):
            if own := judge.paths.mentions(f'"{display(arguments[at])}"'):
                judge.refuse(
                    f"{name} {word}: {own} belongs to SecondBrain; agents must not read or change it"
                )
        elif word in ("-fprint", "-fprint0", "-fprintf", "-fls") and at < len(arguments):
            found = highest(found, judge.write(arguments[at], word))
        elif word.startswith(UNKNOWN):
            found = highest(
                found,
                Finding(WRITE, f"{name} {display(word)}: what it does with the files it finds is unknown"),
            )
    return found


def trap(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `trap`: a command that runs later."""
    positions = operands(arguments)
    if len(positions) < 2 or arguments[positions[0]] in ("-", ""):
        return QUIET
    judge.repeats = True  # it runs when the rest has run
    return judge.line(arguments[positions[0]])


def alias(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `alias`: it redefines a name from the next line on."""
    found = QUIET
    for word in arguments:
        called, equals, value = word.partition("=")
        if equals:
            judge.aliases.add(called)
            found = highest(
                found,
                judge.line(value),
                Finding(NETWORK, f"alias {display(called)}: redefines a name"),
            )
    return found


def kill(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `kill`: processes by their ids, or all of them."""
    if arguments[:1] in (["-l"], ["-L"], ["--list"]):
        return QUIET
    rest = arguments
    if arguments[:1] == ["-0"]:
        return Finding(READ, "kill -0: checks for a process")
    if rest and rest[0] in ("-s", "-n", "--signal"):
        rest = rest[2:]
    elif rest and rest[0][:1] == "-" and len(rest) > 1:
        rest = rest[1:]
    for word in rest:
        if word == "0" or (word[:1] == "-" and word != "--") or word.startswith(UNKNOWN):
            return Finding(DESTROY, f"kill {display(word)}: ends processes without naming each")
    return Finding(WRITE, "kill: ends a process")


# Servers and watchers that a project's own commands start, hold no data, and can be started again.
_OF_A_PROJECT = (
    r"(?:(?:npm (?:run )?|pnpm |yarn |bun )(?:run )?(?:dev|start|serve|watch|test)|(?:npx |pnpm |yarn |python3? -m |node_modules/\.bin/)*"
    r"(?:vite|webpack(?:-dev-server)?|rollup|esbuild|parcel|next-server|next (?:dev|start)|nuxt|astro|gatsby|storybook|nodemon|"
    r"ts-node-dev|tsx watch|live-server|http-server|http\.server|vitest|jest|pytest|playwright|cypress|chromedriver|geckodriver|uvicorn|"
    r"gunicorn|hypercorn|flask run|mkdocs serve|jekyll serve|hugo server|tsc (?:-w|--watch)|browser-sync|json-server|wrangler dev|"
    r"manage\.py runserver))(?:[ :./-][\w :./=-]*)?"
)
_FLAGS_OF_PKILL = (
    r"-(?:[fxnoei]+|SIG(?:TERM|INT|HUP|KILL)|TERM|INT|HUP|KILL|9|15|2|1)|--(?:full|exact|newest|oldest|echo)"
)


def pkill(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `pkill` and `killall`: a project's servers by their names, or whatever else has such a name."""
    named = [word for word in arguments if not compiled(_FLAGS_OF_PKILL).fullmatch(word)]
    if named and all(map(compiled(_OF_A_PROJECT).fullmatch, named)):
        return Finding(WRITE, f"{name} {display(named[0], 30)}: ends servers that can be started again")
    return rule_finding(name, arguments) or QUIET
