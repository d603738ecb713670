"""Judge small languages within a command line: sed, awk, SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sb.shell import tables
from sb.shell.handlers.interpreters import inspect_code, written_input
from sb.shell.handlers.sql import of_file, sql
from sb.shell.parsing.nodes import Unparsed
from sb.shell.parsing.words import UNKNOWN, compiled, display, is_literal
from sb.shell.programs.facts import lists
from sb.shell.programs.rules import (
    DESTROY,
    NETWORK,
    QUIET,
    READ,
    WRITE,
    Finding,
    highest,
    operands,
    rule_finding,
)

if TYPE_CHECKING:
    from sb.shell.judge import Judge
    from sb.shell.parsing.inputs import Input


# --- sed


def sed(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `sed`, whose scripts can write files and run commands."""
    scripts: list[str] = []
    files: list[str] = []
    found = QUIET
    in_place = False
    at = 0
    while at < len(arguments):
        word = arguments[at]
        at += 1
        if word in ("-e", "--expression"):
            scripts += arguments[at : at + 1]
            at += 1
        elif word.startswith(("-f", "--file")):
            found = Finding(NETWORK, f"{name} -f: runs a script that is not inspected")
            at += 0 if word[2:] and word != "--file" else 1
        elif word.startswith("--expression="):
            scripts.append(word.partition("=")[2])
        elif word.startswith(("-i", "-I", "--in-place")):
            in_place = True
        elif word[:1] == "-" and len(word) > 1:
            in_place = in_place or ("i" in word and word[1] != "-")
            if word[1] != "-" and word.endswith("e"):
                scripts += arguments[at : at + 1]
                at += 1
        else:
            files.append(word)
    if not scripts and found is QUIET:
        scripts, files = files[:1], files[1:]
    for script in scripts:
        if script.startswith(UNKNOWN):
            return Finding(DESTROY, f"{name}: the script is unknown until it runs")
        found = highest(found, _sed_script(judge, name, script))
    if in_place:
        for path in files:
            edits = bool(scripts) and all(map(is_edit, scripts))
            found = highest(found, judge.write(path, f"{name} -i", replaces=not edits))
        found = highest(found, Finding(WRITE, f"{name} -i: changes files"))
    return found if found.rank else Finding(READ, f"{name}: only reads")


_EDIT = (
    r"(?:[0-9,$]{1,20}|/[^/\n]{1,200}/)?s([/|#,@!%~])"
    r"(?:(?!\1).){0,200}?\w{3}(?:(?!\1).){0,400}\1(?:(?!\1).){0,400}\1[gpiIm0-9]{0,8}"
)
_ADDS = r"(?:[0-9]{1,9}|\$|/[^/\n]{1,200}/)? ?[ai](?:\\| )[^\n]{0,1000}"


def is_edit(script: str) -> bool:
    """True if a script of `sed` or `perl` replaces one text that it names, or adds lines, and leaves the rest of a file."""
    return compiled(f"{_EDIT}|{_ADDS}").fullmatch(script) is not None


_SED_ADDRESS = r"(?:\d+|[$,+~! \t\n;{}])+"
_SED_FLAGS = r"[gpiIm0-9]*"


def _sed_script(judge: Judge, name: str, script: str) -> Finding:
    found = QUIET
    at = 0
    unclear = Finding(NETWORK, f"{name}: a script that is not understood may run commands")
    while at < len(script):
        address = compiled(_SED_ADDRESS).match(script, at)
        if address:
            at = address.end()
            continue
        char = script[at]
        at += 1
        line_end = script.find("\n", at)
        line_end = len(script) if line_end < 0 else line_end
        if char in "/\\":
            delimiter = char if char == "/" else script[at : at + 1]
            at = _segment(script, at + (char == "\\"), delimiter)
            at += len(script[at : at + 1]) if script[at : at + 1] in ("I", "M") else 0
        elif char in "sy":
            at = _segment(script, _segment(script, at + 1, script[at : at + 1]), script[at : at + 1])
            flags = compiled(_SED_FLAGS).match(script, at) if at >= 0 else None
            if flags:
                at = flags.end()
                following = script[at : at + 1]
                if following == "w":
                    found = highest(found, judge.write(script[at + 1 : line_end].strip(), f"{name} w"))
                    at = max(line_end, at)
                elif following and following not in " \t\n;}":
                    return highest(found, unclear)
        elif char in "wW":
            found = highest(found, judge.write(script[at:line_end].strip(), f"{name} w"))
            at = line_end
        elif char == "e":
            command = script[at:line_end].strip()
            found = highest(found, Finding(NETWORK, f"{name} e: runs a command"))
            found = highest(found, judge.line(command)) if command else found
            at = line_end
        elif char in "aicrR#:btT":
            if char in "rR":
                judge.look(script[at:line_end].strip())
            at = (
                line_end
                if char in "aicrR#"
                else min(x for x in (script.find(";", at), line_end, len(script)) if x >= 0)
            )
        elif char not in "pdnNDGgHhxP=zFqQl":
            return highest(found, unclear)
        if at < 0:
            return highest(found, unclear)
    return found


def _segment(script: str, at: int, delimiter: str) -> int:
    """Behind the next delimiter that no backslash precedes, or -1."""
    if at < 0 or not delimiter or delimiter in "\n\\":
        return -1
    while at < len(script):
        if script[at] == "\\":
            at += 2
        elif script[at] == delimiter:
            return at + 1
        else:
            at += 1
    return -1


# --- awk

_AWK_STRING = r'"((?:[^"\\\n]|\\.)*)(?:"|\\?\Z|\n)'
_AWK_REGEX = r"(?:(?<=[(,{;!~&|\n])|^)[ \t]*/(?:[^/\\\n]|\\.)+(?:/|\\?\Z|\n)"
_AWK_RUNS = r"\bsystem[ \t]*\(|(?<!\|)\|(?!\|)|@load|@include|\|&"
_AWK_TARGETS = r"\bprintf?\b[^;}\n]{0,200}?>{1,2}[ \t]*\"([^\"\\\n]{1,400})\""
_AWK_WRITES = r"\bprintf?\b[^;}\n]{0,200}>"


def awk(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `awk`, whose programs can write files and run commands."""
    positions = operands(arguments, "-v -F --assign --field-separator -f --file -i --include -l --load")
    if any(
        word.startswith(("-f", "--file", "-i", "--include", "-l", "--load", "-E", "--exec"))
        for word in arguments
    ):
        return Finding(NETWORK, f"{name} -f: runs a program that is not inspected")
    if not positions:
        return QUIET
    program = arguments[positions[0]]
    named = inspect_code(judge, program)
    if program.startswith(UNKNOWN):
        return Finding(DESTROY, f"{name}: the program is unknown until it runs")
    bare = compiled(_AWK_REGEX).sub(" ", compiled(_AWK_STRING).sub('""', program))
    found = highest(Finding(READ, f"{name}: only reads"), named)
    if compiled(_AWK_WRITES).search(bare):
        found = highest(found, Finding(WRITE, f"{name}: writes files"))
        found = highest(
            found,
            *(judge.write(target, f"{name} >") for target in compiled(_AWK_TARGETS).findall(program)[:32]),
        )
    if compiled(_AWK_RUNS).search(bare):
        found = highest(found, Finding(NETWORK, f"{name}: runs commands"))
        for string in compiled(_AWK_STRING).findall(program)[:32]:
            found = highest(found, _perhaps_a_command(judge, string))
    return found


def _perhaps_a_command(judge: Judge, text: str) -> Finding:
    """A string of a program that runs commands: many are none."""
    known = len(judge.programs)
    try:
        found = judge.line(text)
    except Unparsed:
        found = QUIET
    if found.rank <= NETWORK:
        del judge.programs[known:]
        return QUIET
    return found


# --- databases


_FORMATS = frozenset(
    "-batch -bail -csv -json -header -noheader -line -list -column -box -table -echo".split()
)


def sqlite(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge the client of a local database file."""
    positions = operands(
        arguments, "-cmd -init -separator -newline -nullvalue -vfs -maxsize -lookaside -mmap -pagecache"
    )
    texts = [arguments[at] for at in positions[1:]]
    texts += [arguments[at + 1] for at, word in enumerate(arguments[:-1]) if word in ("-cmd", "--cmd")]
    stdin = written_input(judge, stdin)
    plain = {word for word in arguments if word[:1] == "-"} <= _FORMATS and not any(
        line.lstrip().startswith(".") for text in texts for line in text.split("\n")
    )
    path = arguments[positions[0]] if positions and texts and plain else ""
    if not texts:
        texts = [stdin.text] if stdin.kind == "text" else []
    if not texts and stdin.kind != "none":
        return Finding(NETWORK, f"{name}: runs statements that are not inspected")
    found = Finding(READ, f"{name}: only reads")
    for text in texts:
        found = highest(
            found,
            inspect_code(judge, text),
            *(_dot(judge, name, line.strip()) for line in text.split("\n") if line.strip().startswith(".")),
        )
        statements = "\n".join(line for line in text.split("\n") if not line.strip().startswith("."))
        found = highest(
            found, of_file(judge, path, statements, name) if path else sql(statements, name, found)
        )
        if "load_extension" in text or "edit(" in text or "fts3_tokenizer" in text:
            found = highest(found, Finding(NETWORK, f"{name}: loads code"))
    return found


_LOOKING = frozenset(
    ".tables .schema .dump .databases .mode .headers .indexes .show .stats .help .quit .width".split()
)


def _dot(judge: Judge, name: str, line: str) -> Finding:
    command, _, rest = line.partition(" ")
    if command in (".output", ".once", ".log", ".backup", ".save", ".clone", ".iotrace") and rest.strip()[
        :1
    ] not in ("", "|"):
        words = rest.split()
        written = highest(*(judge.write(word.strip("'\""), f"{name} {command}") for word in words))
        return highest(Finding(NETWORK, f"{name} {command}: writes a file"), written)
    if (".shell".startswith(command) and len(command) > 2) or (
        ".system".startswith(command) and len(command) > 2
    ):
        return highest(Finding(NETWORK, f"{name} {command}: runs a command"), judge.line(rest))
    if command in _LOOKING:
        return QUIET
    return Finding(
        NETWORK,
        f"{name} {display(command, 20)}: reads or writes files, or runs something that is not inspected",
    )


_PSQL_TARGETS = r"(?i)(?:\\copy\b[^;\n]{0,400}?\bto|\\(?:o|out|g|w))[ \t]+'?([^'\s;|]{1,400})"
_MONGO_DESTROYS = (
    r"\b(dropDatabase|drop|deleteMany|remove|deleteOne|dropIndexes|dropCollection|shutdownServer)\s*\("
)


def database(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge the client of a database server."""
    floor = Finding(NETWORK, f"{name}: talks to a database")
    found = highest(floor, rule_finding(name, arguments) or floor)
    options = lists("statements")[name]
    stdin = written_input(judge, stdin)
    texts = [stdin.text] if stdin.kind == "text" else []
    for at, word in enumerate(arguments):
        for option in options:
            if word == option or (
                len(option) == 2 and word[:1] == "-" and word[1:2] != "-" and word.endswith(option[1])
            ):
                texts += arguments[at + 1 : at + 2]
            elif word.startswith(option) and len(word) > len(option):
                texts.append(word[len(option) :].removeprefix("="))
    for text in texts:
        if "\\" in text or compiled(r"(?i)\bcopy\b").search(text):  # what may write a file of the client's
            found = highest(found, inspect_code(judge, text))
        if name.startswith("mongo"):
            hit = compiled(_MONGO_DESTROYS).search(text)
            found = highest(found, Finding(DESTROY, f"{name} {hit[1]}: destroys data") if hit else found)
            continue
        found = highest(found, sql(text, name, floor))
        for target in compiled(_PSQL_TARGETS).findall(text)[:32]:
            found = highest(found, judge.write(target, f"{name} \\o"))
        if "\\!" in text:
            found = highest(found, judge.line(text.partition("\\!")[2].strip()))
        if text.startswith(UNKNOWN):
            found = highest(found, Finding(DESTROY, f"{name}: the statements are unknown until they run"))
    return found


def redis(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge a client of redis: its operands are one command."""
    positions = operands(arguments, "-h -p -a -n -u -s -r -i --user --pass")
    words = [arguments[at].lower() for at in positions]
    if not words and stdin.kind == "unknown":
        return Finding(DESTROY, f"{name}: runs commands that are unknown until it runs")
    first = words[0] if words else (stdin.text.split() or [""])[0].lower()
    if first in tables.REDIS_DESTROYS.split() or not is_literal(first):
        return Finding(DESTROY, f"{name} {display(first, 20)}: destroys data")
    return Finding(NETWORK, f"{name}: talks to a database")
