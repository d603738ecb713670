"""What does a command line do: the worst of its parts, and what it names that agents leave alone?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sb.shell.arguments import (
    COMMAND_VARIABLES,
    COPIES_TO_LAST,
    HOST_VARIABLES,
    LOADER_VARIABLES,
    RUN_OPTIONS,
    WHOLE_FOLDERS,
    WRITES,
)
from sb.shell.changing import change, changes
from sb.shell.guarded import Guarded
from sb.shell.handlers import HANDLERS
from sb.shell.nodes import Compound, Node, Pipeline, Redirect, Script, Simple, Unparsed, Word
from sb.shell.outputs import is_made, program_of, sets_up, tells_names
from sb.shell.packages import environment_changes
from sb.shell.paths import Paths
from sb.shell.reading import RUN_BY_ARITHMETIC
from sb.shell.rules import DESTROY, NETWORK, QUIET, READ, WRITE, Finding, highest, judged, operands
from sb.shell.syntax import parse
from sb.shell.words import (
    OPERAND,
    SPLIT_VARIABLE,
    UNKNOWN,
    VARIABLE,
    compiled,
    expand,
    is_literal,
    is_sure,
    shown,
)

_MOST_STEPS = 5000  # commands and words
_MOST_VALUES = 32
_TRUSTED_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin")
_DECLARE = frozenset(("declare", "typeset", "local", "export", "readonly"))
_ASSIGN = frozenset(("read", "mapfile", "readarray", "getopts", "let", "unset"))
# Builtins that calculate what stands in brackets behind a name, even in quotes.
_COUNTING = _DECLARE | _ASSIGN | {"printf", "test", "[", "wait", "compgen"}
# Commands that name a host's settings and leave them as they are.
_LEAVE_SETTINGS = (["git", "add"], ["git", "commit"], ["git", "diff"], ["git", "log"])


def _subscripts(name: str, words: Sequence[str]) -> Finding:
    """What bash runs to calculate with a text: the commands in its brackets."""
    if any(compiled(RUN_BY_ARITHMETIC).search(word) for word in words) or (
        name == "compgen" and any("$(" in word or "`" in word for word in words)
    ):
        return Finding(DESTROY, f"{shown(name)}: has a command in quotes that may be run")
    return QUIET


class Input(NamedTuple):
    """What a command reads: nothing it is given, a text, a file, or what is not known.

    Args:
        kind: "none", "text", "file" or "unknown".
        names: each of its words is surely no option.
    """

    kind: str = "none"
    text: str = ""
    names: bool = False


_NOTHING = Input()
_NOT_KNOWN = Input("unknown")


def _is_ours(word: str) -> bool:
    return word.lower().replace("_", "-").partition("=")[0] == "secondbrain-sb"


def _run_by_options(program: str, arguments: Sequence[str]) -> list[str]:
    """The commands that are values of a program's options."""
    found: list[str] = []
    for at, word in enumerate(arguments):
        for option in RUN_OPTIONS.get(program, "").split():
            if word == option:
                found += arguments[at + 1 : at + 2]
            elif word.startswith(option) and (option[1] == "-" or len(option) > 2) and "=" in word:
                found.append(word.rpartition("=")[2])
            elif len(option) == 2 and word.startswith(option):
                found.append(word[2:])
    if program == "ssh":
        found += [word.partition("Command=")[2] for word in arguments if "Command=" in word]
    return [text for text in found if text]


class Judge:
    """Goes through one command line in the order in which it is written.

    What may have happened is remembered, never forgotten: folders it may be in, values its variables may have.
    """

    def __init__(
        self,
        cwd: Path,
        home: Path,
        protected: Sequence[Path],
        env: Mapping[str, str],
        guarded: Guarded | None = None,
    ) -> None:
        self.paths = Paths(cwd, home, protected, guarded)
        self.values: dict[str, list[str]] = {
            name: [value] for name, value in env.items() if value.isprintable()
        }
        self.values |= {"HOME": [str(home)], "PWD": self.paths.folders, "OLDPWD": [UNKNOWN]}
        self.values |= {
            name: [OPERAND] for name in ("?", "#", "$", "!", "RANDOM", "SECONDS", "LINENO", "UID", "PPID")
        }
        self.functions: set[str] = set()
        self.aliases: set[str] = set()
        self.programs: list[str] = []
        self.writes: list[str] = []
        self.refused = ""
        self.nothing = _NOTHING
        self.not_known = _NOT_KNOWN
        self.repeats = False
        self._splits_elsewhere = False  # IFS was changed: where a value is split is not followed
        self._inside: list[str] = []  # of these functions
        self._made: set[str] = set()  # variables that hold what the line made with `mktemp`
        self._depth = 0
        self._steps = 0

    # --- command lines

    def line(self, text: str, stdin: Input = _NOTHING) -> Finding:
        """A command line inside of this one, such as that of `sh -c`.

        Raises:
            Unparsed: it, or one inside of it, is not understood.
        """
        if not is_literal(text):
            return Finding(DESTROY, f"{shown(text, 40)}: the commands are not known until they run")
        self._depth += 1
        found = self.script(parse(text, self._depth), stdin)
        self._depth -= 1
        return found

    def script(self, script: Script, stdin: Input = _NOTHING) -> Finding:
        """Commands one after the other."""
        return highest(*(self._node(node, stdin) for node in script))

    def _expand(self, text: str) -> list[str]:
        return expand(text, {} if self._splits_elsewhere else self.values)

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > _MOST_STEPS:
            raise Unparsed("it has more commands or words than are looked at")

    def _scripts(self, words: Sequence[Word]) -> Finding:
        return highest(*(self.script(script) for word in words for script in word.scripts))

    def _node(self, node: Node, stdin: Input) -> Finding:
        self._count(1)
        if isinstance(node, Pipeline):
            found = QUIET
            for part in node.parts:
                found = highest(found, self._node(part, stdin))
                stdin = self._printed(part)
            return found
        if isinstance(node, Compound):
            return self._compound(node, stdin)
        return self._simple(node, stdin)

    def _printed(self, node: Node) -> Input:
        """What the next command of a pipeline reads from this one."""
        if not isinstance(node, Simple) or not node.words:
            return _NOT_KNOWN
        words = [text for word in node.words for text in self._expand(word.text)]
        if not all(is_literal(word) and "\\" not in word for word in words) or len(words) > 64:
            return _NOT_KNOWN
        documents = [redirect.body for redirect in node.redirects if redirect.body]
        if words == ["cat"] and len(documents) == 1 and is_literal(documents[0].text):
            return Input("text", documents[0].text)
        if words[0] == "echo" or (words[0] == "printf" and len(words) == 2 and "%" not in words[1]):
            return Input("text", " ".join(words[1:]))
        return Input("unknown", names=tells_names(words))

    def _compound(self, node: Compound, stdin: Input) -> Finding:
        if node.kind == "function":
            self.functions.add(node.name)
            self.repeats = True
            self._inside.append(node.name)
            found = highest(*(self._node(body, stdin) for body in node.bodies))
            self._inside.pop()
            return found
        elif node.kind in ("for", "while"):
            self.repeats = True
        found = self._scripts(node.words)
        if node.kind == "[[":
            found = highest(found, _subscripts("[[", [word.text for word in node.words]))
        if node.kind == "for" and node.words:
            texts = [text for word in node.words for text in self._expand(word.text)]
            self._count(len(texts))
            for text in texts:
                self.look(text)
            if node.name:
                self._set(node.name, texts)
        for redirect in node.redirects:
            found = highest(found, self._redirect(redirect))
            stdin = self._given(redirect, stdin)
        return highest(*(self._node(body, stdin) for body in node.bodies), found)

    # --- simple commands

    def _simple(self, node: Simple, stdin: Input) -> Finding:
        found = self._scripts([word for _, word in node.assigned])
        for name, word in node.assigned:
            found = highest(found, self.assign(name, word.text, made=is_made(word)))
        if not node.words and any(name == "IFS" for name, _ in node.assigned):
            self._splits_elsewhere = True
        found = highest(found, self._scripts(node.words))
        for redirect in node.redirects:
            found = highest(found, self._redirect(redirect))
            stdin = self._given(redirect, stdin)
        if not node.words:
            return found
        self._count(len(node.words))
        if self._removes_made(node.words):
            return highest(found, Finding(WRITE, "rm: removes what the line itself has made"))
        if (
            not self._renames
            and [word.text for word in node.words[:-1]] == ["eval"]
            and sets_up(node.words[1])
        ):
            return highest(found, Finding(NETWORK, "eval: sets up the shell as a known program says"))
        asked = "" if self._renames else program_of(node.words[0])
        first = [asked] if asked else self._expand(node.words[0].text)
        rest = [text for word in node.words[1:] for text in self._expand(word.text)]
        if not first and not rest:
            return found
        choices = (
            range(len(first))
            if VARIABLE in node.words[0].text or SPLIT_VARIABLE in node.words[0].text
            else (0,)
        )
        if not first:
            choices = (0,)
        return highest(*(self.command([*first[at:], *rest], stdin) for at in choices), found)

    @property
    def _renames(self) -> bool:
        """Whether the line gives names of programs another meaning."""
        return bool(self.functions or self.aliases)

    def _removes_made(self, words: Sequence[Word]) -> bool:
        """Whether a command removes only files and folders that the line itself has made with `mktemp`."""
        moved = any(program.rpartition("/")[2] == "mv" for program in self.programs)
        if words[0].text != "rm" or moved or self._renames:  # what was moved there is not new
            return False
        named = [word for word in words[1:] if not compiled("-[rf]+").fullmatch(word.text)]
        return bool(named) and all(self._is_made(word) for word in named)

    def _is_made(self, word: Word) -> bool:
        name = word.text[1:-1]
        return word.raw == f'"${name}"' and name in self._made and self.values.get(name) == [OPERAND]

    def assign(self, name: str, text: str, *, made: bool = False) -> Finding:
        """A variable gets a value; `made`: a file or folder that the line makes."""
        values = self._expand(text) or [""]
        self._count(len(values))
        for value in values:
            self.look(value)
        self._set(name, values, made=made)
        if (found := _subscripts(f"{name}=", values)) is not QUIET:
            return found
        if name in ("SB_HOME", "SB_DB"):
            self.refuse(f"{name}=…: has programs use another home than the one that governs")
        if name in COMMAND_VARIABLES:
            return highest(*(self._as_command(name, value) for value in values))
        if name in HOST_VARIABLES:
            return Finding(DESTROY, f"{name}=: has a host go by other settings about agents")
        if name in LOADER_VARIABLES or name.startswith(("DYLD_", "LD_", "GIT_CONFIG_", "BASH_FUNC_")):
            return Finding(NETWORK, f"{name}=: changes which programs or settings are used")
        return QUIET

    def _set(self, name: str, values: Sequence[str], *, made: bool = False) -> None:
        """One of the values that a variable may have from here on; of many none is sure."""
        if made and name not in self.values:
            self._made.add(name)
        elif not made:
            self._made.discard(name)
        known = self.values.setdefault(name, [])
        if known is not self.paths.folders:
            known.extend(value for value in dict.fromkeys(values) if value not in known)
            if len(known) > _MOST_VALUES:
                known[:] = [UNKNOWN]

    def _as_command(self, name: str, value: str) -> Finding:
        if not value:
            return QUIET
        if not is_literal(value):
            return Finding(DESTROY, f"{name}=: a program runs what is not known until it runs")
        return self.line(value)

    def _given(self, redirect: Redirect, stdin: Input) -> Input:
        if redirect.body is not None:
            return Input("text", redirect.body.text) if is_literal(redirect.body.text) else _NOT_KNOWN
        if redirect.operator == "<<<":
            text = redirect.target.text
            return Input("text", text) if is_literal(text) else _NOT_KNOWN
        if redirect.operator in ("<", "<>"):
            return _NOT_KNOWN if redirect.target.scripts else Input("file")
        return stdin

    def _redirect(self, redirect: Redirect) -> Finding:
        found = self._scripts([redirect.target, *([redirect.body] if redirect.body else [])])
        if redirect.operator in ("<<", "<<-", "<<<"):
            return found
        self._count(1)
        for target in self._expand(redirect.target.text):
            self.look(target)
            if target.startswith(("/dev/tcp/", "/dev/udp/")) and redirect.operator in (">&", "&>"):
                found = highest(
                    found, Finding(DESTROY, f"{shown(target)}: gives a program away to the network")
                )
            elif target.startswith(("/dev/tcp/", "/dev/udp/")):
                found = highest(
                    found, Finding(NETWORK, f"{redirect.operator} {shown(target)}: talks to the network")
                )
            elif redirect.operator in (">&", "<&") and (
                target.isdigit() or target.rstrip("-").isdigit() or target == "-"
            ):
                continue
            elif redirect.operator not in ("<", "<&") and not redirect.target.raw.startswith((">(", "<(")):
                found = highest(found, self.write(target, redirect.operator))
        return found

    def write(self, target: str, by: str) -> Finding:
        """A path that is written."""
        if is_literal(target):
            if self.paths.places(target)[0] in ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"):
                return QUIET
            self.writes.append(self.paths.places(target)[0])
        if settings := self.paths.settings(target):
            self.refuse(f"{shown(target)}: {settings} decides about agents, and they do not change it")
        if why := self.paths.sensitive(target):
            return highest(Finding(DESTROY, f"{by} {shown(target)}: {why}"), change(self, target))
        return highest(Finding(WRITE, f"{by} {shown(target)}: writes a file"), change(self, target))

    def refuse(self, why: str) -> None:
        """The whole line is refused; the first reason stays."""
        self.refused = self.refused or why

    def look(self, word: str) -> None:
        """Refuse the line if a word names what agents leave alone."""
        if own := self.paths.protects(word):
            self.refuse(f"{shown(word)}: {own} belongs to SecondBrain: agents neither read nor change it")

    def command(self, argv: Sequence[str], stdin: Input = _NOTHING) -> Finding:
        """A program with its arguments, as expanded words."""
        self._depth += 1
        self._count(len(argv))
        if self._depth > 40:
            raise Unparsed("it is nested too deeply")
        name = argv[0]
        self.programs.append(shown(name))
        if "dotglob" in argv:
            self.paths.dotglob = True
        for at, word in enumerate(argv):
            if at and word in ("-C", "--directory", "--chdir", "--cwd") and at + 1 < len(argv):
                self.paths.enter(argv[at + 1])
            elif at and word.startswith(("--directory=", "--chdir=", "--cwd=")):
                self.paths.enter(word.partition("=")[2])
        for word in argv:
            self.look(word)
        found = self._program(name, list(argv[1:]), stdin)
        self._depth -= 1
        return highest(found, self._consequences(list(argv), found))

    def _program(self, name: str, arguments: list[str], stdin: Input) -> Finding:
        if name == "\x06":
            name = "["
        if not is_literal(name) or name.startswith("=") or (name.startswith("-") and name != "-"):
            return Finding(DESTROY, f"{shown(name)}: the program is not known until it runs")
        if not name.isascii():
            return Finding(DESTROY, f"{shown(name)}: the program's name has letters that look like others")
        folder, _, base = name.rpartition("/")
        if not folder and "/" not in name:
            if base in self.aliases:
                return Finding(DESTROY, f"{base}: an alias, whose meaning is not followed")
            if base in self._inside:
                return Finding(DESTROY, f"{base}: a function that calls itself")
            if base in self.functions:
                return Finding(READ, f"{base}: a function of this line")
        floor = QUIET
        if "/" in name and folder not in _TRUSTED_FOLDERS:
            floor = Finding(NETWORK, f"{shown(name)}: runs a program from a folder that may hold anything")
        if base != base.lower():
            floor = Finding(NETWORK, f"{base}: runs a program that is not known")
        base = base.lower()
        if base in _COUNTING:
            named = base not in ("printf", "test", "[") or "-v" in arguments
            given = [*arguments, *([stdin.text] if stdin.kind == "text" else [])] if named else []
            floor = highest(floor, _subscripts(base, given))
        if base in _DECLARE or base in _ASSIGN or base == "printf":
            floor = highest(floor, self._variables(base, arguments))
        handler = HANDLERS.get(base) or (HANDLERS["python"] if base.startswith(("python", "pypy")) else None)
        found = handler(self, base, arguments, stdin) if handler else judged(base, arguments)
        if found is None and base.startswith("mkfs"):
            found = judged("mkfs", arguments)
        floor = highest(floor, *(self.line(text) for text in _run_by_options(base, arguments)))
        floor = highest(floor, environment_changes(self, name, arguments))
        return highest(
            found or Finding(NETWORK, f"{shown(name, 40)}: runs a program that is not known"), floor
        )

    def _variables(self, builtin: str, arguments: Sequence[str]) -> Finding:
        """What a builtin assigns."""
        if builtin in _DECLARE:
            if any(word[:1] == "-" and "n" in word for word in arguments):
                return Finding(DESTROY, f"{builtin} -n: what its variable stands for is not followed")
            pairs = [word.partition("=") for word in arguments if "=" in word]
            return highest(*(self.assign(name.rstrip("+"), value) for name, _, value in pairs))
        if builtin == "printf":
            arguments = arguments[1:2] if arguments[:1] == ["-v"] else ()
        for name in arguments:
            if name not in ("PWD", "HOME"):
                self.values.setdefault(name.partition("=")[0], []).append(UNKNOWN)
        return QUIET

    def _consequences(self, argv: list[str], found: Finding) -> Finding:
        """What a command writes, and whether it reaches what agents leave alone."""
        base = argv[0].rpartition("/")[2]
        worst = QUIET
        if which := WRITES.get(base):
            for target in self._written(which, argv[1:]):
                self.look(target)
                if ":" not in target:
                    worst = highest(worst, self.write(target, base))
        if found.rank > READ and argv[:2] not in _LEAVE_SETTINGS:
            for word in argv[1:]:
                if settings := self.paths.settings(word):
                    self.refuse(f"{shown(word)}: {settings} decides about agents, and they do not change it")
        if (found.rank == WRITE or base in ("rsync", "scp", "curl", "wget")) and (
            base not in ("mkdir", "touch") and argv[:2] not in _LEAVE_SETTINGS
        ):
            for word in argv[1:]:
                if folder := self.paths.settings_below(word):
                    worst = Finding(DESTROY, f"{base} {shown(folder)}: may change what decides about agents")
        if {"uninstall", "remove", "rm"} & set(argv) and any(_is_ours(word) for word in argv):
            self.refuse(f"sb would be gone: {base} takes it away, and agents do not")
        if argv[:2] not in _LEAVE_SETTINGS:
            worst = highest(worst, changes(self, base, argv[1:], found.rank))
        for word in self._reached(base, argv[1:], found):
            if word[:1] != "-" and is_sure(word) and (own := self.paths.holds(word)):
                self.refuse(f"{shown(word)}: holds {own}, which agents leave alone")
        return worst if worst.rank == DESTROY else QUIET

    def _written(self, which: str, arguments: Sequence[str]) -> list[str]:
        """The files that a program writes, and those that files get in a folder that it writes to."""
        files = [arguments[at] for at in operands(arguments)]
        if which != "last":
            return files
        folders = files[-1:]
        for at, word in enumerate(arguments):
            if word.startswith("--t") and "=" in word:
                folders.append(word.partition("=")[2])
            elif word.startswith("--t") or (word[:1] == "-" and word[1:2] != "-" and word.endswith("t")):
                folders += arguments[at + 1 : at + 2]
        into = [folder for folder in folders if self._is_folder(folder)]
        inside = [
            os.path.join(folder, os.path.basename(one.rstrip("/"))) for folder in into for one in files[:64]
        ]
        return [*folders, *(path for path in inside if is_literal(path))]

    def _is_folder(self, word: str) -> bool:
        return is_literal(word) and any(os.path.isdir(place) for place in self.paths.places(word))

    def _reached(self, base: str, arguments: list[str], found: Finding) -> list[str]:
        """The folders of which everything in them is removed, changed, copied or linked."""
        if base == "mv" and not any(compiled("--t.*|-[a-zA-Z]*t.*").fullmatch(word) for word in arguments):
            return [arguments[at] for at in operands(arguments, "-S --suffix")[:-1]]
        if base in WHOLE_FOLDERS and (found.rank == DESTROY or base in ("mv", "chmod", "chown", "chgrp")):
            return arguments
        if base in COPIES_TO_LAST:
            whole = base in ("ln", "rsync") or any(
                word[:1] == "-" and set("rRa") & set(word) for word in arguments
            )
            return [arguments[at] for at in operands(arguments)[:-1]] if whole else []
        if base in ("tar", "zip"):
            return [arguments[at] for at in operands(arguments, "-C --directory -f")]
        return []
