"""Destinations of a line, judged like its sources: nothing may land on a protected place.

A destination that merely contains a protected place is refused or waits if an entry would land on that, goes on if the entries are
known not to, and else waits.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sb.shell.destinations import listing
from sb.shell.destinations.arrivals import arrivals
from sb.shell.parsing.words import MADE, OPERAND, STAR, UNKNOWN, compiled, display, is_literal, is_sure
from sb.shell.places.sensitive import folded, setting_below
from sb.shell.programs.facts import having, texts
from sb.shell.programs.options import CHECKOUT, Arrival, Content
from sb.shell.programs.rules import DESTROY, QUIET, Finding, highest

if TYPE_CHECKING:
    from sb.shell.judge import Judge
    from sb.shell.parsing.inputs import Input

_FORCED = r"-[a-zA-Z]*f[a-zA-Z]*|--force"
_BESIDE_A_PATCH = frozenset(("git", "patch", "cd", "ls"))
_BACKUPS = (".orig", ".rej")  # that `patch` leaves beside a file
_MOST_ARRIVALS = 256  # of one command


def landing_findings(judge: Judge, program: str, arguments: Sequence[str], stdin: Input) -> Finding:
    """Judge the destinations of a program; refuse the line if one is a protected place."""
    found = _one_of_several(judge, program, arguments)
    spares = any(map(compiled(texts("spares").get(program, "(?!)")).fullmatch, arguments))
    spares = spares or (program == "ln" and not any(map(compiled(_FORCED).fullmatch, arguments)))
    for count, arrival in enumerate(arrivals(judge, program, arguments)):
        if count == _MOST_ARRIVALS:
            return Finding(DESTROY, f"{program}: writes to more places than can be checked")
        found = highest(found, _Landing(judge, program, arrival, stdin, spares=spares).judge())
    return found if found.rank == DESTROY else QUIET


def _one_of_several(judge: Judge, program: str, arguments: Sequence[str]) -> Finding:
    """Judge words with several values: which of them is the destination is unknown."""
    if not judge.several or program in having("sources_first"):
        return QUIET
    for word in arguments:
        for folder in judge.paths.now(word) if is_literal(word) and word[:1] != "-" else ():
            below = judge.paths.contains(folder)
            if below and below.strictly:
                return Finding(DESTROY, f"{program} {display(word, 40)}: may overwrite {below.name}")
    return QUIET


class _Landing:
    """One destination of a program."""

    def __init__(
        self, judge: Judge, program: str, arrival: Arrival, stdin: Input, *, spares: bool = False
    ) -> None:
        self._judge = judge
        self._by = program
        self._place, self._content = arrival
        self._stdin = stdin
        self._spares = spares  # what is there already

    def judge(self) -> Finding:
        place = self._place
        if place.startswith(MADE) and not self._judge.renames:
            return QUIET  # a new, empty folder
        if not is_literal(place):
            self._judge.replace([] if self._spares else self._judge.paths.entries(place))
            return self._not_known()
        self._judge.look(place)
        whole = not self._brings_more()
        if self._by in having("downloads"):
            self._judge.downloaded(place)
        moved_away = self._by == "mv" and self._content is None
        replaces = not moved_away and not self._spares
        found = self._judge.write(place, self._by, whole=whole, replaces=replaces)
        if found.rank == DESTROY or whole or self._content is None:
            return found
        self._judge.replace([] if self._spares else self._judge.paths.now(place))
        for folder in self._judge.paths.now(place):
            found = highest(found, self._inside(folder, self._content))
            self._judge.replace([] if self._spares else self._replaced(folder, self._content))
        return found

    def _replaced(self, folder: str, content: Content) -> list[str] | None:
        """The files below a folder that are there and may be replaced; None if they are not known."""
        if self._by == "mv" or not os.path.isdir(folder):
            return []
        names = self._names(content, folder, strictly=False, whole=True)
        if names is None or content.kind in ("checkout", "unknown"):
            return None
        backups = [f"{name}{end}" for name in names for end in _BACKUPS] if content.kind == "patch" else []
        places = (os.path.join(folder, name) for name in (*names, *backups))
        return [place for place in places if os.path.lexists(place)]

    def _not_known(self) -> Finding:
        """Judge a destination that is unknown until the line runs, wholly or in its last name."""
        place = self._place
        if place.startswith((UNKNOWN, OPERAND)) or not is_literal(place.rpartition("/")[0] or "."):
            if self._judge.paths.sensitive(place):
                return self._judge.write(place, self._by)
            if self._content and self._content.source == "/dev/null" and not is_sure(place):
                return self._waits("which file it empties is unknown until it runs")
            bare = not is_sure(place) and not place.lstrip(UNKNOWN + OPERAND).strip("/.")
            if bare and self._brings_more() and self._content != CHECKOUT:
                return self._waits("its destination is unknown until it runs")
            return QUIET
        parent, slash, name = place.rpartition("/")
        parent = parent or slash or "."
        self._judge.look(parent)
        found = self._judge.write(parent, self._by, whole=False)
        return highest(found, *(self._named_later(folder, name) for folder in self._judge.paths.now(parent)))

    def _named_later(self, folder: str, name: str) -> Finding:
        """Judge entries that a pattern names, or whose names are unknown."""
        names = self._matching(name) if is_sure(name) else None
        if names is not None:
            return highest(*(self._put(folder, item) for item in names))
        below = self._judge.paths.contains(folder)
        visible = is_sure(name) and name[:1] == STAR
        if below and (below.strictly or (self._brings_more() and not visible)):
            return self._waits(f"may overwrite {below.name}")
        return QUIET

    def _brings_more(self) -> bool:
        """True if a folder with entries may land."""
        return self._content is not None and self._content.kind != "file"

    def _put(self, folder: str, name: str) -> Finding:
        content = self._content
        if content is not None:
            source = os.path.join(os.path.dirname(content.source), name)
            content = content._replace(source=source)
        arrival = Arrival(os.path.join(folder, name), content)
        return _Landing(self._judge, self._by, arrival, self._stdin, spares=self._spares).judge()

    def _matching(self, pattern: str) -> list[str] | None:
        """The names that a pattern at the end of a source matches now; None if that may change."""
        source = self._content.source if self._content else ""
        parent, _, last = source.rpartition("/")
        if not source or last != pattern or not is_literal(parent):
            return None
        found: list[str] = []
        for folder in self._judge.paths.now(parent or "."):
            if not self._stays(folder, strictly=True) or not os.path.isdir(folder):
                return None
            names = listing.folder(folder, "", lambda _: False)
            if names is None:
                return None
            found += [name for name in names if self._judge.paths.fits(name, pattern)]
        return found

    def _inside(self, folder: str, content: Content) -> Finding:
        """Judge what lands below a folder."""
        below = self._judge.paths.contains(folder)
        names = self._names(content, folder, strictly=below.strictly) if below else None
        if names is None:
            self._judge.touched.add(folder)
        if not below:
            return QUIET
        if names is None:
            return self._waits(f"may overwrite {below.name}; use an empty folder first")
        found = QUIET
        for name in names:
            place = os.path.join(folder, name)
            if self._judge.paths.is_protected(place):
                self._judge.look(place)
                found = highest(found, self._judge.write(place, self._by))
            self._judge.touched.add(place)
        return found

    def _names(self, content: Content, into: str, *, strictly: bool, whole: bool = False) -> list[str] | None:
        """The entries that land, relative to the folder; None if unknown.

        Args:
            whole: all of them, however deep; else those that may be or hold a protected place.
        """
        if content.kind == "checkout":
            paths = self._judge.paths
            if setting_below(folded(into)):
                return None
            return None if strictly and (paths.is_home(into) or not paths.of_the_session(into)) else []
        if content.kind == "unknown":
            return None
        if content.source == "-":
            return self._read(content, strictly=strictly)
        if not is_literal(content.source):
            return None
        written = self._judge.written_script(content.source) if content.kind == "patch" else None
        alone = _BESIDE_A_PATCH.issuperset(self._judge.programs)  # so that nothing has changed the file since
        if written is not None and written.program == "git" and alone and not strictly:
            return []  # of what the repository has on record, in a file in between
        found: list[str] = []
        for place in self._judge.paths.now(content.source):
            if not self._stays(place, strictly=strictly):
                return None
            names = self._listed(place, content, into, whole=whole)
            if names is None and not strictly and not os.path.lexists(place):
                names = []  # there is nothing that could land
            if names is None:
                return None
            found += names
        return found

    def _read(self, content: Content, *, strictly: bool) -> list[str] | None:
        """The entries that land from a program's input; None if unknown."""
        if content.kind == "patch" and self._stdin.kind == "text":
            return listing.patch(self._stdin.text)
        if self._stdin.path:
            return self._names(content._replace(source=self._stdin.path), "", strictly=strictly, whole=True)
        if content.kind == "patch" and self._stdin.program == "git":
            return None if strictly else []  # of what the repository has on record
        return None

    def _listed(self, place: str, content: Content, into: str, *, whole: bool) -> list[str] | None:
        match content.kind:
            case "archive":
                return listing.archive(place, content.strip)
            case "patch":
                return listing.patch_file(place)
        if not os.path.lexists(place):
            return None
        return listing.folder(place, into, lambda path: whole or bool(self._judge.paths.contains(path)))

    def _stays(self, place: str, *, strictly: bool) -> bool:
        """True if nothing earlier in the line can have changed a place."""
        if strictly and not self._judge.settled:
            return False
        return self._judge.stays(place)

    def _waits(self, why: str) -> Finding:
        return Finding(DESTROY, f"{self._by} {display(self._place, 40)}: {why}")
