"""The section of a project's AGENTS.md that tells agents how to use sb there: add it, renew it, remove it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sb.config.home import Home
from sb.hosts.install.files import FileChange, FileContent, read_file, refusal, refuse_unwritable, replace
from sb.hosts.install.records import Records

NAME = "agents-md"  # in the place of a host, for `sb install` and `sb uninstall`
FILE = "AGENTS.md"
BEGIN = "<!-- secondbrain:begin (written by `sb install agents-md`; edits up to the end are overwritten) -->"
END = "<!-- secondbrain:end -->"
_MARKER = re.compile(r"^[ \t]*<!-- secondbrain:(begin|end)\b[^\r\n]*", re.MULTILINE)
_LINE_BREAK = re.compile(r"(\r?\n)?")


def plan_install(project: Path) -> FileChange:
    """The change that adds the section to a project's AGENTS.md, or renews it in its place.

    A line break stands before it unless there was no file, so that a removal needs no record of what was there.

    Raises:
        ConfigError: the file cannot be read or written, is a link out of the project, or its markers are damaged.
    """
    current = _read(project)
    text = current.text()
    span = _span(current, text)
    newline = _newline(text[slice(*span)] if span else text)
    inside = Path(__file__).with_name("agents_section.md").read_text(encoding="utf-8")
    section = f"{BEGIN}\n{inside}{END}\n".replace("\n", newline)
    if span is not None:
        after = text[: span[0]] + section + text[span[1] :]
    else:
        after = section if current.content is None else text + newline + section
    return _checked(FileChange(current, current.encoded(after)))


def plan_removal(project: Path) -> FileChange:
    """The change that takes the section out again; the file goes if the section was all it had.

    Raises:
        ConfigError: as in `plan_install`.
    """
    current = _read(project)
    text = current.text()
    span = _span(current, text)
    if span is None:
        return FileChange(current, current.content)
    if span == (0, len(text)):
        return _checked(FileChange(current, None))
    head = text[: span[0]].removesuffix(_newline(text[slice(*span)]))
    return _checked(FileChange(current, current.encoded(head + text[span[1] :])))


def write(home: Home, change: FileChange) -> None:
    """Carry out a planned change.

    Raises:
        ConfigError: the file was changed since, or cannot be written; it is then as it was.
    """
    with Records(home).alone():
        replace(change.current, change.after)


def _read(project: Path) -> FileContent:
    current = read_file(project / FILE)
    if not current.target.is_relative_to(os.path.realpath(project)):
        # A repository may come from anybody: a link to a shell's start file would make commands of the section.
        raise refusal(current.path, f"is a link to {current.target}, outside the project")
    return current


def _checked(change: FileChange) -> FileChange:
    if change.needed:
        refuse_unwritable(change.current)
    return change


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _span(current: FileContent, text: str) -> tuple[int, int] | None:
    """Where the section begins and ends, with its last line break; None if there is none."""
    markers = list(_MARKER.finditer(text))
    if not markers:
        return None
    if [marker[1] for marker in markers] != ["begin", "end"]:
        line = text.count("\n", 0, markers[-1].start()) + 1
        hint = f"leave one line `{BEGIN[:22]}…` and one `{END}` after it, or remove both"
        raise refusal(current.path, f"line {line}: the markers of sb's section are damaged", hint)
    begin, end = markers
    last = _LINE_BREAK.match(text, end.end())
    return begin.start(), last.end() if last else end.end()
