"""Judge a command line: the worst of its parts, and what it names that agents leave alone."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from sb.shell.arguments import (
    COMMAND_VARIABLES,
    GO,
    HOST_VARIABLES,
    INSTANT,
    LOADER_VARIABLES,
    OWN_FILES,
    PLACES,
    WHOLE_FOLDERS,
    WRAPPERS,
    WRITES,
)
from sb.shell.changing import change, changes
from sb.shell.guarded import Guarded
from sb.shell.handlers import HANDLERS
from sb.shell.inputs import NOTHING, Input, piped_input, redirected_input
from sb.shell.nodes import Compound, Node, Pipeline, Redirect, Script, Simple, Unparsed, Word
from sb.shell.outputs import file_of, is_made, program_of, sets_up
from sb.shell.packages import environment_changes
from sb.shell.paths import Paths
from sb.shell.rules import (
    DESTROY,
    NETWORK,
    QUIET,
    READ,
    WRITE,
    Finding,
    affected_folders,
    highest,
    operands,
    rule_finding,
    run_by_options,
    subscripts,
)
from sb.shell.searching import searched_folders
from sb.shell.syntax import parse
from sb.shell.words import (
    MADE,
    OPERAND,
    SPLIT_VARIABLE,
    UNKNOWN,
    VARIABLE,
    compiled,
    display,
    expand,
    is_literal,
    is_sure,
)

_MOST_STEPS = 5000  # commands and words
_MOST_VALUES = 32
_TRUSTED_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin")
_DECLARE = frozenset(("declare", "typeset", "local", "export", "readonly"))
_ASSIGN = frozenset(("read", "mapfile", "readarray", "getopts", "let", "unset"))
# Builtins that calculate what stands in brackets behind a name, even in quotes.
_COUNTING = _DECLARE | _ASSIGN | {"printf", "test", "[", "wait", "compgen"}
_OTHER_SHELLS = ("(", "&", "coproc")
# Commands that name a host's settings and leave them as they are.
_LEAVE_SETTINGS = (["git", "add"], ["git", "commit"], ["git", "diff"], ["git", "log"])


class LineJudge:
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
        self.repeats = False
        self._splits_elsewhere = False  # IFS was changed: where a value is split is not followed
        self._doubtful = False  # whether the line may not be in `paths.here` by now
        self._inside: list[str] = []  # of these functions
        self._made: set[str] = set()  # variables that hold what the line made with `mktemp`
        self.touched: set[str] = set()  # what was written so far, as far as that is known
        self.links: list[str] = []  # which the line has made, into folders that hold what is protected
        self.settled = True  # nothing so far changed a file, or took a while
        self.several = False  # a word of the command stands for several values of a variable
        self._depth = 0
        self._steps = 0

    # --- command lines

    def line(self, text: str, stdin: Input = NOTHING) -> Finding:
        """A command line inside of this one, such as that of `sh -c`.

        Raises:
            Unparsed: it, or one inside of it, is not understood.
        """
        if not is_literal(text):
            return Finding(DESTROY, f"{display(text, 40)}: the commands are unknown until they run")
        self._depth += 1
        found = self.script(parse(text, self._depth), stdin)
        self._depth -= 1
        return found

    def script(self, script: Script, stdin: Input = NOTHING) -> Finding:
        """Commands one after the other."""
        found: list[Finding] = []
        for node in script:
            found.append(self._node(node, stdin))
            self._arrived()
        return highest(*found)

    def again(self, script: Script) -> Finding:
        """The whole line once more, with all that it set: what a loop or a function sets last may be what it uses first."""
        self.paths.here = self.paths.here if len(self.paths.folders) == 1 else ""
        return self.script(script)

    def go(self, word: str) -> None:
        """The line goes into another folder, which it surely reaches if that is there and nothing before can have removed it."""
        before = self.paths.here
        self.paths.go(word)
        self._doubtful = not (self.settled and os.path.isdir(self.paths.here)) and self.paths.here != before

    def _arrived(self) -> None:
        if self._doubtful:
            self.paths.here, self._doubtful = "", False

    def _apart(self, nodes: Sequence[Node], stdin: Input, *, comes_back: bool) -> Finding:
        """Commands of which it is not sure that each runs, or that are another shell's, which `comes_back` by itself."""
        before = self.paths.here
        found: list[Finding] = []
        for node in nodes:
            found.append(self._node(node, stdin))
            if self.paths.here != before and not comes_back:
                self.paths.here = ""
        self.paths.here = before if comes_back else self.paths.here
        self._doubtful = False
        return highest(*found)

    def _expand(self, text: str) -> list[str]:
        return expand(text, {} if self._splits_elsewhere else self.values)

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > _MOST_STEPS:
            raise Unparsed("too many commands or words to check")

    def _scripts(self, words: Sequence[Word]) -> Finding:
        here = self.paths.here
        found = highest(*(self.script(script) for word in words for script in word.scripts))
        self.paths.here = here
        return found

    def _node(self, node: Node, stdin: Input) -> Finding:
        self._count(1)
        if isinstance(node, Pipeline):
            found = QUIET
            for part in node.parts:  # each is a shell of its own; in zsh the last one is not
                found = highest(found, self._apart((part,), stdin, comes_back=False))
                stdin = piped_input(part, self._expand, self._of_processes)
            return found
        if isinstance(node, Compound):
            return self._compound(node, stdin)
        return self._simple(node, stdin)

    def _compound(self, node: Compound, stdin: Input) -> Finding:
        if node.kind == "function":
            self.functions.add(node.name)
            self.repeats = True
            self._inside.append(node.name)
            found = self._apart(node.bodies, stdin, comes_back=False)
            self._inside.pop()
            return found
        elif node.kind in ("for", "while"):
            self.repeats = True
        found = self._scripts(node.words)
        if node.kind == "[[":
            found = highest(found, subscripts("[[", [word.text for word in node.words]))
        if node.kind == "for" and node.words:
            texts = [text for word in node.words for text in self._expand(word.text)]
            self._count(len(texts))
            for text in texts:
                self.look(text)
            if node.name:
                self._set(node.name, texts)
        for redirect in node.redirects:
            found = highest(found, self._redirect(redirect))
            stdin = redirected_input(redirect, stdin)
        if node.kind == "{":
            return highest(self.script(node.bodies, stdin), found)
        if node.kind in ("&&", "||"):
            return highest(self._joined(node, stdin), found)
        return highest(self._apart(node.bodies, stdin, comes_back=node.kind in _OTHER_SHELLS), found)

    def _joined(self, node: Compound, stdin: Input) -> Finding:
        """Commands of which only the first surely runs; behind `&&` those before it have succeeded."""
        found = self._node(node.bodies[0], stdin)
        surely = "" if self._doubtful else self.paths.here
        for body in node.bodies[1:]:
            before = self.paths.here = "" if node.kind == "||" else self.paths.here
            found = highest(found, self._node(body, stdin))
            surely = surely if self.paths.here == before else ""
        self.paths.here, self._doubtful = surely, False
        return found

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
            stdin = redirected_input(redirect, stdin)
        if not node.words:
            return found
        self._count(len(node.words))
        if self._removes_made(node.words):
            return highest(found, Finding(WRITE, "rm: removes files that the same line made"))
        if (
            not self.renames
            and [word.text for word in node.words[:-1]] == ["eval"]
            and sets_up(node.words[1])
        ):
            return highest(found, Finding(NETWORK, "eval: sets up the shell with a known program's output"))
        asked = "" if self.renames else program_of(node.words[0])
        first = [asked] if asked else self._expand(node.words[0].text)
        rest = [text for word in node.words[1:] for text in self._expand(word.text)]
        varying = [word for word in node.words[1:] if VARIABLE in word.text or SPLIT_VARIABLE in word.text]
        self.several = any(len(self._expand(word.text)) > 1 for word in varying)
        if first == ["kill"]:
            rest = [
                text
                for word in node.words[1:]
                for text in ([OPERAND] if self._of_processes(file_of(word)) else self._expand(word.text))
            ]
        if not first and not rest:
            return found
        varies = VARIABLE in node.words[0].text or SPLIT_VARIABLE in node.words[0].text
        choices = range(len(first)) if first and varies else (0,)
        return highest(*(self.command([*first[at:], *rest], stdin) for at in choices), found)

    @property
    def renames(self) -> bool:
        """Whether the line gives names of programs another meaning."""
        return bool(self.functions or self.aliases)

    def _of_processes(self, word: str) -> bool:
        """Whether a file of the session's folder holds nothing but numbers of processes, or is not there."""
        from sb.shell.listing import holds_processes

        places = self.paths.now(word) if word and is_literal(word) else []
        project = os.path.realpath(self.paths.folders[0]) + "/"
        inside = all(os.path.realpath(place).startswith(project) for place in places)
        return bool(places) and inside and all(map(self.stays, places)) and all(map(holds_processes, places))

    def stays(self, place: str) -> bool:
        """Whether no command of the line so far is known to have written what is at a place."""
        return not any(
            f"{place}/".startswith(f"{other.rstrip('/')}/") or other.startswith(f"{place.rstrip('/')}/")
            for other in self.touched
        )

    def _removes_made(self, words: Sequence[Word]) -> bool:
        """Whether a command removes only files and folders that the line itself has made with `mktemp`."""
        moved = any(program.rpartition("/")[2] == "mv" for program in self.programs)
        if words[0].text != "rm" or moved or self.renames:  # what was moved there is not new
            return False
        named = [word for word in words[1:] if not compiled("-[rf]+").fullmatch(word.text)]
        return bool(named) and all(self._is_made(word) for word in named)

    def _is_made(self, word: Word) -> bool:
        name = word.text[1:-1]
        return word.raw == f'"${name}"' and name in self._made and self.values.get(name) == [MADE]

    def assign(self, name: str, text: str, *, made: bool = False) -> Finding:
        """A variable gets a value; `made`: a file or folder that the line makes."""
        values = self._expand(text) or [""]
        self._count(len(values))
        for value in values:
            self.look(value)
        self._set(name, values, made=made)
        if (found := subscripts(f"{name}=", values)) is not QUIET:
            return found
        if name in ("SB_HOME", "SB_DB"):
            self.refuse(f"{name}=…: makes programs use another SecondBrain home")
        if name in COMMAND_VARIABLES:
            return highest(*(self._as_command(name, value) for value in values))
        if name in HOST_VARIABLES:
            return Finding(DESTROY, f"{name}=: makes a coding agent use other settings")
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
            return Finding(DESTROY, f"{name}=: the command is unknown until it runs")
        return self.line(value)

    def _redirect(self, redirect: Redirect) -> Finding:
        found = self._scripts([redirect.target, *([redirect.body] if redirect.body else [])])
        if redirect.operator in ("<<", "<<-", "<<<"):
            return found
        self._count(1)
        for target in self._expand(redirect.target.text):
            self.look(target)
            self.settled = self.settled and (target == "/dev/null" or target.isdigit())
            if target.startswith(("/dev/tcp/", "/dev/udp/")) and redirect.operator in (">&", "&>"):
                found = highest(
                    found, Finding(DESTROY, f"{display(target)}: connects a program to the network")
                )
            elif target.startswith(("/dev/tcp/", "/dev/udp/")):
                found = highest(
                    found, Finding(NETWORK, f"{redirect.operator} {display(target)}: talks to the network")
                )
            elif redirect.operator in (">&", "<&") and (
                target.isdigit() or target.rstrip("-").isdigit() or target == "-"
            ):
                continue
            elif redirect.operator not in ("<", "<&") and not redirect.target.raw.startswith((">(", "<(")):
                found = highest(found, self.write(target, redirect.operator))
        return found

    def write(self, target: str, by: str, *, whole: bool = True) -> Finding:
        """A path that is written; of a folder not `whole` if only something is put into it."""
        self.look(target)
        if is_literal(target):
            if self.paths.places(target)[0] in ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"):
                return QUIET
            if whole:
                self.writes.append(self.paths.places(target)[0])
                self.touched.update(self.paths.places(target))
        if settings := self.paths.settings(target):
            self.refuse(f"{display(target)}: {settings} configures agents; agents must not change it")
        if why := self.paths.sensitive(target):
            return highest(Finding(DESTROY, f"{by} {display(target)}: {why}"), change(self, target))
        return highest(Finding(WRITE, f"{by} {display(target)}: writes a file"), change(self, target))

    def refuse(self, why: str) -> None:
        """The whole line is refused; the first reason stays."""
        self.refused = self.refused or why

    def look(self, word: str) -> None:
        """Refuse the line if a word names what agents leave alone."""
        if own := self.paths.protects(word):
            self.refuse(f"{display(word)}: {own} belongs to SecondBrain; agents must not read or change it")

    def command(self, argv: Sequence[str], stdin: Input = NOTHING) -> Finding:
        """A program with its arguments, as expanded words."""
        self._depth += 1
        self._count(len(argv))
        if self._depth > 40:
            raise Unparsed("nested too deeply")
        name = argv[0]
        self.programs.append(display(name))
        if "dotglob" in argv:
            self.paths.dotglob = True
        folders = len(self.paths.folders)
        for at, word in enumerate(argv):
            if at and word in ("-C", "--directory", "--chdir", "--cwd") and at + 1 < len(argv):
                self.paths.enter(argv[at + 1])
            elif at and word.startswith(("--directory=", "--chdir=", "--cwd=")):
                self.paths.enter(word.partition("=")[2])
        for word in argv:
            self.look(word)
        base, here = name.rpartition("/")[2].lower(), self.paths.here
        if base in WRAPPERS or base == "env":
            self.paths.here = here if len(self.paths.folders) == folders else ""
        found = self._program(name, list(argv[1:]), stdin)
        self._depth -= 1
        worst = highest(found, self._consequences(list(argv), found, stdin))
        if self.paths.elsewhere and base in OWN_FILES and worst.rank == DESTROY:
            worst = Finding(NETWORK, f"{base}: changes files in the container only")
        if base in self.functions or base in ("source", "."):  # it may go anywhere
            self.paths.here = ""
        elif base not in GO:
            self.paths.here = here
        self.settled = self.settled and base in INSTANT
        return worst

    def _program(self, name: str, arguments: list[str], stdin: Input) -> Finding:
        if name == "\x06":
            name = "["
        if not is_literal(name) or name.startswith("=") or (name.startswith("-") and name != "-"):
            return Finding(DESTROY, f"{display(name)}: the program is unknown until it runs")
        if not name.isascii():
            return Finding(DESTROY, f"{display(name)}: the program's name has look-alike letters")
        folder, _, base = name.rpartition("/")
        if not folder and "/" not in name:
            if base in self.aliases:
                return Finding(DESTROY, f"{base}: an alias, which is not resolved")
            if base in self._inside:
                return Finding(DESTROY, f"{base}: a function that calls itself")
            if base in self.functions:
                return Finding(READ, f"{base}: a function of this line")
        floor = QUIET
        if "/" in name and folder not in _TRUSTED_FOLDERS:
            floor = Finding(NETWORK, f"{display(name)}: runs a program outside of the system's folders")
        if base != base.lower():
            floor = Finding(NETWORK, f"{base}: runs an unknown program")
        base = base.lower()
        if base in _COUNTING:
            named = base not in ("printf", "test", "[") or "-v" in arguments
            given = [*arguments, *([stdin.text] if stdin.kind == "text" else [])] if named else []
            floor = highest(floor, subscripts(base, given))
        if base in _DECLARE or base in _ASSIGN or base == "printf":
            floor = highest(floor, self._variables(base, arguments))
        handler = HANDLERS.get(base) or (HANDLERS["python"] if base.startswith(("python", "pypy")) else None)
        found = handler(self, base, arguments, stdin) if handler else rule_finding(base, arguments)
        if found is None and base.startswith("mkfs"):
            found = rule_finding("mkfs", arguments)
        floor = highest(floor, *(self.line(text) for text in run_by_options(base, arguments)))
        floor = highest(floor, environment_changes(self, name, arguments))
        return highest(found or Finding(NETWORK, f"{display(name, 40)}: runs an unknown program"), floor)

    def _variables(self, builtin: str, arguments: Sequence[str]) -> Finding:
        """What a builtin assigns."""
        if builtin in _DECLARE:
            if any(word[:1] == "-" and "n" in word for word in arguments):
                return Finding(
                    DESTROY, f"{builtin} -n: a reference to another variable, which is not resolved"
                )
            pairs = [word.partition("=") for word in arguments if "=" in word]
            return highest(*(self.assign(name.rstrip("+"), value) for name, _, value in pairs))
        if builtin == "printf":
            arguments = arguments[1:2] if arguments[:1] == ["-v"] else ()
        for name in arguments:
            if name not in ("PWD", "HOME"):
                self.values.setdefault(name.partition("=")[0], []).append(UNKNOWN)
        return QUIET

    def _consequences(self, argv: list[str], found: Finding, stdin: Input) -> Finding:
        """What a command writes, and whether it reaches what agents leave alone."""
        base, worst = argv[0].rpartition("/")[2], QUIET
        if base in WRITES:
            for at in operands(argv[1:]):
                worst = highest(worst, self.write(argv[1:][at], base))
        if argv[:2] not in _LEAVE_SETTINGS:
            worst = highest(worst, changes(self, base, argv[1:], found.rank))
        if found.rank > READ and (base.lower() in PLACES or base.startswith(("python", "pypy"))):
            from sb.shell.landing import landing_findings  # most lines need none of it

            worst = highest(worst, landing_findings(self, base.lower(), argv[1:], stdin))
        if found.rank > READ and argv[:2] not in _LEAVE_SETTINGS:
            for word in argv[1:]:
                if settings := self.paths.settings(word):
                    self.refuse(f"{display(word)}: {settings} configures agents; agents must not change it")
        if (found.rank == WRITE or base in ("rsync", "scp", "curl", "wget")) and (
            base not in ("mkdir", "touch") and argv[:2] not in _LEAVE_SETTINGS
        ):
            for word in argv[1:]:
                if folder := self.paths.settings_below(word):
                    worst = Finding(DESTROY, f"{base} {display(folder)}: may change the settings of agents")
        for word in (*affected_folders(base, argv[1:], found), *searched_folders(base, argv[1:])):
            changed = base in WHOLE_FOLDERS and base != "rsync"
            own = self.paths.holds(word, only_ours=not changed) if word[:1] != "-" and is_sure(word) else ""
            if own:
                self.refuse(f"{display(word)}: contains {own}, which agents must not touch")
        return worst if worst.rank == DESTROY else QUIET
