"""The paths that a command line names, and which of them are SecondBrain's or a host's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from sb.shell.parsing.nodes import Unparsed
from sb.shell.parsing.words import (
    AS_PATTERN,
    BRACKET,
    MADE,
    OPERAND,
    QUESTION,
    STAR,
    UNKNOWN,
    compiled,
    fits,
    is_literal,
    is_sure,
)
from sb.shell.places.git_files import FOLDER, leads_git
from sb.shell.places.guarded import Guarded, Place
from sb.shell.places.places import matches
from sb.shell.places.repositories import foreign
from sb.shell.places.sensitive import (
    HIDDEN_HEADS,
    HOLD_SETTINGS,
    HOLDING,
    PROJECTS_OWN,
    SETTINGS_IN_CODE,
    Moved,
    folded,
    held_by,
    host_setting,
    moved_folders,
    sensitive,
    sensitive_end,
    setting_below,
)

_MOST_FOLDERS = 16
_MOST_LOOKS = 5000
_LONGEST_PATH = 4096
_DEEPEST = 64  # folders of a path that are looked at one by one
_OF_A_PROCESS = r"^/proc/(?:self|thread-self|\d+)/(?:task/\d+/)?(cwd|root)(?=/|$)"
_QUOTED_PATH = r"(?:[/'\"]|\.\./)NAME(?=[/'\"])"


def _tail(components: tuple[str, ...]) -> tuple[str, ...]:
    """The end of a protected path that identifies it in an unknown folder: from its hidden part on."""
    hidden = [at for at, part in enumerate(components) if part.startswith(".")]
    return components[hidden[-1] :] if hidden else components[-2:]


class Below(NamedTuple):
    """A protected place in a folder.

    Args:
        strictly: what lands there has to be known for sure; in a project what is there now counts.
    """

    name: str
    strictly: bool


class Paths:
    """The paths that words of a command line name, given the folders in which it may run.

    Args:
        cwd: where it starts. home: of the user. protected: files and folders that agents leave alone.
        guarded: places that agents do not change.
    """

    def __init__(
        self, cwd: Path, home: Path, protected: Sequence[Path], guarded: Guarded | None = None
    ) -> None:
        self.home = str(home)
        self.folders = [os.path.abspath(cwd)]
        self.guarded = guarded or Guarded()
        self.anywhere = False
        self.elsewhere = False  # paths are those of a container that has none of this machine's
        self.here = self.folders[0]  # the folder that the line is in by now; "" where that is not sure
        self.lost = False  # whether, where that is not sure, it may be in any folder
        self.previous = ""  # the folder before the last `cd`
        self.stack: list[str] = []  # of `pushd`
        self.wandered = False  # before the line began: then a protected place is known by its name alone
        self.dotglob = False
        self.arrived = False  # the line has brought files of which not all names are known
        self._real: dict[str, str] = {}  # nothing runs while the line is judged
        self._absent: set[str] = set()  # of the real paths
        both = {name for own in protected for name in (os.path.abspath(own), self._followed(str(own)))}
        self._protected = {name: folded(name) for name in sorted(both)}
        self._tails = {name: _tail(parts) for name, parts in self._protected.items()}
        self._seen: dict[tuple[str, int], list[str]] = {}
        self._protects: dict[tuple[str, int], str] = {}
        self._foreign: dict[int, str] = {}
        self._below: dict[str, Below | None] = {}
        self._looks = 0

    @cached_property
    def _moved_folders(self) -> Moved:
        return moved_folders()

    def enter(self, word: str) -> None:
        """Add a folder in which the line may run from here on."""
        if not is_literal(word) or word == "-" or len(self.folders) >= _MOST_FOLDERS:
            self.anywhere = True
            return
        for folder in self.places(word):
            if folder not in self.folders:
                self.folders.append(folder)

    def go(self, word: str) -> None:
        """Enter a folder; whether that succeeds is not checked."""
        places = self.now(word) if is_literal(word) and word != "-" else []
        self.previous = self.here
        if is_sure(word) and not places and word != "-":  # a pattern, which stands for folders that are there
            for place in self._present(word):
                self.enter(place)
        elif not (places or word.startswith(MADE)):
            self.lost = True
        if word.startswith(MADE):
            self.here = f"/{MADE}"
        else:
            sure = (
                places and (self.here or word.startswith(("/", "~"))) and not self.here.startswith(f"/{MADE}")
            )
            self.here = places[0] if sure else ""

    @property
    def position(self) -> tuple[str, bool, str]:
        """Where the line is by now, to come back to it."""
        return self.here, self.lost, self.previous

    @position.setter
    def position(self, position: tuple[str, bool, str]) -> None:
        self.here, self.lost, self.previous = position

    def now(self, word: str) -> list[str]:
        """The absolute paths that a word may name in the current folder of the line."""
        if len(word) > _LONGEST_PATH:
            raise Unparsed("a path is too long")
        here = self.here if not (".." in word and MADE in self.here) else ""
        return self._places(word, (here,) if here else self.folders)

    def spelled(self, word: str) -> str:
        """The absolute path of a written file, from the folder that the line is in; "" in one that it makes itself."""
        path = self.now(word)[0]
        return path if is_literal(path) else ""

    def entries(self, word: str, *, followed: bool = True) -> list[str]:
        """The absolute paths that a word may name now; a pattern stands for what it fits.

        Args:
            followed: links stand for what they lead to, else for nothing.
        """
        present = self._present(word)
        links = [] if followed else [place for place in present if os.path.islink(place)]
        led = {path for place in links for path in (place, os.path.realpath(place))}
        return [place for place in present if place not in led]

    def _present(self, word: str) -> list[str]:
        if is_literal(word):
            return self.now(word)
        if not is_sure(word):
            return []
        folders = [self.here] if self.here else self.folders
        word = self.home + word[1:] if word.startswith("~/") else word
        expanded = ((folder, matches(folder, word)) for folder in folders)
        return [os.path.join(folder, name) for folder, item in expanded if item for name in item[0]]

    def is_folder(self, word: str) -> bool:
        """True if a word may name an existing folder."""
        return is_literal(word) and any(os.path.isdir(place) for place in self.now(word))

    def is_home(self, place: str) -> bool:
        """True if a folder is the user's home or contains it."""
        parts = folded(place)
        return parts == folded(self.home)[: len(parts)]

    def of_the_session(self, place: str) -> bool:
        """True if a folder is the session's folder or contains it."""
        parts = folded(place)
        return parts == folded(self.folders[0])[: len(parts)]

    def contains(self, place: str) -> Below | None:
        """The protected place in a folder, present or not, that must not be overwritten unasked."""
        if self.elsewhere:
            return None
        if place not in self._below:
            self._below[place] = self._lies_below(place)
        return self._below[place]

    def _lies_below(self, place: str) -> Below | None:
        parts = folded(place)
        for name, own in self._protected.items():
            if len(parts) < len(own) and own[: len(parts)] == parts:
                return Below(name, strictly=True)
        if guarded := self.guarded.inside(parts):
            return Below(guarded.path, strictly=True)
        if name := held_by(place, self.home) or (FOLDER if FOLDER in parts else ""):
            return Below(name, strictly=True)
        if name := setting_below(parts):
            return Below(name, strictly=False)
        if guarded := self.guarded.inside(parts, absent=True):
            return Below(guarded.path, strictly=False)
        if self.of_the_session(place) or any(
            os.path.lexists(os.path.join(place, own)) for own in (".git", *HOLD_SETTINGS)
        ):
            return Below("settings of agents or git", strictly=False)
        return None

    def is_protected(self, place: str) -> bool:
        """True if a write to an absolute path needs approval or is refused."""
        if self.elsewhere:
            return False
        for path in dict.fromkeys((place, self._followed(place))):
            parts = folded(path)
            if any(parts[: len(own)] == own for own in self._protected.values()):
                return True
            if (
                host_setting(parts, moved=self._moved_folders)
                or sensitive(path, self.home)
                or self.guarded.of(parts)
            ):
                return True
        return False

    def fits(self, name: str, pattern: str) -> bool:
        """True if a name is one that a pattern of the line stands for."""
        if name.startswith(".") and not self.dotglob and not pattern.startswith("."):
            return False
        if BRACKET in pattern and ":" in pattern:
            return True
        return fnmatchcase(name, pattern.translate(AS_PATTERN).replace("[^", "[!"))

    def foreign(self) -> str:
        """A folder that the line may run in where git follows the settings of another repository, or ""."""
        key = len(self.folders)
        if key not in self._foreign:
            self._foreign[key] = foreign(self.folders, self.folders[0])
        return self._foreign[key]

    def run_by_git(self) -> str:
        """A folder that the line has gone to and from which git runs programs, or ""."""
        entered = self.folders[1:] if not self.elsewhere else ()
        return next((item for item in entered if leads_git(folded(item))), "")

    def places(self, word: str) -> list[str]:
        """The absolute paths that a word may name, by its spelling and with links followed."""
        if len(word) > _LONGEST_PATH:
            raise Unparsed("a path is too long")
        key = (word, len(self.folders))
        if key not in self._seen:
            self._looks += len(self.folders)
            if self._looks > _MOST_LOOKS:
                raise Unparsed("too many paths to check")
            self._seen[key] = self._places(word, self.folders)
        return self._seen[key]

    def _places(self, word: str, folders: Sequence[str]) -> list[str]:
        paths: dict[str, None] = {}
        if word.startswith("~"):
            name, _, rest = word.partition("/")
            if name[1:].lstrip("+-").isdigit() or name in ("~+", "~-"):  # a folder that the line was in
                for folder in self.folders:
                    paths |= dict.fromkeys(self._places(os.path.join(folder, rest), folders))
                return list(paths)
            someone = os.path.expanduser(name)  # another user's home; the same for one that is not known
            if name != "~" and someone != name:
                paths |= dict.fromkeys(self._places(os.path.join(someone, rest), folders))
            word = f"{self.home}/{rest}"
        for folder in folders:
            path = word if word[:1] == "/" else f"{folder.rstrip('/')}/{word}"
            if path.startswith("/proc/"):
                path = _of_this_process(path, folder)
            if is_literal(path):
                paths[os.path.normpath(path)] = paths[self._followed(path)] = None
            else:
                paths[_with_links_followed(path)] = None
        return list(paths)

    def _followed(self, path: str) -> str:
        """A path with its links followed; each folder is looked at once for a line."""
        real = self._real.get(path)
        if real is None:
            folder, _, name = path.rpartition("/")
            if path[:1] != "/" or name == ".." or path.count("/") > _DEEPEST:
                real = os.path.realpath(path)
            else:
                above = self._followed(folder) if folder else "/"
                real = self._entry(above, name) if name not in ("", ".") else above
            self._real[path] = real
        return real

    def _entry(self, folder: str, name: str) -> str:
        """An entry of a real folder, there or not, with its link followed."""
        real = f"{folder.rstrip('/')}/{name}"
        if folder in self._absent:
            self._absent.add(real)
            return real
        try:
            os.readlink(real)
        except (FileNotFoundError, NotADirectoryError):
            self._absent.add(real)
            return real
        except OSError:  # it is no link, or cannot be looked at
            return real
        return os.path.realpath(real)

    def protects(self, word: str) -> str:
        """The protected path that a word names or looks into, or ""."""
        key = (word, len(self.folders) + 100 * self.anywhere)
        if key not in self._protects:
            self._protects[key] = self._named(word)
        return self._protects[key]

    def _named(self, word: str) -> str:
        for piece in _pieces(word):
            if is_sure(piece):
                for place in self.places(piece):
                    parts, known = folded(place), is_literal(place)
                    for name, own in self._protected.items():
                        if parts[: len(own)] == own:
                            return name
                        if not known and len(parts) >= len(own) and self._match(parts, own):
                            return name
            rest = piece if piece.isprintable() else piece.replace(OPERAND, UNKNOWN).rpartition(UNKNOWN)[2]
            if self.anywhere or self.wandered or rest != piece:
                parts = folded(rest)
                for name, tail in self._tails.items():
                    if any(self._match(parts[at:], tail) for at in range(len(parts) - len(tail) + 1)):
                        return name
        return ""

    def holds(self, word: str, *, only_ours: bool = False) -> str:
        """The protected path, or host's settings unless `only_ours`, in the folder that a word names, or ""."""
        if not is_sure(word) or len(word) > _LONGEST_PATH:
            return ""
        for place in self.places(word):
            parts = folded(place)
            for name, own in self._protected.items():
                if len(parts) < len(own) and self._match(parts, own[: len(parts)]):
                    return name
            if not only_ours and parts and any(self._match(parts[-1:], (head,)) for head in HIDDEN_HEADS):
                return place
        return ""

    def guards(self, word: str) -> Place | None:
        """The guarded place that a word names or lies in."""
        sure = (piece for piece in _pieces(word) if is_sure(piece))
        places = (self.guarded.of(folded(path), self._match) for piece in sure for path in self.places(piece))
        return next(filter(None, places), None)

    def guards_inside(self, word: str) -> Place | None:
        """The guarded place that lies in the folder that a word names."""
        paths = self.places(word) if is_sure(word) and len(word) <= _LONGEST_PATH else ()
        return next(filter(None, (self.guarded.inside(folded(path), self._match) for path in paths)), None)

    def settings(self, word: str) -> str:
        """The settings of a host that a word names, or ""."""
        for piece in _pieces(word):
            parts = folded(piece.replace(OPERAND, UNKNOWN).rpartition(UNKNOWN)[2])
            places = [folded(place) for place in self.places(piece)] if is_sure(piece) else [parts]
            for parts in places:
                if setting := host_setting(parts, self._is_setting, self._moved_folders):
                    return setting
        return ""

    def _is_setting(self, part: str, name: str) -> bool:
        if is_literal(part):
            return fits(part, name)
        # Of a project's own files every pattern may match one of that name; it is meant where it is written out.
        return "." in name and name not in PROJECTS_OWN and self._matches(part, name)

    def settings_below(self, word: str) -> str:
        """The folder that a word names and in which a host looks for its settings, or ""."""
        for piece in _pieces(word):
            for place in self.places(piece) if is_sure(piece) else ():
                parts = folded(place)
                if any(self._ends_with(parts, folder) for folder in HOLDING):
                    return place
        return ""

    def _ends_with(self, parts: Sequence[str], folder: tuple[str, ...]) -> bool:
        for part, own in zip(reversed(parts), reversed(folder), strict=False):
            if own not in ("*", part) and (part.isprintable() or not self._matches(part, own)):
                return False
        return len(parts) >= len(folder)

    def mentions(self, code: str) -> str:
        """The protected path that a program's text names as it is written, or ""."""
        code = code.casefold()
        for name in self._protected:
            short = "~" + name[len(self.home) :] if name.startswith(self.home + "/") else name
            for text in (name, short, short.replace("~", "$home", 1), short.replace("~", "${home}", 1)):
                if text.casefold() in code:
                    return name
            hidden = "/".join(self._tails[name]) if self._tails[name][0].startswith(".") else ""
            if hidden and compiled(_QUOTED_PATH.replace("NAME", re.escape(hidden))).search(code):
                return name
        return ""

    def settings_in(self, code: str) -> str:
        """The settings of a host that a program's text names as they are written, or ""."""
        setting = compiled(SETTINGS_IN_CODE).search(code.casefold())
        return setting[0] if setting else ""

    def sensitive(self, word: str) -> str:
        """The reason why a write to a word's path needs approval, or ""."""
        if self.elsewhere:
            return ""
        if not is_sure(word):
            return sensitive_end(folded(word.replace(OPERAND, UNKNOWN).rpartition(UNKNOWN)[2]))
        for place in self.places(word):
            if why := sensitive(place, self.home):
                return why
            if not is_literal(place) and leads_git(folded(place), self._matches):
                return "changes what git runs"
        return ""

    def _match(self, parts: Sequence[str], own: Sequence[str]) -> bool:
        for part, name in zip(parts, own, strict=False):
            if part != name and (part.isprintable() or not self._matches(part, name)):
                return False
        return True

    def _matches(self, part: str, name: str) -> bool:
        if is_literal(part):
            return part == name
        if part[0] in (STAR, QUESTION, BRACKET) and name.startswith(".") and not self.dotglob:
            return False
        if BRACKET in part and ":" in part:
            return True
        return fnmatchcase(name, part.translate(AS_PATTERN).replace("[^", "[!"))


def _of_this_process(path: str, folder: str) -> str:
    """A path through /proc: its folder is the line's, not that of the process that judges it."""
    process = compiled(_OF_A_PROCESS).match(path)
    return (folder if process[1] == "cwd" else "") + path[process.end() :] if process else path


def _with_links_followed(path: str) -> str:
    """A pattern's path: links are followed up to the first component that is a pattern."""
    parts = path.split("/")
    first = next(at for at, part in enumerate(parts) if not is_literal(part))
    return os.path.normpath(os.path.join(os.path.realpath("/".join(parts[:first]) or "/"), *parts[first:]))


def _pieces(word: str) -> Iterator[str]:
    """A word, and what of it may be a path: `--db=PATH`, `@PATH`, `-CPATH`, `host:PATH`, `A:B`."""
    if not word or "\n" in word or len(word) > _LONGEST_PATH:
        return
    yield word
    if word[0] == "-" and len(word) > 2 and word[1] != "-":
        yield word[2:]
    if "=" in word or ":" in word or "," in word or "@" in word:
        rest = word.replace("=", "\n").replace(":", "\n").replace(",", "\n").replace("@", "\n")
        yield from (piece for piece in rest.split("\n")[:32] if piece and piece != word)
