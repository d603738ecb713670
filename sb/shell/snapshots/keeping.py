"""Collects what a command line deletes and overwrites, so that snapshots can be taken before it runs.

The line is followed in the order in which it runs. What cannot be told exactly, or could be different by the time
that a command runs, is not collected: the line is then judged as if no snapshots existed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from sb.shell.judge import Judge
from sb.shell.parsing.nodes import Compound, Redirect, Simple, Word
from sb.shell.parsing.words import (
    BRACKET,
    STAR,
    VARIABLE_NAME,
    compiled,
    display,
    expand,
    is_literal,
    is_sure,
    unmatched,
)
from sb.shell.places.places import lies_below, located, matches, resolved
from sb.shell.programs.facts import having
from sb.shell.programs.rules import DESTROY, NETWORK, QUIET, READ, WRITE, Finding
from sb.shell.snapshots.overwriting import OVERWRITING, Change, Effect, Unknown, written

MOST_CHANGES = 4000  # paths of one line
_WITH_ENDING = rf"{STAR}\.\w[\w.]*"
_MOST_NAMED = 400  # paths of the commands that are not followed
_INERT, _MAKING, _NO_CONTENT, _DESTROYING, _BUILDS = map(
    having, ("inert", "makes", "keeps_content", "followed", "builds")
)
_GIT = ("reset", "rm ", "mv ", "checkout", "restore", "clean", "stash drop", "stash clear")
_GIT_MOVES = tuple(
    f"GIT_{name}"
    for name in "DIR WORK_TREE INDEX_FILE OBJECT_DIRECTORY ALTERNATE COMMON_DIR NAMESPACE CEILING CONFIG LITERAL GLOB "
    "NOGLOB ICASE DISCOVERY".split()
)
# Variables that decide how words, patterns and folders are read.
_READING = frozenset(
    "IFS CDPATH GLOBIGNORE PATH HOME PWD OLDPWD BASH_ENV ENV SHELLOPTS BASHOPTS POSIXLY_CORRECT TMPDIR".split()
)
_TRUSTED_FOLDERS = ("/bin", "/usr/bin")
_LOOSE_OPTIONS = r"[\s\S]*(?:dotglob|globstar|nocaseglob|nullglob|failglob|extglob|noglob)[\s\S]*"
_PLAIN = r"[\w./:@%+,-]*"  # values that no shell splits or expands
_STRICT_SET = r"-[eux]*(?:o)?|pipefail|errexit|nounset|xtrace"
# In these the commands may run several times, at another time, or not in this order.
_UNORDERED = frozenset(("for", "while", "function", "&", "coproc", "case"))
# In these each command runs only after those before it.
_IN_ORDER = ("{", "&&")


class Kept(NamedTuple):
    """The changes of a line, if they are known.

    Args:
        changes: all that it deletes and overwrites; None if that is not known.
        why: why it is not known, or "".
        others: the class of the parts that are not followed, whose changes are none of these.
        extra: contents by path that undoing needs besides.
        named: paths that the commands name which are not followed; they may change any of them.
        seen: the changes that are known where not all are.
    """

    changes: tuple[Change, ...] | None = ()
    why: str = ""
    others: int = READ
    extra: Mapping[str, bytes] = MappingProxyType({})
    named: tuple[str, ...] = ()
    seen: tuple[Change, ...] = ()


def _git_effect(folder: str, arguments: Sequence[str]) -> Effect:
    """The changes of a git command."""
    from sb.shell.snapshots.git import git_effect as effect  # most lines need no git

    return effect(resolved(folder) or folder, arguments)


NOTHING_KNOWN = Kept(None, "it cannot be parsed")


class Keeping:
    """The changes of one line, in the order in which they are made."""

    def __init__(self) -> None:
        self._changes: dict[Change, None] = {}
        self._why = ""
        self._obstacle = ""  # why the present command is not followed
        self._others = READ
        self._disturbed = ""  # the command that may have changed what paths name
        self._built = ""  # the command that builds: it changes only what it could delete as well
        self._moved: list[str] = []
        self._copied: list[str] = []
        self._known: set[str] = set()  # variables that this line surely set
        self._unordered = 0
        self._perhaps = 0  # inside of commands that may not run, or whose variables are lost
        self._before: list[set[str]] = []  # variables known when each open compound began
        self._extra: dict[str, bytes] = {}
        self._named: dict[str, None] = {}
        self._unsettled: set[str] = set()  # what of a repository is another by now
        self._loops: list[
            tuple[str, list[str], int, str]
        ] = []  # open compounds: variable, its texts, state before
        self._ended = False

    def result(self, judge: Judge) -> Kept:
        """The changes of the whole line."""
        absent = {change.path for change in self._changes if not os.path.lexists(change.path)}
        outermost = tuple(change for change in self._changes if not _has_above(change.path, absent))
        if judge.paths.guards("."):
            return Kept(None, "it runs in a folder that decides how calls are judged", self._others)
        if self._why:
            return Kept(None, self._why, self._others, self._extra, tuple(self._named), outermost)
        return Kept(outermost, "", self._others, self._extra, tuple(self._named))

    def end(self) -> None:
        """Leave out what follows: the line is judged again, for what a loop sets last."""
        self._ended = True

    def enter(self, judge: Judge, node: Compound) -> None:
        """Begin a compound command; the loop over known words may delete and edit, in whatever order that happens."""
        texts = self._loop_texts(judge, node)
        self._loops.append((node.name if texts else "", texts or [], len(self._changes), self._disturbed))
        self._unordered += node.kind in _UNORDERED and not texts
        self._perhaps += node.kind not in _IN_ORDER
        self._before.append(set(self._known))

    def leave(self, node: Compound) -> None:
        """End a compound command; its body may have run partly, so that its variables are not known."""
        name, texts, changes, disturbed = self._loops.pop()
        self._unordered -= node.kind in _UNORDERED and not texts
        if name and self._disturbed and not disturbed and len(self._changes) > changes:
            self._fail(f"{self._disturbed} runs before it")
        self._perhaps -= node.kind not in _IN_ORDER
        before = self._before.pop()
        self._known = self._known if node.kind == "{" else self._known & before

    def begin_pipe(self) -> int:
        """Begin a pipeline; its commands run at the same time."""
        self._perhaps += 1
        return len(self._changes)

    def end_pipe(self, before: int, parts: int) -> None:
        """End a pipeline that began with so many changes."""
        self._perhaps -= 1
        if parts > 1 and self._disturbed and len(self._changes) > before:
            self._fail(f"{self._disturbed} runs at the same time")

    def beside(self, found: Finding) -> None:
        """Take note of a part that is none of the followed commands."""
        if found.rank > READ and not self._ended:
            self._other(found, found.reason)

    def redirect(self, judge: Judge, redirect: Redirect, found: Finding) -> None:
        """Collect the file that a redirection overwrites."""
        if self._ended or found.rank == READ:
            return
        operator = redirect.operator
        texts = None if operator == "<" or self._inside(judge) else self._texts(judge, redirect.target)
        if found.rank == WRITE and texts and len(texts) == 1:
            target = texts[0]
            if self._collect(
                judge, lambda folder: Effect(written(folder, target)), f"{operator} {target}", texts
            ):
                return
        self._other(found, found.reason)

    def simple(
        self, judge: Judge, node: Simple, ran: Finding, writes: Sequence[str], replaced: Sequence[str] | None
    ) -> None:
        """Collect what a command changes.

        Args:
            ran: the class of the command alone. writes: what the judge knows that it writes.
            replaced: the files that it may replace; None if not all are known.
        """
        if self._ended:
            return
        self._assigned(judge, node)
        self._obstacle = ""
        if not node.words:
            return
        name = self._program(judge, node)
        plain = not node.assigned and not judge.renames and not self._inside(judge)
        if name and plain and self._leaves_paths(judge, node, name, ran):
            return
        allowed = (WRITE, DESTROY) if name in _DESTROYING else (WRITE,)
        known = name in OVERWRITING or self._is_git(judge, node, name)
        if known and plain and ran.rank in allowed and self._overwrites(judge, node, name, writes):
            return
        self.name(replaced or ())
        if (
            plain
            and ran.rank == WRITE
            and replaced is not None
            and self._unpacks(judge, node, name, replaced)
        ):
            ran = QUIET
        elif ran.rank == WRITE and name != "git":
            self._name(judge, node.words[1:])
        if ran.rank == DESTROY:
            self._fail(
                self._obstacle
                or f"sb undo cannot restore what {display(name or node.words[0].text, 30)} does"
            )
        elif ran.rank == NETWORK or not self._makes_only(node, name):
            self._others = max(self._others, ran.rank)
        shown = display(" ".join(word.text for word in node.words[:2]), 40)
        if plain and name in _BUILDS and ran.rank == NETWORK and not (self._unordered or self._in_loop()):
            self._built = self._built or shown
        else:
            self._disturbed = self._disturbed or shown
        self._known.clear()

    def _name(self, judge: Judge, words: Sequence[Word]) -> None:
        """Note the paths that a command names which is not followed, and those of equal names in its last one."""
        texts = [text for word in words for text in self._texts(judge, word) or () if text[:1] != "-"]
        here = judge.paths.here
        into = [f"{texts[-1]}/{os.path.basename(text.rstrip('/'))}" for text in texts[:-1]]
        for text in (*texts, *into):
            place = located(here, text) if here or text.startswith("/") else None
            self.name([place] if place else [])

    def name(self, places: Iterable[str]) -> None:
        """Note absolute paths that something which is not followed may change."""
        if len(self._named) < _MOST_NAMED:
            self._named.update(dict.fromkeys(places))

    def _is_git(self, judge: Judge, node: Simple, name: str) -> bool:
        """True if it is a git command that may be followed, with nothing in the environment that moves its files."""
        command = " ".join(word.text for word in node.words[1:3])
        return (
            name == "git"
            and command.startswith(_GIT)
            and not any(known.startswith(_GIT_MOVES) for known in judge.values)
            and not judge.paths.foreign()
        )

    def _loop_texts(self, judge: Judge, node: Compound) -> list[str] | None:
        """The values of a loop, if each is known and plain; None for any other compound command."""
        if (
            node.kind != "for"
            or not node.name
            or not node.words
            or node.name in _READING
            or self._inside(judge)
        ):
            return None
        found: list[str] = []
        for word in node.words:
            texts = self._texts(judge, word, [])
            if texts is None or not all(compiled(_PLAIN).fullmatch(text) for text in texts):
                return None
            found += texts
        return found

    def _in_loop(self) -> bool:
        return any(name for name, *_ in self._loops)

    def _value_of(self, judge: Judge, name: str) -> list[str] | None:
        """The plain texts that a variable has here; None if they are not known."""
        for loop, texts, _, _ in reversed(self._loops):
            if loop == name:
                return texts
        if name == "PWD":
            here = "" if judge.paths.wandered else judge.paths.here
            return [here] if compiled(_PLAIN).fullmatch(here) and here else None
        values = judge.values.get(name, ())
        plain = name in self._known and len(values) == 1 and compiled(_PLAIN).fullmatch(values[0])
        return list(values) if plain else None

    def _assigned(self, judge: Judge, node: Simple) -> None:
        for name, _ in node.assigned:
            sure = not (node.words or self._perhaps or self._unordered) and not judge.depth
            if name in _READING or any(name == loop for loop, *_ in self._loops):
                self._disturbed = self._disturbed or f"{name}="
            if sure and len(judge.values.get(name, ())) == 1:
                self._known.add(name)
            else:
                self._known.discard(name)

    def _inside(self, judge: Judge) -> bool:
        """True if the command is one of a line inside of the line, whose shell may be elsewhere."""
        return judge.depth > 0

    def _program(self, judge: Judge, node: Simple) -> str:
        text = "[" if node.words[0].text == BRACKET else node.words[0].text
        if not is_literal(text) or node.words[0].scripts:
            return ""
        folder, _, base = text.rpartition("/")
        return base if not folder or folder in _TRUSTED_FOLDERS else ""

    def _leaves_paths(self, judge: Judge, node: Simple, name: str, ran: Finding) -> bool:
        """True if all paths mean after a command what they meant before."""
        words = [word.text for word in node.words[1:]]
        if name == "cd":
            texts = [text for word in node.words[1:] for text in self._texts(judge, word) or ("", "")]
            if len(texts) > 1 or "" in texts or self._in_loop():
                return False
            relative = (
                words and not words[0].startswith(("/", "./", "../", "~")) and words[0] not in (".", "..")
            )
            if (relative and "CDPATH" in judge.values) or not os.access(judge.paths.here or "/", os.X_OK):
                return False
            return ran.rank == READ
        if name == "set":
            return all(compiled(_STRICT_SET).fullmatch(word) for word in words)
        if name == "printf" and "-v" in words:
            return False
        return (name in _INERT and ran.rank == READ) or (name in _MAKING and ran.rank == WRITE)

    def _makes_only(self, node: Simple, name: str) -> bool:
        second = node.words[1].text if len(node.words) > 1 else ""
        return name in _NO_CONTENT or f"{name} {second}" in _NO_CONTENT

    def _overwrites(self, judge: Judge, node: Simple, name: str, writes: Sequence[str]) -> bool:
        """True if all that a command changes could be collected."""
        arguments: list[str] = []
        looked: list[str] = []
        for word in node.words[1:]:
            texts = self._texts(judge, word, looked)
            if texts is None:
                self._not_followed(f"what {display(word.text, 30)} names is not known")
                return False
            arguments += texts
        shown = display(f"{name} {' '.join(arguments)}", 40)
        effect = _git_effect if name == "git" else OVERWRITING[name]
        texts = ["."] if name == "git" else arguments
        if self._built and not (self._moved or self._copied) and _end_in_names(node.words[1:]):
            looked = []  # what such a pattern fits only by then, the build has made
        if not self._collect(judge, lambda folder: effect(folder, arguments), shown, texts, looked):
            return False
        paths = {change.path for change in self._changes}
        for place in writes if name == "sed" else ():  # the judge read the same words by itself
            if located("/", place) not in paths:
                self._not_followed(f"{display(place)} may be written")
                return False
        return True

    def _unpacks(self, judge: Judge, node: Simple, name: str, replaced: Sequence[str]) -> bool:
        """True if a command unpacks or patches, and all that it replaces could be collected."""
        from sb.shell.destinations.replacing import unpacked, unpacks  # few lines need it

        if not unpacks(name, [word.text for word in node.words[1:]]):
            return False
        texts = [self._texts(judge, word) for word in node.words[1:]]
        if None in texts:
            return self._not_followed("what it unpacks is not known")

        named = [text for item in texts for text in item or ()]
        return self._collect(judge, lambda folder: unpacked(name, replaced), name, named)

    def _texts(self, judge: Judge, word: Word, looked: list[str] | None = None) -> list[str] | None:
        """The exact texts that bash makes of a word now; None if they are not known.

        Args:
            looked: takes the folders whose entries decided.
        """
        if word.scripts or word.text.startswith("="):
            return None
        values: dict[str, list[str]] = {}
        for name in compiled(VARIABLE_NAME).findall(word.text):
            texts = self._value_of(judge, name)
            if texts is None:
                return None
            values[name] = texts
        texts = expand(word.text, values)
        found: list[str] = []
        for text in texts:
            if not is_sure(text) or (
                text.startswith("~") and not compiled(r"~(?:/.*)?", 16).fullmatch(word.raw)
            ):
                return None
            if text.startswith("~"):
                text = judge.paths.home + text[1:]
            if is_literal(text):
                found.append(text)
                continue
            if self._patterns_vary(judge) or not (text.startswith("/") or judge.paths.here):
                return None
            expanded = matches(judge.paths.here or "/", text)
            if expanded is None:
                return None
            found += expanded[0] or [unmatched(text)]  # as bash hands it on
            if looked is not None:
                looked += expanded[1]
            if not expanded[0] and looked is None:
                return None
        return found

    def _patterns_vary(self, judge: Judge) -> bool:
        """True if the shell may read patterns otherwise than bash does by default."""
        options = "".join(f"{judge.values.get(name, [''])}" for name in ("BASHOPTS", "SHELLOPTS"))
        return (
            "GLOBIGNORE" in judge.values
            or judge.paths.dotglob
            or compiled(_LOOSE_OPTIONS).fullmatch(options) is not None
        )

    def _collect(
        self,
        judge: Judge,
        effect: Callable[[str], Effect],
        shown: str,
        texts: Sequence[str],
        looked: Sequence[str] = (),
    ) -> bool:
        """Add the changes of one command, if nothing before it in the line can make them others."""
        here = "" if judge.paths.wandered else judge.paths.here
        if not here and not all(text.startswith(("/", "-")) for text in texts if text):
            return self._not_followed(f"the folder of {shown} is not known")
        if self._unordered:
            return self._not_followed(f"{shown} may run several times")
        if self._disturbed:
            return self._not_followed(f"{self._disturbed} runs before it")
        # By then a link may stand there, which a slash at the end follows on some systems.
        if self._built and (looked or any(text.endswith("/") for text in texts)):
            return self._not_followed(f"{self._built} runs before it")
        try:
            found = effect(here or "/")
        except Unknown as unknown:
            return self._not_followed(str(unknown))
        except OSError as error:
            return self._not_followed(f"{shown} cannot be looked at: {error.strerror or error}")
        deletes = all(change.removed and not change.of_git for change in found.changes)
        if self._built and (found.looked or not deletes):
            return self._not_followed(f"{self._built} runs before it")
        repeatable = found.in_place or deletes
        if self._in_loop() and not (repeatable and not found.reads):
            return self._not_followed(f"{shown} may run several times")
        removed = {change.path for change in found.changes if change.removed}
        for place in (*(change.path for change in found.changes), *looked, *found.looked):
            if any(_meet(place, other) for other in self._moved):
                return self._not_followed(f"{shown} names what was moved before")
            if any(
                lies_below(place, other) or (place == other and place not in removed)
                for other in self._copied
            ):
                return self._not_followed(f"{shown} names what was copied before")
        self._changes.update(dict.fromkeys(found.changes))
        if unsettled := self._unsettled.intersection(found.reads):
            return self._not_followed(f"what {shown} does depends on the {min(unsettled)} by then")
        self._unsettled.update(found.unsettles)
        if any(change.path.endswith("/.gitignore") for change in found.changes):
            self._unsettled.add("ignore")
        self._extra.update(found.extra)
        self._moved += found.moved
        self._copied += found.copied
        if len(self._changes) > MOST_CHANGES:
            self._fail(f"it changes more than {MOST_CHANGES} paths")
        return True

    def _other(self, found: Finding, why: str) -> None:
        if found.rank == DESTROY:
            self._fail(why)
        self._others = max(self._others, found.rank)
        self._disturbed = self._disturbed or display(why, 40)

    def _fail(self, why: str) -> None:
        self._why = self._why or why

    def _not_followed(self, why: str) -> bool:
        """Note why the present command is not followed."""
        self._obstacle = why
        return False


def _end_in_names(words: Iterable[Word]) -> bool:
    """True if each pattern ends in a name that is written out, or in an ending: not all of a folder is meant."""
    ends = (word.text.rpartition("/")[2] for word in words if not is_literal(word.text))
    return all((is_literal(end) and end) or compiled(_WITH_ENDING).fullmatch(end) for end in ends)


def _meet(place: str, other: str) -> bool:
    return place == other or lies_below(place, other) or lies_below(other, place)


def _has_above(path: str, folders: set[str]) -> bool:
    """True if a folder of a path is among these."""
    above = os.path.dirname(path)
    while len(above) > 1:
        if above in folders:
            return True
        above = os.path.dirname(above)
    return False
