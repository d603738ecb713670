"""Changes of guarded places by the words of a command."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sb.base.repository import git_root
from sb.shell.destinations.copying import copied
from sb.shell.parsing.words import compiled, display, is_literal
from sb.shell.places.guarded import refusal
from sb.shell.places.places import lies_below
from sb.shell.places.sensitive import GIVES
from sb.shell.programs.facts import WRAPPERS, WRITTEN_VARIABLES, having
from sb.shell.programs.options import Arrival, Content
from sb.shell.programs.rules import DESTROY, QUIET, READ, WRITE, Finding, highest, operands

if TYPE_CHECKING:
    from sb.shell.judge import Judge

_MOVE_OR_CLOSE, _REMOVE, _COPY = having("moves_or_closes"), having("removes"), having("copies_over")
# Settings of editors in a project, which people have agents write; the editor has agents of its own.
_OF_AN_EDITOR = ".vscode"
# Programs that name others, or packages, and read the files that they name.
_RUN_OR_READ = having("reads_operands") | {
    key.partition(" ")[0] for key in WRAPPERS if not key.startswith("git ")
}
# Options that name a file, or a folder, which is written.
_WRITING = (
    r"(?i:--?(?:[a-z]+-)*(?:out|output|out(?:put)?-?(?:file|dir|path|directory)|log|log(?:ger)?-?file|junitxml|junit-xml|html-report))"
    r"|--(?:export-marks|dump-header|trace|trace-ascii|stderr|etag-save|hsts|alt-svc|libcurl|save-cookies|index-file|report-log|basetemp|tee)"
    r"|-coverprofile|--generate-config-file"
)
# Of variables that name a file which is written, those that only add to it.
_ADDED_TO = ("GIT_TRACE", "PIP_LOG", "TF_LOG", "SSLKEYLOG", "LESSHISTFILE")
_NO_FILE = r"(?i)|\d+|true|false"  # as the value of a variable that may name one
_EDITED = r"--in-?place(?:=.*)?"  # all operands are files, which are written
_HARD = "-[a-zA-Z]*l[a-zA-Z]*|--link"
_OTHERWISE = having("output_options_differ")
_GO, _IN_PLACE = having("changes_folder"), having("edits_in_place")
_ADDING = r"(?i).*log.*|--stderr|--hsts|--alt-svc"
_EDITORS = frozenset(("sed", "gsed", "perl", "ruby"))  # which have rules of their own


def configure(judge: Judge, word: str, *, writes: bool = False) -> None:
    """Refuse a change of a host's settings; one of an editor's settings a person is asked about.

    Args:
        writes: the word surely names what is written, so that agents and programs of a host ask, too.
    """
    setting = judge.paths.settings(word)
    if writes and judge.paths.sensitive(word) == GIVES:
        judge.asked = judge.asked or f"{display(word)}: {GIVES}"
    if setting.startswith(f"{_OF_AN_EDITOR}/"):
        judge.asked = judge.asked or f"{display(word)}: decides about an editor and its agents"
    elif setting:
        judge.refuse(f"{display(word)}: configures agents; agents must not change it")


def take(judge: Judge, word: str, own: str) -> None:
    """Refuse what takes a folder with a protected place in it, or has a person asked, as of the place itself."""
    if os.path.basename(own).casefold() == _OF_AN_EDITOR:
        judge.asked = judge.asked or f"{display(word)}: holds settings of an editor and its agents"
    else:
        judge.refuse(f"{display(word)}: contains {own}, which agents must not touch")


def change(judge: Judge, word: str, *, whole: bool = False) -> Finding:
    """Judge the change of a path; `whole`: with everything in it."""
    if judge.links and any(
        lies_below(place, link) for place in judge.paths.now(word) for link in judge.links
    ):
        return Finding(DESTROY, f"{display(word)}: goes through a link that the same line makes")
    place = judge.paths.guards(word) or (judge.paths.guards_inside(word) if whole else None)
    if place and not place.asks:
        judge.refuse(refusal(display(word)))
    return Finding(DESTROY, f"{display(word)}: changes packages that sb uses") if place else QUIET


def written_by_variable(judge: Judge, name: str, values: Sequence[str]) -> Finding:
    """Judge the files that a variable has programs write."""
    if name not in WRITTEN_VARIABLES and not name.startswith("GIT_TRACE"):
        return QUIET
    files = [value for value in values if is_literal(value) and not compiled(_NO_FILE).fullmatch(value)]
    replaces = not name.startswith(_ADDED_TO)
    return highest(*(judge.write(file, f"{name}=", replaces=replaces) for file in files))


def changes(judge: Judge, base: str, arguments: Sequence[str], rank: int) -> Finding:
    """Judge the changes that a command makes to the files that it names.

    Args:
        rank: what the command is known to do. What copies write to is left out: that is judged as a write.
    """
    if {"uninstall", "remove", "rm"} & {base, *arguments} and any(map(_is_ours, arguments)):
        judge.refuse(f"{base}: removes sb, which agents must not do")
    for option, word in written_by_options(base, arguments):
        if any(map(judge.paths.is_protected, judge.paths.now(word))):
            if (written := judge.write(word, base)).rank == DESTROY:
                return written
        elif option == "--basetemp" and (own := judge.paths.holds(word)):
            judge.refuse(f"{display(word)}: would be emptied and contains {own}, which agents must not touch")
        if not compiled(_ADDING).fullmatch(option):
            judge.replace(judge.paths.entries(word))
    words = changed_words(base, arguments, rank)
    found = highest(*(change(judge, word, whole=whole) for word, whole in words))
    if _links_hard(base, arguments):
        found = highest(found, _linked_in(judge, base, arguments))
    if base == "ln":  # another name for a folder is another name for all that lies in it
        made = list(copied(judge, base, arguments))
        folders = (word for _, content in made if _is_folder(judge, word := _source(content)))
        found = highest(found, *(change(judge, word, whole=True) for word in folders))
        judge.links.extend(_links(judge, made))
    if base in ("rm", "unlink", "ln"):
        _refuse_a_link_above(judge, [arguments[at] for at in operands(arguments)])
    if rank != READ and base not in _GO and (place := judge.paths.guards(".")) and not place.asks:
        found = highest(
            found, Finding(DESTROY, f"{base}: runs in a folder that decides how calls are judged")
        )
    return found


def _links(judge: Judge, made: Sequence[Arrival]) -> list[str]:
    """The links that a line makes to protected places, or to folders that contain one."""
    paths = judge.paths
    led = (
        place
        for place, content in made
        if is_literal(place)
        and any(paths.contains(other) or paths.is_protected(other) for other in paths.now(_source(content)))
    )
    return [place for word in led for place in paths.now(word)]


def _source(content: Content | None) -> str:
    return content.source if content and is_literal(content.source) else ""


def _refuse_a_link_above(judge: Judge, words: Sequence[str]) -> None:
    """Refuse to remove or redirect a link on the path to a guarded place."""
    for word in words:
        if not (is_literal(word) and any(map(os.path.islink, judge.paths.now(word)))):
            continue
        inside = judge.paths.guards_inside(word)
        if judge.paths.holds(word, only_ours=True) or (inside and not inside.asks):
            judge.refuse(refusal(display(word)))


def _is_ours(word: str) -> bool:
    return word.lower().replace("_", "-").partition("=")[0] == "secondbrain-sb"


def _is_folder(judge: Judge, word: str) -> bool:
    return any(os.path.isdir(place) for place in judge.paths.places(word))


def written_by_options(base: str, arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Options that name an output file (a report, a log, a result), with their values."""
    if base in _OTHERWISE:
        return
    for at, word in enumerate(arguments):
        if word[:1] != "-" or len(word) < 2:
            continue
        option, equals, value = word.partition("=")
        if option in ("-o", "-O") or compiled(_WRITING).fullmatch(option):
            value = value if equals else "".join(arguments[at + 1 : at + 2])
        else:
            value = word[2:] if word[:2] in ("-o", "-O") and word[2] in "/~." else ""
        if value and is_literal(value):
            yield option, value
    if base not in _EDITORS and any(map(compiled(_EDITED).fullmatch, arguments)):
        words = (arguments[at] for at in operands(arguments))
        yield from (("--in-place", word) for word in words if is_literal(word))


def _links_hard(base: str, arguments: Sequence[str]) -> bool:
    """True if a command gives files a second name."""
    if base not in ("cp", "ln", "link"):
        return False
    soft = any(compiled("-[a-zA-Z]*s[a-zA-Z]*|--symbolic.*").fullmatch(word) for word in arguments)
    return (
        base == "link"
        or any(compiled(_HARD).fullmatch(word) for word in arguments)
        or (base == "ln" and not soft)
    )


def _linked_in(judge: Judge, base: str, arguments: Sequence[str]) -> Finding:
    """Judge second names of files outside of the project: what changes one by that name changes the other unseen."""
    from sb.shell.snapshots.area import temporary_folders  # most lines link nothing

    words = [arguments[at] for at in operands(arguments)]
    own = git_root(judge.paths.folders[0]) or judge.paths.folders[0]
    inside = tuple(f"{os.path.realpath(folder)}/" for folder in (own, *temporary_folders()))
    for word in filter(is_literal, words[:-1] or words):
        places = [os.path.realpath(place) for place in judge.paths.now(word) if os.path.isfile(place)]
        if any(not place.startswith(inside) for place in places):
            return Finding(
                DESTROY, f"{base} {display(word, 40)}: gives a file outside of the project a second name"
            )
    return QUIET


def changed_words(base: str, arguments: Sequence[str], rank: int) -> list[tuple[str, bool]]:
    """The words that name changed files, each with whether everything below changes too."""
    words = [arguments[at] for at in operands(arguments)]
    if base in _IN_PLACE:
        inplace = any(compiled("-[a-z]*i.*|--in-?place.*").fullmatch(word) for word in arguments)
        return [(word, False) for word in words if inplace]
    if base in _COPY or base in ("ln", "link"):
        return [(word, False) for word in words if _links_hard(base, arguments)]
    if base in _MOVE_OR_CLOSE:
        return [(word, True) for word in words[: -1 if base == "mv" and len(words) > 1 else None]]
    if rank not in (WRITE, DESTROY) or base in _RUN_OR_READ or base.startswith(("python", "pypy")):
        return []
    if base == "tar" and any(
        compiled("-?[A-Za-z]*[crut][A-Za-z]*|--create").fullmatch(word) for word in arguments[:1]
    ):
        return []
    whole = base in _REMOVE and rank == DESTROY
    return [(word, whole) for word in arguments if word[:1] != "-" and not word.startswith("if=")]
