"""Files whose text programs run, by the options and variables that name them; judged where the line has written them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from sb.shell.handlers.git import by_variable
from sb.shell.handlers.run_targets import package_scripts, recipes
from sb.shell.parsing.computed import short_text
from sb.shell.parsing.inputs import NOTHING, Input
from sb.shell.parsing.nodes import Unparsed
from sb.shell.parsing.words import compiled, display, is_literal
from sb.shell.programs.facts import having, lists
from sb.shell.programs.rules import DESTROY, NETWORK, QUIET, Finding, highest, operands

if TYPE_CHECKING:
    from sb.shell.judge import Judge

# Variables that name a file which a program runs before anything else, and options for all its runs.
_SHELL_FILES = frozenset(("BASH_ENV", "ENV"))
_PROGRAM_OPTIONS = {"NODE_OPTIONS": "node", "RUBYOPT": "ruby", "PERL5OPT": "perl"}
_LINES = frozenset(("sed", "awk", "make"))  # programs of which each line may run another program
_SCRIPT_FIRST = frozenset(("sed", "awk"))  # programs whose text is their first operand
_ENDINGS = {"node": (".js", ".cjs", ".mjs"), "ruby": (".rb",), "lua": (".lua",)}  # that a name may leave out
_PYTHON_MODULE = "-[IBuEsSOvqdixbPR]*m(.*)"
_STDIN = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh"))
_PACKAGE = "package.json"
_FOLDER_OPTIONS = ("-C", "--directory", "--prefix", "--cwd", "--dir")
_MOST_LINES = 32  # of one file on disk
_UNREAD = Finding(DESTROY, "package.json: cannot be read")

# Libraries that every program loads; those of the system are allocators, sanitizers and tracers.
_LOADED = frozenset(("LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES"))
_LIBRARY = r"(?:/(?:usr/(?:local/)?|opt/homebrew/)?lib(?:32|64|exec)?/(?:[\w+@-][\w.+@-]*/)*)?[\w+-][\w.+-]*|"


def run_files(judge: Judge, program: str, arguments: Sequence[str], stdin: Input = NOTHING) -> Finding:
    """Judge the files that a program's options have it run, as far as the line has written them."""
    found = [
        _written(judge, program, word, runner, arguments, stdin)
        for word, runner in _named(program, arguments)
    ]
    found += [edited(judge, word, program) for word, runner in _named(program, arguments) if runner == "make"]
    if program in _SHELLS:
        found += [edited(judge, arguments[at], program) for at in operands(arguments)[:1]]
    return highest(
        *found, _of_packages(judge, program, arguments) if program in having("package_manager") else QUIET
    )


def _of_packages(judge: Judge, program: str, arguments: Sequence[str]) -> Finding:
    """Judge the scripts of a `package.json` that a package manager runs, as far as the line has written them."""
    package = judge.written_script(_PACKAGE)
    if package is None:
        path = os.path.join(_folder(arguments), _PACKAGE)
        _on_disk(judge, path, lambda text: package_scripts(text, arguments) or [])
    lines = package_scripts(package.text, arguments) if package and package.kind == "text" else []
    return highest(
        edited(judge, _PACKAGE, program), _UNREAD if lines is None else _lines(judge, program, lines)
    )


def _folder(arguments: Sequence[str]) -> str:
    """The folder that `make` or a package manager is told to run in; "" for the one of the line."""
    return next(iter(_values(_FOLDER_OPTIONS, arguments)), "")


def edited(judge: Judge, word: str, by: str = "") -> Finding:
    """Judge the texts that the line has put into a file it runs; fragments count as parts of command lines."""
    found = QUIET
    for text in judge.scripts.edits(judge.paths.now(word)) if is_literal(word) else ():
        try:
            found = highest(found, judge.line(text))
        except Unparsed:
            found = highest(
                found, Finding(NETWORK, f"{by or display(word, 40)}: runs a line that is not understood")
            )
    return found


def _on_disk(judge: Judge, word: str, lines_of: Callable[[str], Sequence[str]]) -> None:
    """Note the lines of a file that a program runs, if the line has not written it."""
    for place in judge.paths.now(word)[:1] if is_literal(word) else ():
        folder = os.path.dirname(place)
        judge.scripts.lines |= {(line, folder): None for line in lines_of(short_text(place))[:_MOST_LINES]}


def run_by_variable(judge: Judge, name: str, value: str) -> Finding:
    """Judge the files that a variable has shells, interpreters and all programs run."""
    if name in _LOADED and not all(map(compiled(_LIBRARY).fullmatch, value.replace(":", " ").split())):
        return Finding(DESTROY, f"{name}={display(value, 40)}: puts code into every program")
    if name.startswith("GIT_CONFIG"):
        return by_variable(judge, name)
    if name in _SHELL_FILES:
        return _written(judge, f"{name}=", value, "sh")
    if name == "MAKEFILES":
        return highest(*(_written(judge, f"{name}=", word, "make") for word in value.split()))
    program = _PROGRAM_OPTIONS.get(name)
    return run_files(judge, program, value.split()) if program and is_literal(value) else QUIET


def _named(program: str, arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The files, each with the program that its text is judged as."""
    any_named = False
    runner, options = lists("runs_files").get(program, ("", ""))
    for word in _values(options.split(), arguments):
        any_named = True
        yield word, runner
    for word in () if any_named else lists("runs_by_default").get(program, ()):
        yield word, "ruby" if program == "rake" else "make"
    if program.startswith(("python", "pypy")):
        yield from _modules(arguments)
    if program in ("mongosh", "mongo"):
        yield from ((arguments[at], "mongosh") for at in operands(arguments) if arguments[at].endswith(".js"))


def _modules(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The files of the module that `python -m` runs, in the folder that it runs in."""
    for at, word in enumerate(arguments):
        if word[:1] != "-":
            return
        if found := compiled(_PYTHON_MODULE).fullmatch(word):
            path = (found[1] or "".join(arguments[at + 1 : at + 2])).replace(".", "/")
            yield from ((f"{path}.py", "python"), (f"{path}/__main__.py", "python"))
            return


def _values(options: Sequence[str], arguments: Sequence[str]) -> Iterator[str]:
    for at, word in enumerate(arguments):
        for option in options:
            single = len(option) == 2 and option[0] == "-"
            cluster = single and compiled(f"-[A-Za-z]+{option[1]}").fullmatch(word)
            if word == option or cluster:
                yield from arguments[at + 1 : at + 2]
            elif word.startswith(f"{option}="):
                yield word.partition("=")[2]
            elif single and word.startswith(option):
                yield word[2:]


def _written(
    judge: Judge, by: str, word: str, runner: str, arguments: Sequence[str] = (), stdin: Input = NOTHING
) -> Finding:
    """Judge a file by what the line has written to it."""
    names = [word, *(f"{word}{end}" for end in _ENDINGS.get(runner, ()))] if is_literal(word) else []
    text = stdin if word in _STDIN and stdin.kind == "text" else None
    text = text or next(filter(None, (judge.written_script(name, runner) for name in names)), None)
    if text is None:
        if runner == "make":
            path = os.path.join(_folder(arguments), word)
            _on_disk(judge, path, lambda makefile: recipes(makefile, arguments))
        return QUIET
    if text.kind != "text" and runner in _LINES:
        return Finding(DESTROY, f"{by} {display(word, 40)}: runs what the same line has written")
    if runner == "make":
        return _lines(judge, by, recipes(text.text, arguments))
    if runner in _SCRIPT_FIRST:
        return judge.command([runner, text.text])
    return judge.command([runner], text)


def _lines(judge: Judge, program: str, lines: Sequence[str]) -> Finding:
    """Judge lines of a file; one whose program only the file's own program knows is what running that one is."""
    found = QUIET
    for line in lines:
        try:
            found = highest(found, QUIET if line.startswith("$") else judge.line(line))
        except Unparsed:
            found = highest(found, Finding(NETWORK, f"{program}: runs a line that is not understood"))
    return found
