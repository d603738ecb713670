"""Judge one command: a program with its arguments, what it writes, and the variables that it sets."""

from __future__ import annotations

import itertools
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from sb.shell.credentials.files import secret_word
from sb.shell.credentials.flows import Trail
from sb.shell.credentials.searching import searched_folders
from sb.shell.destinations.changing import change, changes, configure, take, written_by_variable
from sb.shell.handlers.git import with_git_apart
from sb.shell.handlers.handlers import HANDLERS
from sb.shell.handlers.packages import environment_changes
from sb.shell.handlers.run_files import edited, run_by_variable, run_files
from sb.shell.handlers.script_files import ScriptFiles
from sb.shell.handlers.scripts import is_edit
from sb.shell.handlers.wrapping import with_loader_apart
from sb.shell.parsing.computed import formatted, names_in
from sb.shell.parsing.edits import KEEPS, note_scripts
from sb.shell.parsing.inputs import NOT_KNOWN, NOTHING, Input
from sb.shell.parsing.nodes import Script, Unparsed
from sb.shell.parsing.words import (
    BRACKET,
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
from sb.shell.places.guarded import Guarded
from sb.shell.places.moving import keeps_folder, lost_target
from sb.shell.places.paths import Paths
from sb.shell.programs.commands import CommandList
from sb.shell.programs.facts import COMMAND_VARIABLES, HOST_VARIABLES, LOADER_VARIABLES, WRAPPERS, having
from sb.shell.programs.patterns import TRUSTED_FOLDERS
from sb.shell.programs.rules import (
    DESTROY,
    NETWORK,
    QUIET,
    READ,
    WRITE,
    Finding,
    affected_folders,
    floor_finding,
    highest,
    operands,
    rule_finding,
    run_by_options,
    subscripts,
)
from sb.shell.programs.targets import unresolved_target
from sb.shell.snapshots.keeping import Keeping

_MOST_STEPS = 5000  # commands and words
_MOST_VALUES = 32
_MOST_REPLACED = 4000
_NUMBERS = ("?", "#", "$", "!", "RANDOM", "SECONDS", "LINENO", "UID", "PPID")
# Variables of a machine or its CI that name scratch files and folders.
_SCRATCH = ("TMPDIR", "TMP", "TEMP", "RUNNER_TEMP", "GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY")
_DELETING, _MOVING = ("rm", "unlink"), ("mv", "cp")
_SIZES = "-s --size -r --reference"
_HOLDS_CODE = r"-[A-Za-z0-9]*[eE]"
_IN_PLACE = r"-[a-z]*i(?:\.\w+)?|-[lnp]*i[\w.]*|-[lnp]*ie"
_DECLARE, _ASSIGN = having("declares"), having("assigns")
# Builtins that calculate what stands in brackets behind a name, even in quotes.
_COUNTING = having("declares", "assigns", "calculates")
# Commands that name a host's settings and leave them as they are.
_LEAVE_SETTINGS = (["git", "add"], ["git", "commit"], ["git", "diff"], ["git", "log"])


class CommandJudge(ABC):
    """The state of one command line, and the judgement of its single commands.

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
        self.values |= {name: [OPERAND] for name in _NUMBERS}
        self.values = {name: [OPERAND] for name in _SCRATCH} | self.values
        self.functions: set[str] = set()
        self._goes: dict[str, bool] = {}  # those that leave the folder, each with whether it is then any
        self.aliases: set[str] = set()
        self._made: set[str] = set()  # variables that hold what the line made with `mktemp`
        self._splits_elsewhere = False  # IFS was changed: where a value is split is not followed
        # What the line does, so far as that is known.
        self.programs: list[str] = []
        self.commands = CommandList(self.paths)
        self.writes: list[str] = []
        self.asked = ""
        self.made_folders: list[str] = []
        self.replaced: dict[
            str, bool
        ] = {}  # absolute paths whose content may be gone: true where they are too
        self.touched: set[str] = set()  # what it has written before the current command
        self.links: list[str] = []  # which it has made, into folders that hold what is protected
        self.scripts, self.keeping, self.trail = ScriptFiles(), Keeping(), Trail(self)
        self.given_variables: Callable[..., AbstractContextManager[bool]] = self.trail.given_variables
        self.refused = ""
        self.inline = False  # a part is code in another language
        self.repeats, self.guesses = False, True
        self.comes_back: Callable[[Sequence[str]], bool] = lambda argv: False
        self._lasting = 0  # commands whose harm does not come back: then neither does what runs them
        self.settled = True  # no command before this one changed a file, or took a while
        self._lost_again = False  # whether its parts that run again may do so in any folder
        self.moves = 0  # commands before this one that may have changed the folder
        self._doubtful = False  # whether the line may not be in `paths.here` by now
        # Of the current command.
        self.spared: set[str] = set()  # places that are not there when it runs
        self.several = False  # a word of it stands for several values of a variable
        self._replaces_more = False  # whether it may replace other files than `replaced` names
        self._ran = QUIET  # its class alone
        self._inside: list[str] = []  # of these functions
        self.depth = self._steps = 0

    @abstractmethod
    def line(self, text: str, stdin: Input = NOTHING) -> Finding:
        """Judge a command line inside of this one, such as that of `sh -c`.

        Raises:
            Unparsed: it, or one inside of it, cannot be parsed.
        """

    @abstractmethod
    def script(self, script: Script, stdin: Input = NOTHING) -> Finding:
        """Judge commands, one after the other."""

    def go(self, word: str) -> None:
        """Enter another folder; it is surely reached if it exists and nothing before can have removed it."""
        before = self.paths.here
        self.paths.go(word)
        self.moves += 1
        sure = self.settled and os.path.isdir(self.paths.here)
        self._doubtful = not sure and self.paths.here != before
        self.paths.lost = self.paths.lost and not sure

    def expand(self, text: str) -> list[str]:
        if not self._splits_elsewhere:
            return expand(text, self.values)
        texts = expand(text, {})
        if VARIABLE not in text and SPLIT_VARIABLE not in text:
            return texts
        splits = "".join(filter(is_literal, self.values.get("IFS", ()))) or " "
        pieces = (
            part for item in expand(text, self.values) for part in re.split(f"[{re.escape(splits)}\\s]", item)
        )
        named = [part for part in dict.fromkeys(pieces) if self._matters(part)][:_MOST_VALUES]
        return [*texts, *named, *texts[-1:]] if named else texts

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > _MOST_STEPS:
            raise Unparsed("too many commands or words to check")

    @property
    def renames(self) -> bool:
        """True if the line gives names of programs another meaning."""
        return bool(self.functions or self.aliases)

    def stays(self, place: str) -> bool:
        """True if no command so far is known to have written to a place."""
        return not any(
            f"{place}/".startswith(f"{other.rstrip('/')}/") or other.startswith(f"{place.rstrip('/')}/")
            for other in self.touched
        )

    def assign(self, name: str, text: str, *, made: bool = False) -> Finding:
        """Judge an assignment; `made`: the value is a file or folder that the line makes."""
        finding = self._assigned(name, text, made=made)
        if finding.rank:
            self.commands.add_effect(f"{name}=")
        return finding

    def _assigned(self, name: str, text: str, *, made: bool) -> Finding:
        values = self.expand(text) or [""]
        self._count(4 * len(values))  # each may be a file that is written
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
            floor = Finding(NETWORK, f"{name}=: changes which programs or settings are used")
            return highest(floor, *(run_by_variable(self, name, value) for value in values))
        return written_by_variable(self, name, values)

    def _set(self, name: str, values: Sequence[str], *, made: bool = False) -> None:
        """Add values that a variable may have from here on; beyond a limit the value is unknown."""
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

    def downloaded(self, word: str) -> None:
        """Note a file that the line has from the network."""
        self.scripts.write(self.paths.now(word), NOT_KNOWN)

    def written_script(self, word: str, by: str = "") -> Input | None:
        """The text that the line has written to a script which it runs; None if it has not written it."""
        return self.scripts.content(self.paths.now(word), by) if is_literal(word) else None

    def names_in(self, word: str) -> list[str]:
        """The names of credentials and of protected places that a file lists, as far as it is known."""
        if not is_literal(word) or len(word) > 1000:
            return []
        places = self.paths.now(word)
        written = self.scripts.text_of(places)
        if written is not None:
            names = written.text.split() if written.kind == "text" else []
        else:
            names = [name for place in places if self.stays(place) for name in names_in(place)]
        return [name for name in names if self._matters(name)][:_MOST_VALUES]

    def _matters(self, name: str) -> bool:
        return bool(
            secret_word(self.paths, name)
            or self.paths.settings(name)
            or self.paths.protects(name)
            or self.paths.sensitive(name)
            or self.paths.guards(name)
        )

    def may_change(self, places: Iterable[str]) -> None:
        """Note absolute paths that something which is not followed may change."""
        self.keeping.name(places)

    def replace(self, places: Iterable[str] | None, *, deletes: bool = False) -> None:
        """Note absolute paths whose content may be gone afterwards; None if not all are known."""
        if places is None or len(self.replaced) >= _MOST_REPLACED:
            self._replaces_more = True
        elif not self.paths.elsewhere:
            self.replaced.update((place, deletes) for place in places if place not in self.spared)

    def write(self, target: str, by: str, *, whole: bool = True, replaces: bool = True) -> Finding:
        """Judge a write to a path.

        Args:
            whole: not if it is a folder that only gets entries. replaces: what the file holds is gone afterwards.
        """
        self.look(target)
        lost = lost_target(self, target, by) if replaces and (whole or by in _MOVING) else QUIET
        if whole and replaces:
            deletes = by in _DELETING
            self.replace(self.paths.entries(target, followed=not deletes), deletes=deletes)
        if is_literal(target):
            if self.paths.places(target)[0] in ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"):
                return QUIET
            if whole:
                named = self.made_folders if by == "mkdir" else self.writes
                named += filter(None, [self.paths.spelled(target)])
                self.touched.update(self.paths.places(target))
        configure(self, target, writes=True)
        if why := self.paths.sensitive(target):
            return highest(Finding(DESTROY, f"{by} {display(target)}: {why}"), change(self, target))
        return highest(Finding(WRITE, f"{by} {display(target)}: writes a file"), lost, change(self, target))

    def refuse(self, why: str) -> None:
        """Refuse the whole line; the first reason stays."""
        self.refused = self.refused or why

    def look(self, word: str) -> None:
        """Refuse the line if a word names a protected path."""
        if own := self.paths.protects(word):
            self.refuse(f"{display(word)}: {own} belongs to SecondBrain; agents must not read or change it")

    def command(self, argv: Sequence[str], stdin: Input = NOTHING) -> Finding:
        """Judge a program with its arguments, given as expanded words."""
        self.depth += 1
        self._count(len(argv))
        if self.depth > 40:
            raise Unparsed("nested too deeply")
        argv = with_git_apart(with_loader_apart(argv))
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
        base, position = name.rpartition("/")[2].lower(), self.paths.position
        if base in WRAPPERS or base == "env":
            self.paths.here = position[0] if len(self.paths.folders) == folders else ""
        words, lasting = self.trail.wrapping(base, argv[1:], stdin), self._lasting
        before, vague = len(self.commands), self.commands.vague
        replaced, comes_back = None, self.comes_back
        if base in having("works_elsewhere"):
            replaced, self.comes_back = dict(self.replaced), lambda argv: False
        note_scripts(self, base, argv[1:], stdin)
        finding = self._program(name, list(argv[1:]), stdin)
        self.comes_back = comes_back
        if replaced is not None and (base in ("ssh", "autossh") or "exec" in argv[1:6]):
            self.replaced = replaced  # its paths are another machine's
        self.commands.vague = vague
        self._record(argv, stdin, before)
        self.trail.words = words
        known = finding.rank < NETWORK or rule_finding(base, argv[1:]) is not None
        self.trail.command("[" if name == BRACKET else base, argv[1:], stdin, known=known)
        self.depth -= 1
        worst = highest(finding, self._consequences(list(argv), finding, stdin))
        if self.paths.elsewhere and base in having("local_harm") and worst.rank == DESTROY:
            worst = Finding(NETWORK, f"{base}: changes files in the container only")
        self._lost_again |= base in self.functions and self.paths.lost
        if base in self._goes or (base in ("source", ".") and not keeps_folder(self, argv[1:2])):
            self.paths.here = ""
            self.paths.lost = self.paths.lost or self._goes.get(base, True)
            self.moves += 1
        elif base not in having("stays_in_folder"):
            self.paths.position = position
        self.settled = self.settled and base in having("instant")
        if worst.rank == DESTROY:
            if self._lasting == lasting and self.comes_back(argv):
                return Finding(WRITE, worst.reason)
            self._lasting += 1
        return worst

    def _record(self, argv: Sequence[str], stdin: Input, before: int) -> None:
        """Record a command for policy; a function of the line stands for the commands in it."""
        if argv[0] in self.aliases:
            self.commands.understood = False
        if argv[0] not in self.functions:
            self.commands.add(argv, stdin, before)

    def _program(self, name: str, arguments: list[str], stdin: Input) -> Finding:
        if name == BRACKET:
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
        if "/" in name and folder not in TRUSTED_FOLDERS:
            floor = self._runs_file(name)
        if base != base.lower():
            floor = Finding(NETWORK, f"{base}: runs an unknown program")
        base = base.lower()
        if base in _COUNTING:
            named = base not in ("printf", "test", "[") or "-v" in arguments
            given = [*arguments, *([stdin.text] if stdin.kind == "text" else [])] if named else []
            floor = highest(floor, subscripts(base, given))
        if base == "set" or ("-c" in arguments and HANDLERS.get(base) is HANDLERS["sh"]):
            self._parameters(arguments)
        if base in _DECLARE or base in _ASSIGN or base == "printf":
            floor = highest(floor, self._variables(base, arguments, stdin))
        handler = HANDLERS.get(base) or (HANDLERS["python"] if base.startswith(("python", "pypy")) else None)
        finding = handler(self, base, arguments, stdin) if handler else rule_finding(base, arguments)
        if finding is None and base.startswith("mkfs"):
            finding = rule_finding("mkfs", arguments)
        floor = highest(floor, *(self.line(text) for text in run_by_options(base, arguments)))
        floor = highest(floor, run_files(self, base, arguments, stdin))
        floor = highest(floor, environment_changes(self, name, arguments), floor_finding(base, arguments))
        return highest(finding or Finding(NETWORK, f"{display(name, 40)}: runs an unknown program"), floor)

    def _runs_file(self, name: str) -> Finding:
        """Judge a program by its path, outside of the system's folders."""
        written = self.written_script(name)
        floor = Finding(NETWORK, f"{display(name)}: runs a program outside of the system's folders")
        if written is None:
            return highest(floor, edited(self, name))
        if written.kind != "text":
            return Finding(DESTROY, f"{display(name)}: runs what the same line has written")
        shebang = compiled(r"#!\s*(?:\S*/env +(?:-S +)?)?(?:\S*/)?([\w.-]+)").match(written.text)
        runner = shebang[1] if shebang else "sh"
        handler = HANDLERS.get("python" if runner.startswith("python") else runner)
        return highest(floor, handler(self, runner, [], written) if handler else QUIET)

    def _parameters(self, words: Sequence[str]) -> None:
        """Note what `set` makes of `$1`, `$2` and so on, as far as it matters."""
        if given := [word for word in words if self._matters(word)][:_MOST_VALUES]:
            self.values |= {name: [UNKNOWN, *given, UNKNOWN] for name in "@*0123456789"}

    def _variables(self, builtin: str, arguments: Sequence[str], stdin: Input) -> Finding:
        """Judge the assignments of a builtin."""
        if builtin in _DECLARE:
            if any(word[:1] == "-" and "n" in word for word in arguments):
                return Finding(
                    DESTROY, f"{builtin} -n: a reference to another variable, which is not resolved"
                )
            pairs = [word.partition("=") for word in arguments if "=" in word]
            named = ((name.rstrip("+"), value) for name, _, value in pairs)
            return highest(*(self.assign(name, value) for name, value in named))
        given: list[str] = []
        if builtin == "printf":
            if arguments and arguments[0][:2] == "-v" and arguments[0][2:]:
                arguments = ["-v", arguments[0][2:], *arguments[1:]]
            text = formatted(arguments[2:]) if arguments[:1] == ["-v"] else None
            given = [text] if text and self._matters(text) else []
            arguments = arguments[1:2] if arguments[:1] == ["-v"] else ()
        if builtin in ("read", "mapfile", "readarray"):
            given = (
                re.split(r"[\s,:;|]+", stdin.text)
                if stdin.kind == "text"
                else self.names_in(stdin.path)
                if stdin.path
                else []
            )
            given = [name for name in given if self._matters(name)][:_MOST_VALUES]
        for name in arguments:
            if name not in ("PWD", "HOME"):
                self.values.setdefault(name.partition("=")[0], []).extend([UNKNOWN, *given])
        return QUIET

    def _consequences(self, argv: list[str], found: Finding, stdin: Input) -> Finding:
        """Judge what a command writes, and whether it reaches protected places."""
        base, worst = argv[0].rpartition("/")[2], QUIET
        if found.rank == NETWORK and (where := self.paths.run_by_git()):
            worst = Finding(DESTROY, f"{base}: runs in {display(where, 60)}, from which git runs programs")
        if base in having("writes_operands"):
            named = [argv[1:][at].replace(OPERAND, UNKNOWN) for at in operands(argv[1:], _SIZES)]
            named = named if base in ("tee", "truncate") else []
            worst = highest(worst, unresolved_target(self.paths, named, base))
            replaces = base in having("replaces_content") and not any(
                map(compiled(KEEPS).fullmatch, argv[1:])
            )
            for at in operands(argv[1:]):
                worst = highest(worst, self.write(argv[1:][at], base, replaces=replaces))
        if base in ("perl", "ruby") and any(compiled(_IN_PLACE).fullmatch(word) for word in argv[1:]):
            pairs = [
                (compiled(_HOLDS_CODE).fullmatch(before), word) for before, word in itertools.pairwise(argv)
            ]
            edits = all(is_edit(word) for holds_code, word in pairs if holds_code)
            for holds_code, word in pairs:
                if word[:1] != "-" and not holds_code:
                    worst = highest(worst, self.write(word, f"{base} -i", replaces=not edits))
        if argv[:2] not in _LEAVE_SETTINGS:
            worst = highest(worst, changes(self, base, argv[1:], found.rank))
        if found.rank > READ and (
            base.lower() in having("has_destination") or base.startswith(("python", "pypy"))
        ):
            from sb.shell.destinations.landing import landing_findings  # most lines need none of it

            worst = highest(worst, landing_findings(self, base.lower(), argv[1:], stdin))
        if found.rank > READ and argv[:2] not in _LEAVE_SETTINGS:
            for word in argv[1:]:
                configure(self, word)
        if (found.rank == WRITE or base in ("rsync", "scp", "curl", "wget")) and (
            base not in ("mkdir", "touch") and argv[:2] not in _LEAVE_SETTINGS
        ):
            for word in argv[1:]:
                if folder := self.paths.settings_below(word):
                    worst = Finding(DESTROY, f"{base} {display(folder)}: may change the settings of agents")
        for word in (*affected_folders(base, argv[1:], found), *searched_folders(base, argv[1:])):
            changed = base in having("takes_whole_folders") and base != "rsync"
            own = self.paths.holds(word, only_ours=not changed) if word[:1] != "-" and is_sure(word) else ""
            if own:
                take(self, word, own)
        return worst if worst.rank == DESTROY else QUIET
