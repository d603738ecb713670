"""Arguments of a tool known by its name alone: paths, command lines, and their effects.

An argument is a path or a command line by its name or by its form. A document's content, a message and a query are data, whatever they
mention.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from sb.hosts.hooks.calls.context import JudgingContext
from sb.hosts.hooks.calls.overwriting import edits_named_text, holds_credentials
from sb.hosts.hooks.calls.reading import LONGEST_PATH, MOST_TEXTS, CallReading, folded_path
from sb.kernel.contracts import SafetyClass
from sb.shell import ShellVerdict
from sb.shell.handlers.handlers import HANDLERS
from sb.shell.places.git_files import FOLDER
from sb.shell.places.guarded import refusal
from sb.shell.places.sensitive import folded, host_setting, sensitive, setting_below
from sb.shell.programs.rules import rule_finding

_MOST_COMMANDS = 64  # of one call
_MOST_FOLDERS = 4
_MANY = 500  # texts of one call
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Verbs, as they stand among the words of a tool's name. What changes beats what reads.
_READING = word_set(
    "read get list ls search find view describe query fetch show stat info tree grep glob cat head tail count diff status log blame "
    "lookup browse navigate inspect explain open"
)
_CHANGING = word_set(
    "write create update edit delete remove rm move mv rename copy cp set put post insert append replace patch apply save store upload "
    "download extract unpack unzip untar execute run exec eval start push commit make mkdir touch chmod chown modify overwrite import "
    "export sync install build clear kill send screenshot record convert format trash erase purge wipe destroy clean clone archive "
    "compress zip tar link symlink restore"
)
# Tools that take a folder away, or carry off all that is in it.
_WHOLE = word_set(
    "cleanup delete remove rm rmdir unlink trash erase purge wipe destroy clean drop move mv rename copy cp archive compress zip tar pack "
    "backup chmod chown sync upload replace empty mirror"
)
_TAKING_AWAY = word_set(
    "delete remove rm rmdir unlink trash move mv rename erase purge wipe destroy chmod chown"
)
# Tools after which what a file held may be gone.
_LOSING = word_set(
    "write create update edit delete remove rm move mv rename set put overwrite replace save modify trash erase wipe "
    "purge destroy truncate unlink restore"
)
# Tools that put entries into a folder which the call does not name one by one.
_UNPACKING = word_set(
    "extract unpack unzip untar decompress download clone copy cp move mv sync mirror restore install import"
)
_RUNNING = word_set(
    "execute exec run shell bash sh zsh terminal command cmd process console spawn powershell cli ssh tmux pty repl start invoke session "
    "keys eval evaluate python node cell"
)
# Arguments, by the words of their names.
_OF_PATHS = word_set(
    "path paths file files filename filenames filepath filepaths dir dirs directory directories folder folders cwd workdir root uri uris "
    "destination dest notebook archive"
)
_OF_FOLDERS = word_set("cwd workdir dir directory folder root workspace")
_DATA = word_set(
    "content contents text body message messages query prompt description title summary thought thoughts observation observations "
    "markdown html data code snippet comment comments note notes reason explanation instruction instructions question answer sql "
    "expression function pattern regex old new search subject input stdin"
)
_COMMANDS = word_set("command commands cmd cmds commandline cmdline shellcommand bash zsh")
_PROGRAMS = word_set("program executable binary exe")  # with its arguments beside it
_SCRIPTS = word_set("script scripts code line lines bash sh")
_CODE = word_set("expression function source javascript js python")  # in a language that is not known
_TYPED = word_set("input keys keystrokes text data stdin")
_ARGUMENTS = ("args", "arguments", "argv", "params", "parameters", "flags", "options")
_VERBS = ("action", "operation", "op", "mode", "method", "verb", "command", "subcommand")
_ELSEWHERE = word_set(
    "github gitlab gitea bitbucket forgejo"
)  # whose paths are of a repository that they keep
_REPOSITORY_TOOLS = ("create_or_update_file", "push_files")
_GIT_READS = word_set("add commit stage")  # git's own, which leave the files as they are
# What tells a command line from a sentence, and a word at the place of a program.
_MARKED = re.compile(r"[;|`]|&&|\$\(|\s(?:-{1,2}[A-Za-z]|[~/.$]+[\w/])")
_PROGRAM = re.compile(r"(?:^|[;&|`(])\s*(?:[\w.-]*/)*([a-z][\w.-]*)(?=\s)")
_BEGINS_A_PATH = re.compile(r"[/~.$%\\]|file:|[A-Za-z]:[\\/]", re.IGNORECASE)
_ADDRESS = re.compile(r"(?!file:)[a-z][a-z0-9+.-]+://", re.IGNORECASE)


class Inspection(NamedTuple):
    """The effects of a call's arguments.

    Args:
        refused: why no agent may make it, or "".
        changes: absolute paths of what decides about agents, a login, git or the system, and would be changed.
        command: a command line that needs a person. cwd: where it would run.
        lost: the first of `changes` that holds credentials, "" for none.
    """

    refused: str = ""
    changes: tuple[str, ...] = ()
    command: str = ""
    verdict: ShellVerdict | None = None
    cwd: str = ""
    lost: str = ""


class _Leaf(NamedTuple):
    """A text among the arguments, with its name or that of its list."""

    name: str
    text: str


def inspect_arguments(call: CallReading) -> Inspection:
    """Inspect the arguments of an unknown tool: its paths and command lines."""
    try:
        return _inspect(call)
    except RecursionError:
        return Inspection("its arguments are nested too deeply to check")


def _inspect(call: CallReading) -> Inspection:
    if refused := call.own_read_refusal():
        return Inspection(refused)
    leaves = list(_leaves(call.args))
    folders = _folders(call, leaves)
    for folder in folders[1:]:
        refused = refused or call.at(folder).own_read_refusal()
    verbs = words(bare(call.tool))
    commands = _commands(verbs, call, folders)
    if refused or commands.refused:
        return commands._replace(refused=refused or commands.refused)
    if len(leaves) > MOST_TEXTS:
        return commands._replace(refused=f"too many texts that may be paths (limit {MOST_TEXTS})")
    places = _all_places(call, leaves, folders)
    if refused := call.own_path_refusal(places):
        return Inspection(refused)
    reading = bool(verbs & _READING) and not verbs & _CHANGING
    if reading or ("git" in words(call.tool) and verbs & _GIT_READS):
        return commands
    verbs |= {
        word for leaf in leaves if leaf.name in _VERBS and len(leaf.text) < 40 for word in words(leaf.text)
    }
    guarded = call.context.guarded.changed(places)
    if guarded is not None and not guarded.asks:
        return commands._replace(refused=refusal(guarded.path))
    for place in places:
        if why := _of_a_whole(place, verbs, call):
            return commands._replace(refused=why)
    changed = [place for place in places if _decides(place, verbs, call.context)]
    if verbs & _LOSING and not edits_named_text(call.native):
        lost = [place for place in places if holds_credentials(place)]
        return commands._replace(changes=tuple(dict.fromkeys((*changed, *lost))), lost=next(iter(lost), ""))
    return commands._replace(changes=tuple(changed))


def bare(tool: str) -> str:
    """A tool's own name, without its server's, where the host separates them."""
    if tool.startswith("mcp__"):
        return tool.partition("mcp__")[2].partition("__")[2] or tool
    if tool.startswith("mcp_"):
        return tool.removeprefix("mcp_").partition("_")[2] or tool
    return tool.removeprefix("MCP:")


def words(name: str) -> frozenset[str]:
    """The words of a name: `read_file`, `readFile` and `read-file` are read and file."""
    return frozenset(tokens(name))


def tokens(name: str) -> list[str]:
    """The same in order."""
    return [word.lower() for word in _WORD.findall(name)]


# --- paths


def _leaves(value: Any, name: str = "", depth: int = 0) -> Iterator[_Leaf]:
    """Texts with their names; names that look like paths count, and JSON in a text is parsed."""
    if isinstance(value, str):
        yield _Leaf(name, value)
        if depth < 4 and value[:1] in "{[" and value[-1:] in "}]" and not _is_data(name):
            try:
                yield from _leaves(json.loads(value), name, depth + 1)
            except (ValueError, RecursionError):
                return
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, name, depth)
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str):
                if "/" in key or "\\" in key or key[:1] in (".", "~"):
                    yield _Leaf("path", key)
                yield from _leaves(item, key, depth)


def _is_data(name: str) -> bool:
    names = words(name)
    return bool(names & _DATA) and not names & _OF_PATHS


def _all_places(call: CallReading, leaves: list[_Leaf], folders: list[str]) -> list[str]:
    """The absolute paths that the texts of a call may name."""
    if len(leaves) > _MANY:  # a table of values: only what looks like a path
        leaves = [
            leaf for leaf in leaves if "/" in leaf.text or "\\" in leaf.text or words(leaf.name) & _OF_PATHS
        ]
    remote = bool(words(call.tool) & _ELSEWHERE) or bare(call.tool) in _REPOSITORY_TOOLS
    calls = [(folder, call.at(folder) if folder else call) for folder in folders]
    return list(dict.fromkeys(place for leaf in leaves for place in _places(leaf, calls, remote=remote)))


def _places(leaf: _Leaf, calls: list[tuple[str, CallReading]], *, remote: bool) -> Iterator[str]:
    """The absolute paths that a text may name."""
    text = leaf.text
    named = bool(words(leaf.name) & _OF_PATHS)
    if not text or len(text) > LONGEST_PATH or "\0" in text or _ADDRESS.match(text) or _is_data(leaf.name):
        return
    if "\n" in text.strip():
        if named:  # a list, one a line
            for line in text.split("\n")[:256]:
                yield from _places(_Leaf(leaf.name, line), calls, remote=remote)
        return
    if remote and not (text.startswith(("/", "~", "$", "file:")) or ".." in text):
        return
    call = calls[0][1]
    for path in call.loose_spellings(text):
        blank = any(char.isspace() for char in path)
        if (
            blank
            and not named
            and not (_BEGINS_A_PATH.match(path) and os.path.lexists(os.path.expanduser(path)))
        ):
            continue  # a sentence
        for folder, there in calls:
            yield from there.readings(path)
            yield os.path.normpath(os.path.join(call.context.cwd, folder, path))


def _decides(place: str, verbs: frozenset[str], context: JudgingContext) -> bool:
    """True if a change of a path needs approval; for a tool that unpacks, also of its content."""
    home = str(context.home)
    if context.guarded.of(folded(place)):
        return True
    if host_setting(folded(place)) or sensitive(place, home) or sensitive(os.path.normcase(place), home):
        return True
    return bool(verbs & _UNPACKING) and (_above(place, [home]) or _holds_what_decides(place))


def _of_a_whole(place: str, verbs: frozenset[str], call: CallReading) -> str:
    """The reason why a tool must not move, delete or copy a whole folder, or ""."""
    if not verbs & _WHOLE:
        return ""
    guarded = call.context.guarded.inside(folded(place))
    if guarded is not None and not guarded.asks and verbs & _TAKING_AWAY:
        return refusal(guarded.path)
    own = next((own for own in call.owns if _above(place, [own])), "")
    if own and not (verbs & _UNPACKING and not verbs & {"move", "mv", "copy", "cp", "rename"}):
        return f"{place} contains {own}, which agents must not touch"
    if verbs & _TAKING_AWAY and _holds_settings(place):
        return f"{place} contains a host's settings, which agents must not change"
    return ""


def _holds_settings(place: str) -> bool:
    parts = folded(place)
    return bool(parts) and parts[-1].startswith(".") and bool(setting_below(parts))


def _holds_what_decides(place: str) -> bool:
    return _holds_settings(place) or FOLDER in folded(place)


def _above(place: str, others: list[str]) -> bool:
    at = folded_path(place).rstrip("/") + "/"
    return any((folded_path(other).rstrip("/") + "/").startswith(at) for other in others)


def _folders(call: CallReading, leaves: list[_Leaf]) -> list[str]:
    """The folders that relative paths of a call may be in: the session's, and those that an argument names."""
    folders = [""]
    for leaf in leaves:
        names = words(leaf.name)
        if (
            names & _OF_FOLDERS
            and leaf.text
            and "\n" not in leaf.text
            and len(leaf.text) <= LONGEST_PATH
            and "\0" not in leaf.text
        ):
            folders += [real for path in call.loose_spellings(leaf.text) for real in call.readings(path)]
        if len(folders) > _MOST_FOLDERS:
            break
    return list(dict.fromkeys(folders))[:_MOST_FOLDERS]


# --- command lines


class _Line(NamedTuple):
    """A command line among the arguments; not `surely` one if it may be a text in another language."""

    text: str
    surely: bool


def _commands(verbs: frozenset[str], call: CallReading, folders: list[str]) -> Inspection:
    worst = Inspection()
    for count, line in enumerate(command_lines(call.args, bool(verbs & _RUNNING))):
        if count == _MOST_COMMANDS:
            return Inspection(f"too many command lines (limit {_MOST_COMMANDS})")
        for folder in folders:
            verdict = call.line(line.text, folder)
            if verdict.refused:
                return Inspection(verdict.refused)
            needs = verdict.safety_class is SafetyClass.DESTRUCTIVE and (line.surely or verdict.parsed)
            if needs and not worst.command:
                worst = Inspection(command=line.text, verdict=verdict, cwd=str(call.context.cwd / folder))
    return worst


def command_lines(value: Any, running: bool, name: str = "", depth: int = 0) -> Iterator[_Line]:
    """The command lines among arguments, and code in other languages as a line that runs it.

    Args:
        running: whether the tool's name says that it runs commands.
    """
    if isinstance(value, dict):
        for key, item in value.items():
            beside = next((value[other] for other in _ARGUMENTS if other in value and other != key), None)
            if isinstance(item, str) and words(str(key)) & (_COMMANDS | _PROGRAMS) and beside is not None:
                yield from _with_arguments(item, beside)
            yield from command_lines(item, running, str(key), depth)
    elif isinstance(value, list):
        yield from _listed(value, running, name, depth)
    elif isinstance(value, str) and value.strip():
        names = words(name)
        single = len(value.split()) == 1
        if running and names & (_CODE | _SCRIPTS):
            yield _Line(f"python3 -c {shlex.quote(value)}", surely=False)
        if names & _COMMANDS:
            if running or not single:
                yield _Line(value, surely=running)
        elif running and names & _SCRIPTS:
            yield _Line(value, surely=bool(names & {"bash", "sh", "line"}))
        elif (running and (names & _TYPED or not (single or _is_data(name)))) or (
            not running and is_like_a_line(name, value)
        ):
            yield _Line(value, surely=False)
        elif depth < 4 and value[:1] in "{[" and value[-1:] in "}]" and not _is_data(name):
            try:
                yield from command_lines(json.loads(value), running, name, depth + 1)
            except (ValueError, RecursionError):
                return


def is_like_a_line(name: str, text: str) -> bool:
    """True if an argument of any name is a command line by its form: a known program with an option or a path, or behind `;`."""
    if len(text) > LONGEST_PATH or "\n" in text.strip() or _is_data(name) or not _MARKED.search(text):
        return False
    return any(rule_finding(base, []) or base in HANDLERS for base in _PROGRAM.findall(text)[:_MOST_COMMANDS])


def _listed(value: list[Any], running: bool, name: str, depth: int) -> Iterator[_Line]:
    names = words(name)
    texts = [text for text in value if isinstance(text, str)]
    shell = bool(texts) and fnmatchcase(os.path.basename(texts[0]), "*sh") and len(texts) > 1
    if (
        texts
        and len(texts) == len(value)
        and (shell or names & _COMMANDS or (running and name in _ARGUMENTS))
    ):
        if "commands" in names or "cmds" in names:  # each one is a line
            yield from (_Line(text, surely=running) for text in texts)
        yield _Line(shlex.join(texts), surely=True)
        yield _Line(" ".join(texts), surely=False)
    else:
        for item in value:
            yield from command_lines(item, running, name, depth)


def _with_arguments(command: str, beside: Any) -> Iterator[_Line]:
    if isinstance(beside, str):
        yield _Line(f"{command} {beside}", surely=False)
    elif isinstance(beside, list) and all(isinstance(word, str) for word in beside):
        yield _Line(shlex.join([command, *beside]), surely=False)
        yield _Line(" ".join([command, *beside]), surely=False)
