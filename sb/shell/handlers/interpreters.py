"""Judge what interpreters run: a text of the line, a file, or another program's output."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from sb.shell.destinations.changing import change
from sb.shell.destinations.unpacking import json_files
from sb.shell.parsing.words import OPERAND, UNKNOWN, compiled, display, is_literal
from sb.shell.programs.facts import having, lists
from sb.shell.programs.rules import DESTROY, NETWORK, QUIET, READ, WRITE, Finding, highest, rule_finding

if TYPE_CHECKING:
    from sb.shell.judge import Judge
    from sb.shell.parsing.inputs import Input

_NEVER_IMPORTED = frozenset(("test",))  # modules of Python's own that no other one of them uses
_PYTHON_FLAGS = frozenset("IBuEsSOvqdixbPR")
_OURS_IN_CODE = (
    "sb.cli sb.__main__ sb.commands sb.kernel.approvals sb.kernel.authority sb.kernel.decision_desk".split()
)
_IMPORTS_OURS = r"\bfrom[ \t]+sb[ \t]+import\b|\brun_module\([ \t]*['\"]sb['\".]"

# Code that changes files, in the languages above; and paths as they are written in code.
_CHANGES_FILES = (
    r"(?i)\bopen\w*\([^)\n]*['\"][rb]*[wax+>]|write|unlink|remove|delete|rmtree|rmdir|rename|replace|move|copy"
    r"|link|chmod|chown|truncate|touch|rmsync|system\(|subprocess|exec|>[ \t]*['\"]|\bw!? |\\o"
)
_CHANGES_FOLDERS = (
    r"(?i)rmtree|rmdir|removedirs|rmsync|\brm\b|rename|\.move\(|os\.replace|chmod|chown|symlink|unlink"
)
_QUOTED_PATH = r"['\"`](/?[^'\"`\n/]+/[^'\"`\n]{1,400}|/[^'\"`\n/]+|[\w.]+)['\"`]"
_EDITOR_WRITES = r"(?:^|[|:\n])[ \t]*(?:w|wq|write|saveas|x|xit)!?[ \t]+(?:>>[ \t]*)?([^\s|!][^\s|]{0,400})"
# Commands that editors, debuggers and expect start: `:!rm x`, `shell rm x`, `spawn rm x`.
_EDITOR_RUNS = (
    r"(?:^|[;:{\[\n])[+ \t]*(?:(?:silent!?[ \t]+)?!|(?:call[ \t]+)?system\(['\"]|"
    r"(?:spawn|exec|system|(?:platform[ \t]+)?shell)[ \t])[ \t]*([^;\n}\]'\")]+)"
)
_MOST_PATHS = 64
# A statement that only running the line tells; in other places it is mostly a number or a name.
_UNKNOWN_STATEMENT = rf"(?:^|[;\n])[ \t]*{UNKNOWN}"
# A shell, and what another machine is reached by: together they let whoever answers run commands.
_REACHES = (
    r"\.connect(?:_ex)?\(|(?<![\w.])connect\b *\(|create_connection\(|\.(?:bind|listen)\(|IO::Socket|TCPSocket|TCPServer|fsockopen|stream_socket"
    r"|\bnet['\"]?\)?\.(?:connect|createConnection|Socket)|/(?:inet|dev)/(?:tcp|udp)|require *\(?['\"]socket"
)
_STARTS_SHELL = r"(?:['\"`( ]|/bin/)(?:ba|z|da|k|tc|c)?sh(?:['\"`]| -i| <&| >&)|\bdup2\(|open *\(? *STD(?:IN|OUT|ERR)|\|& *getline|pty\.spawn"


def shell(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `sh`, `bash` and similar shells."""
    at = 0
    text = reads = interactive = False
    while at < len(arguments) and arguments[at][:1] in ("-", "+") and arguments[at] not in ("-", "--"):
        word = arguments[at]
        if word in ("--version", "--help"):
            return QUIET
        if word in ("-n", "-no-exec"):
            return Finding(READ, f"{name} -n: only checks")
        short = word[1:] if word[1:2] != "-" else ""
        text = text or "c" in short
        reads = reads or "s" in short
        interactive = interactive or "i" in short
        if short[-1:] in ("o", "O") or word in ("--rcfile", "--init-file"):
            at += 1
        at += 1
    if arguments[at : at + 1] in (["-"], ["--"]):
        at += 1
    rest = arguments[at:]
    if text:
        return judge.line(rest[0], stdin) if rest else Finding(READ, f"{name} -c: runs nothing")
    if rest and not reads and rest[0] not in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        if rest[0].startswith((UNKNOWN, OPERAND)):
            return Finding(DESTROY, f"{name} {display(rest[0])}: what it runs is unknown until it runs")
        floor = Finding(NETWORK, f"{name} {display(rest[0], 40)}: runs a script that is not inspected")
        written = judge.written_script(rest[0], "sh")
        return floor if written is None else highest(floor, shell(judge, name, [], written))
    stdin = written_input(judge, stdin)
    if stdin.kind == "text":
        return judge.line(stdin.text)
    if stdin.kind == "unknown":
        return Finding(DESTROY, f"{name}: runs the output of another program")
    if interactive:
        return Finding(DESTROY, f"{name} -i: runs what somebody else types")
    return Finding(NETWORK, f"{name}: runs its input")


def eval_(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `eval`: its arguments are a command line."""
    return judge.line(" ".join(arguments), stdin)


def source(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `source` and `.`, which run a file of commands."""
    if not arguments or arguments[0].startswith((UNKNOWN, OPERAND, "/dev/")):
        return Finding(DESTROY, f"{name}: what it runs is unknown until it runs")
    floor = Finding(NETWORK, f"{name} {display(arguments[0], 40)}: runs commands that are not inspected")
    written = judge.written_script(arguments[0], "sh")
    return floor if written is None else highest(floor, shell(judge, name, [], written))


def written_input(judge: Judge, stdin: Input) -> Input:
    """The input of an interpreter; of a file that the line has written, its text."""
    return (stdin.path and judge.written_script(stdin.path)) or stdin


def interpreter(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge Python, Node and similar interpreters."""
    kind = "python" if name.startswith(("python", "pypy", "ipython")) else name
    code, valued = (options.split() for options in lists("code")[kind])
    if arguments and arguments[0] in ("--version", "-V", "-v", "--help", "-h") and len(arguments) == 1:
        return Finding(READ, f"{name}: prints its help")
    at = 0
    while at < len(arguments) and arguments[at][:1] == "-" and arguments[at] != "-":
        word = arguments[at]
        flags, m, module = word.partition("m")
        if kind == "python" and m and flags[:1] == "-" and set(flags[1:]) <= _PYTHON_FLAGS:
            rest = [*([module] if module else []), *arguments[at + 1 :]]
            return _module(judge, name, rest, stdin)
        if _holds_code(kind, word, code):
            text = "\n".join(arguments[at:])
            return highest(
                inspect_code(judge, text),
                Finding(NETWORK, f"{name} {display(word, 10)}: runs code that is not inspected"),
                _inline(judge, name, kind, _code_of(word, arguments[at + 1 :], code), arguments[at + 2 :]),
            )
        at += 2 if word in valued else 1
    rest = arguments[at:]
    if kind == "deno" and rest[:1] == ["eval"]:
        text = next((word for word in rest[1:] if word[:1] != "-"), "")
        floor = Finding(NETWORK, f"{name} eval: runs code that is not inspected")
        return highest(floor, inspect_code(judge, text), _inline(judge, name, kind, text, ()))
    if rest and rest[0] not in ("-", "/dev/stdin"):
        if rest[0].rpartition("/")[2] == "sb":
            return judge.command(["sb", *rest[1:]], stdin)
        if rest[0].startswith((UNKNOWN, OPERAND)):
            return Finding(DESTROY, f"{name} {display(rest[0])}: what it runs is unknown until it runs")
        for word in rest:
            inspect_code(judge, word)  # for its refusals alone: an argument is not run as code
        if (written := judge.written_script(rest[0], kind)) is not None:
            return interpreter(judge, name, ["-"], written)
        program = rest[0].rpartition("/")[2]
        known = rule_finding(kind, [program, *rest[1:]]) or QUIET
        if program == "manage.py":
            known = highest(known, django(judge, program, rest[1:], stdin))
        if program.endswith(".jar"):
            known = highest(known, rule_finding(program.removesuffix(".jar"), rest[1:]) or QUIET)
        return highest(
            Finding(NETWORK, f"{name} {display(rest[0], 40)}: runs a program that is not inspected"), known
        )
    stdin = written_input(judge, stdin)
    if stdin.kind == "text":
        return highest(
            inspect_code(judge, stdin.text),
            Finding(NETWORK, f"{name}: runs code that is not inspected"),
            _inline(judge, name, kind, stdin.text, rest[1:]),
        )
    if stdin.kind == "unknown":
        return Finding(DESTROY, f"{name}: runs the output of another program")
    return Finding(NETWORK, f"{name}: runs its input")


def django(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge the code that `manage.py shell` or `django-admin shell` runs; other subcommands by the rules alone."""
    found = rule_finding(name, arguments) or Finding(NETWORK, f"{name}: runs the project's code")
    if not {"shell", "shell_plus"} & set(arguments):
        return found
    codes = [code for option, code in pairwise(arguments) if option in ("-c", "--command")]
    codes += [word.partition("=")[2] for word in arguments if word.startswith("--command=")]
    codes += [stdin.text] if stdin.kind == "text" and not codes else []
    return highest(found, *(_inline(judge, name, "python", code, ()) for code in codes))


def _holds_code(kind: str, word: str, options: Sequence[str]) -> bool:
    """True if an option of an interpreter holds code, alone, in a group of letters or with its value."""
    if word[1:2] == "-":
        return word.partition("=")[0] in options
    names_module = kind in ("perl", "ruby") and word[1] in "MmIr" and len(word) > 2
    return not names_module and any(
        word == option or (option[1:2] != "-" and (word.startswith(option) or word.endswith(option[1:])))
        for option in options
    )


def _code_of(word: str, rest: Sequence[str], options: Sequence[str]) -> str:
    """The code that an option holds: behind it, or in the same word (`-cimport os`, `--eval=…`)."""
    if word.startswith("--"):
        return word.partition("=")[2] if "=" in word else "".join(rest[:1])
    letters = [option[1] for option in options if len(option) == 2]
    at = next((at for at, letter in enumerate(word) if at and letter in letters), len(word))
    return word[at + 1 :] or "".join(rest[:1])


def _inline(judge: Judge, name: str, kind: str, code: str, arguments: Sequence[str]) -> Finding:
    """Judge code of the line by what it calls."""
    judge.inline = True
    if compiled(_UNKNOWN_STATEMENT).search(code):
        return Finding(DESTROY, f"{name}: the code is unknown until it runs")
    if kind == "python":
        from sb.shell.inline.python import inline_python  # parsing it needs `ast`, which few lines do

        return inline_python(judge, name, code, ["-c", *arguments])
    from sb.shell.inline.calls import inline_calls

    return inline_calls(judge, name, kind, code) or QUIET


def _module(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    module = arguments[0] if arguments else ""
    if not is_literal(module):
        return Finding(DESTROY, f"{name} -m {display(module)}: what it runs is unknown until it runs")
    if (program := module.partition(".")[0]) in ("sb", "dotenv"):
        return judge.command([program, *arguments[1:]], stdin)
    unknown = Finding(NETWORK, f"{name} -m {display(module, 30)}: runs a module that is not inspected")
    shadowed = unknown if _is_shadowed(judge, module.partition(".")[0]) else QUIET
    if module in having("runs_as_module"):
        found = rule_finding(module, arguments[1:])
        if found:
            return highest(found, shadowed)
    if module == "timeit":
        code = "\n".join(word for word in arguments[1:] if word[:1] != "-")
        return highest(unknown, inspect_code(judge, code), _inline(judge, name, "python", code, ()))
    if module == "json.tool":
        writes = len(json_files(arguments)) > 1
        return highest(Finding(WRITE, f"{name} -m json.tool: writes a file") if writes else QUIET, shadowed)
    return highest(unknown, *(inspect_code(judge, word) for word in arguments[1:]))


def _is_shadowed(judge: Judge, module: str) -> bool:
    """True if the folder of a line may hold a module, or one of Python's own that it imports: Python looks there first."""
    known = {*(sys.stdlib_module_names - _NEVER_IMPORTED), module}
    for folder in judge.paths.now("."):
        try:
            names = os.listdir(folder)
        except OSError:
            return True
        for name in names:
            stem, dot, _ = name.partition(".")
            if stem in known and (
                dot or os.path.lexists(os.path.join(folder, name, "__init__.py")) or stem == module
            ):
                return True
    return False


def by_arguments(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge a program whose arguments and input may be commands in its own language."""
    texts = [word for word in arguments if compiled(r"[\s('\"]").search(word)]
    texts += [stdin.text] if stdin.kind == "text" else []
    known = rule_finding(name, arguments) or Finding(NETWORK, f"{name}: runs an unknown program")
    written = [target for text in texts for target in compiled(_EDITOR_WRITES).findall(text)[:_MOST_PATHS]]
    found = [judge.write(target, f"{name} w") for target in written]
    run = [line for text in texts for line in compiled(_EDITOR_RUNS).findall(text)[:_MOST_PATHS]]
    found += [judge.line(line) for line in run]
    return highest(known, *(inspect_code(judge, text) for text in texts), *found)


def inspect_code(judge: Judge, code: str) -> Finding:
    """Judge code without running it: refuse it if it names protected places or operator commands."""
    own = judge.paths.mentions(code)
    if own:
        judge.refuse(f"the code names {own}, which belongs to SecondBrain")
    if any(name in code for name in _OURS_IN_CODE) or compiled(_IMPORTS_OURS).search(code):
        judge.refuse("the code uses commands of sb that only an operator may run")
    if compiled(_STARTS_SHELL).search(code) and compiled(_REACHES).search(code):
        return Finding(DESTROY, "the code connects a shell to the network")
    if compiled(_CHANGES_FILES).search(code):
        whole = bool(compiled(_CHANGES_FOLDERS).search(code))
        for path in compiled(_QUOTED_PATH).findall(code)[:_MOST_PATHS]:
            above = whole and path[0] in "/~" and judge.paths.holds(path, only_ours=True)
            if above:
                judge.refuse(f"{display(path)}: contains {above}, which agents must not touch")
            if (found := change(judge, path, whole=whole)) is not QUIET:
                return found
    if settings := judge.paths.settings_in(code):
        return Finding(DESTROY, f"the code names {settings}, which configures agents")
    return QUIET
