"""Profiles and single-use tickets of one home, in SB_HOME/confine: written by hooks, used by `sb-confine`.

A profile of a folder is the engine's options in a file, so that the script that starts commands has only to find it. A
ticket holds the options of one call that may do more; it is bound to the command and its folder, and taken once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sb.base.files import write_atomic
from sb.base.sources import Clock
from sb.base.values.frozen import frozen
from sb.config.home import Home
from sb.hosts.confinement import processes
from sb.hosts.confinement.beside import hold_in_others, is_starting
from sb.hosts.confinement.contents import remove_unused
from sb.hosts.confinement.engines import (
    ENGINES,
    LOST,
    Engine,
    EngineKind,
    choose,
    is_lost,
    recorded,
    still_counts,
)
from sb.hosts.confinement.landlock import forget_ended
from sb.hosts.confinement.own_files import make_open, read_own
from sb.hosts.confinement.profile import Profile, contains, still_held
from sb.hosts.confinement.watched import Watch

OFF, REQUIRED, ENGINE, RAN = "off", "required", "engine", "ran"
KIND, PROGRAM = "kind", "program"  # of the engine, for `sb-confine`
OPTIONS = "options"  # the file of a folder's profile
ANY = "any"  # the session of a host that does not name it to its commands
SESSION = "CLAUDE_CODE_SESSION_ID"
_SESSION_ID = re.compile(r"[A-Za-z0-9-]{1,100}")
DEFAULT = "default"  # the profile of commands that no hook has judged
TICKET_S = 86_400.0  # a person may take that long to answer the host's question


@frozen
class Made:
    """Paths that one call needs, and that had to be made for it.

    Args:
        paths: files and folders, empty. absent: paths that are compared since it may make others beside those.
        brought: settings of hosts that git in it brings or takes away, which stay as it leaves them.
    """

    paths: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    brought: tuple[str, ...] = ()


def _made(body: dict[str, Any]) -> Made:
    return Made(*(tuple(filter(_is_text, body.get(name, ()))) for name in ("paths", "absent", "brought")))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def session_of(env: Mapping[str, str]) -> str:
    """The session that a host names in the environment of hooks and commands; `ANY` without one.

    Without it, a folder that became a link to another project's would run under what that project's session wrote.
    """
    named = env.get(SESSION, "")
    return named if _SESSION_ID.fullmatch(named) and named != ANY else ANY


class ConfineStore:
    """The files of `SB_HOME/confine`; no command of an agent can read or change them.

    Args:
        clock: for the age of tickets. kinds: of engines, the first that holds is used.
        session: the host's, by which `sb-confine` finds what was written for it and for no other; see `session_of`.
    """

    def __init__(
        self, home: Home, clock: Clock, kinds: Sequence[EngineKind] = ENGINES, *, session: str = ANY
    ) -> None:
        self.folder = home.folder / "confine"
        self.session = session
        self._clock = clock
        self._kinds = kinds
        self._engine: Engine | None = None

    @property
    def denied(self) -> Path:
        return self.folder / "denied"

    def engine(self) -> Engine:
        """The engine and whether it holds here, tried once for each start of the system and version of it; a fault, again.

        Raises:
            OSError: the folder cannot be written.
        """
        if self._engine is None:
            self._engine = self._known_or_first()
        return self._engine

    def use(self, engine: Engine) -> None:
        """Take an engine that another process tried for this one."""
        self._engine = engine

    def _known_or_first(self) -> Engine:
        self._open_again()
        candidates = [(kind, kind.find()) for kind in self._kinds]
        record, now = self._read(ENGINE), self._clock.now()
        known = recorded(record)
        if known is not None and still_counts(record, candidates, now):
            return known
        self.folder.mkdir(mode=0o700, exist_ok=True)
        former, record = record, choose(candidates, self.folder, now)
        engine = recorded(record) or Engine("")
        if known is not None and is_lost(former, record, [kind.name for kind, _ in candidates]):
            return Engine(known.program, LOST.format(engine.fault or engine.name), known.name, unknown=True)
        if known is None or engine.name != known.name:  # what was written for another says nothing to it
            for name in ("folders", "tickets"):
                shutil.rmtree(self.folder / name, ignore_errors=True)
        self._mark(PROGRAM, "")
        self._write(ENGINE, record)
        marks = (engine.program, *engine.kind.marks()) if engine.holds else ("",)
        self._mark(KIND, "\n".join((engine.name, *marks[1:])))
        self._mark(PROGRAM, marks[0])
        return engine

    def _open_again(self) -> None:
        """Undo what a command does to the modes of what `sb-confine` reads, which Landlock cannot hold."""
        for path, mode in ((self.folder, 0o700), *((self.folder / name, 0o600) for name in (KIND, PROGRAM))):
            with suppress(OSError):  # it is missing, or another user's
                if path.stat().st_mode & mode != mode:
                    path.chmod(mode)

    @property
    def copies(self) -> Path | None:
        """The folder for copies of watched files, where the engine cannot hold these; else None.

        Raises:
            OSError: the folder cannot be written.
        """
        return self.folder / "copies" if self.engine().kind.compares else None

    def is_alive(self) -> bool:
        """True while a confined process runs, of whichever engine, such as a server in the background."""
        return any(kind.is_alive(self.folder) for kind in self._kinds)

    def gaps(self, engine: Engine) -> tuple[str, ...]:
        """The gaps of an engine on this system, a sentence each."""
        return (*engine.kind.gaps, *((processes.GAP,) if processes.fault(self.folder) else ()))

    def known_engine(self) -> Engine | None:
        """The engine that hooks found last, or None before a first one."""
        return recorded(self._read(ENGINE))

    def set_mode(self, *, on: bool, required: bool) -> None:
        """Leave the marks by which `sb-confine` knows whether to confine, and whether it may do without.

        Raises:
            OSError: the folder cannot be written.
        """
        self.folder.mkdir(mode=0o700, exist_ok=True)
        for name, wanted in ((OFF, not on), (REQUIRED, required)):
            path = self.folder / name
            if wanted and not path.exists():
                path.touch(mode=0o600)
            elif not wanted:
                path.unlink(missing_ok=True)

    def put_profile(self, folder: str, profile: Profile) -> Path:
        """Save the profile of commands that start in a folder; returns its file.

        Raises:
            OSError: it cannot be written.
        """
        path = self._of_folder(folder)
        content = self._options(profile)
        try:
            if path.read_bytes() == content:
                os.utime(path)
                return path
        except OSError:
            make_open(path.parent, self.folder)
        write_atomic(path, content, durable=False)
        return path

    def put_default(self, profile: Profile) -> Path:
        """Save the profile of commands that no hook has judged; returns its file.

        Raises:
            OSError: it cannot be written.
        """
        path = self.folder / DEFAULT
        write_atomic(path, self._options(profile), durable=False)
        return path

    def _options(self, profile: Profile) -> bytes:
        engine = self.engine()
        kind = engine.kind
        kind.begin(self.folder, engine.program)
        return kind.options(profile, self.denied)

    def _of_folder(self, folder: str) -> Path:
        """Each name begins with a character more, so that no folder is in the place of a file."""
        names = [f"_{name}" for name in folder.split("/") if name]
        return self.folder.joinpath("folders", self.session, *names, OPTIONS)

    def issue(
        self,
        command: str,
        folder: str,
        profile: Profile,
        *,
        outside: bool,
        keyed: bool = False,
        tree: tuple[str, str] = ("", ""),
    ) -> None:
        """Save a ticket for one run of a command; an older one of the same call is replaced.

        Args:
            outside: it runs without an engine, since it cannot work inside. keyed: git in it has a person's keys.
            tree: the project whose tree is stored anew when the call begins, and the call's key; "" for none.

        Raises:
            OSError: it cannot be written. ValueError: no shell can be given this command.
        """
        if "\0" in command:
            raise ValueError("a command line cannot hold a null character")
        options = b"" if outside else self._options(profile)
        tickets = self.folder / "tickets"
        make_open(tickets, self.folder)
        ticket = self._ticket(command, folder)
        self.revoke(command, folder)
        write_atomic(Path(f"{ticket}.options"), options, durable=False)
        # The host hands the line over in quotes, so that is what the script compares.
        facts = {
            "command": _quoted(command),
            "folder": os.path.realpath(folder),
            "outside": "1" if outside else "",
            "keyed": "1" if keyed else "",
            "tree": tree[0],
            "key": tree[1],
            "path": _path_without(profile) if outside else "",
        }
        text = "".join(f"{name}={shlex.quote(value)}\n" for name, value in facts.items())
        write_atomic(ticket, text.encode(errors="surrogateescape"), durable=False)

    def revoke(self, command: str, folder: str) -> None:
        """Remove the ticket of a call that ended, or that nobody will run."""
        ticket = self._ticket(command, folder)
        for path in (ticket, Path(f"{ticket}.options"), Path(f"{ticket}.taken")):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _ticket(self, command: str, folder: str, session: str = "") -> Path:
        return self.folder / "tickets" / f"{session or self.session}.{name_of(command, folder)}.call"

    def last_run(self) -> float:
        """When `sb-confine` last started a command, in seconds since the epoch; 0 if it never did."""
        try:
            return (self.folder / RAN).stat().st_mtime
        except OSError:
            return 0.0

    def note_failure(self, command: str, folder: str, failure: dict[str, list[str]]) -> None:
        """Remember what a confined call could not do, so that a repeat asks for it.

        Raises:
            OSError: it cannot be written.
        """
        failures = self.folder / "failures"
        failures.mkdir(mode=0o700, exist_ok=True)
        body = {"at": self._clock.now(), **failure}
        write_atomic(failures / name_of(command, folder), json.dumps(body).encode(), durable=False)

    def note_made(self, command: str, folder: str, made: Made) -> None:
        """Remember what was made for a call that is about to run.

        Raises:
            OSError: it cannot be written.
        """
        (self.folder / "made").mkdir(mode=0o700, exist_ok=True)
        self._write(f"made/{self.session}.{name_of(command, folder)}", asdict(made))

    def made_for(self, command: str, folder: str) -> Made:
        """The paths made for a call, which it still has."""
        return _made(self._read(f"made/{self.session}.{name_of(command, folder)}"))

    def take_made(self, command: str, folder: str) -> Made:
        """The paths made for a call that has ended, or that nobody will run; once."""
        return self._take_made(self.folder / "made" / f"{self.session}.{name_of(command, folder)}")

    def take_all_made(self) -> list[Made]:
        """The paths made for calls of this session that never ended; once."""
        return [self._take_made(path) for path in self._own_made()]

    def not_run(self) -> list[Made]:
        """The paths made for calls of this session that `sb-confine` has not started."""
        tickets = self.folder / "tickets"
        waiting = (path for path in self._own_made() if not (tickets / f"{path.name}.call.taken").exists())
        return [_made(self._read(f"made/{path.name}")) for path in waiting]

    def _own_made(self) -> list[Path]:
        return [path for path in _files(self.folder / "made") if path.name.startswith(f"{self.session}.")]

    def _take_made(self, path: Path) -> Made:
        body = self._read(f"made/{path.name}")
        path.unlink(missing_ok=True)
        return _made(body)

    def take_back(self, command: str, folder: str, session: str = "") -> bool:
        """Take a call's ticket before `sb-confine` does; False if that has started the call with it.

        Args:
            session: of the call; "" for this one.
        """
        ticket = self._ticket(command, folder, session)
        try:
            Path(f"{ticket}.taken").touch(mode=0o600, exist_ok=False)
        except FileExistsError:
            return False
        except OSError:
            return True  # there are no tickets
        return True

    def was_taken(self, command: str, folder: str) -> bool:
        """True if `sb-confine` started the call with its ticket."""
        return Path(f"{self._ticket(command, folder)}.taken").exists()

    def process_of(self, command: str, folder: str, session: str = "") -> list[str]:
        """The number and the start of the process that `sb-confine` made of a call with a ticket; [] if they are not known.

        Args:
            session: of the call; "" for this one.
        """
        try:
            return os.fsdecode(read_own(Path(f"{self._ticket(command, folder, session)}.taken"))).split()
        except OSError:
            return []

    def failure(self, command: str, folder: str) -> dict[str, list[str]]:
        """Failures of an earlier run of the same call; {} if none is known."""
        body = self._read(f"failures/{name_of(command, folder)}")
        if abs(self._clock.now() - float(body.get("at", 0))) > TICKET_S:
            return {}
        return {name: list(map(str, paths)) for name, paths in body.items() if isinstance(paths, list)}

    def keep_watch(self, project: str, watch: Watch | None) -> None:
        """Save what a project's watched paths were before a call; None when nothing confined is left of it.

        Raises:
            OSError: it cannot be written.
        """
        name = f"watched/{name_of('', project)}"
        if watch is None:
            (self.folder / name).unlink(missing_ok=True)
            return
        (self.folder / "watched").mkdir(mode=0o700, exist_ok=True)
        self._write(name, asdict(watch))

    def watched(self, project: str) -> Watch | None:
        """The project's watched paths, as before the oldest confined call that may still change them."""
        body = self._read(f"watched/{name_of('', project)}")
        return Watch.from_json(body)

    def held_folders(self, besides: str = "") -> list[str]:
        """The folders that calls of all projects but one find held in their place, and that are still the same."""
        names = [path.name for path in _files(self.folder / "watched") if path.name != name_of("", besides)]
        watches = (Watch.from_json(self._read(f"watched/{name}")) for name in names)
        return [path for saved in watches if saved is not None for path in still_held(saved.held, saved.held)]

    def hold_in_others(self, folders: Sequence[str]) -> None:
        """Have calls of other sessions that were judged, and have not begun, hold folders in their place.

        Raises:
            OSError: what was written for them cannot be changed.
        """
        hold_in_others(self.folder, self.session, folders)

    def may_run(self) -> bool:
        """True while a confined process runs, or is about to.

        Raises:
            OSError: the folder cannot be written.
        """
        # In this order: what is about to run may run by the time of the second look.
        return is_starting(self.folder, self.engine().program) or self.is_alive()

    def tidy(self) -> None:
        """Remove tickets, failures and profiles that are too old to count, and profiles of folders that are gone."""
        for kind in ("tickets", "failures"):
            for path in _files(self.folder / kind):
                with suppress(OSError):
                    if self._is_old(path):
                        path.unlink()
        forget_ended(self.folder.parent)
        folders = self.folder / "folders"
        for path in sorted(folders.rglob(OPTIONS)) if folders.is_dir() else ():
            with suppress(OSError):
                if not _folder_of(path.relative_to(folders)).is_dir() or self._is_old(path):
                    path.unlink()
        watches = (self._read(f"watched/{path.name}") for path in _files(self.folder / "watched"))
        compared = [watch.contents for body in watches if (watch := Watch.from_json(body)) and watch.contents]
        remove_unused(
            self.folder / "copies",
            {digest for contents in compared for _, digest in contents.entries.values()},
        )

    def end_all(self) -> None:
        """End every confined process of the home, such as servers in the background."""
        for kind in self._kinds:
            kind.end_all(self.folder)

    def forget_profiles(self, project: str) -> None:
        """Remove the profiles of a session when it ends, or of a project's folders where sessions are not told apart.

        Args:
            project: its absolute path; "" for none.
        """
        if self.session != ANY:
            shutil.rmtree(self.folder / "folders" / self.session, ignore_errors=True)
        elif project.strip("/"):
            shutil.rmtree(self._of_folder(project).parent, ignore_errors=True)

    def _is_old(self, path: Path) -> bool:
        return abs(self._clock.now() - path.stat().st_mtime) > TICKET_S

    def remove(self) -> None:
        """Remove everything, when no host uses it any more; what still runs confined ends."""
        self.end_all()
        denied = self.denied / "folder"
        with suppress(OSError):
            denied.rmdir()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _mark(self, name: str, text: str) -> None:
        write_atomic(self.folder / name, f"{text}\n".encode(errors="surrogateescape"), durable=False)

    def _read(self, name: str) -> dict[str, Any]:
        try:
            body = json.loads(read_own(self.folder / name))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return {}
        return body if isinstance(body, dict) else {}

    def _write(self, name: str, body: dict[str, Any]) -> None:
        write_atomic(self.folder / name, json.dumps(body).encode(), durable=False)


def _folder_of(options: Path) -> Path:
    """The folder of a profile, by the place of its file below `folders`."""
    return Path("/", *(name[1:] for name in options.parent.parts[1:]))


def _path_without(profile: Profile) -> str:
    """PATH without folders in which a confined command may have put programs."""
    names = (name for name in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(name))
    folders = dict.fromkeys(map(os.path.realpath, names))
    places = (*profile.writable, *profile.opened)
    return os.pathsep.join(
        folder for folder in folders if not any(contains(place, folder) for place in places)
    )


def _quoted(command: str) -> str:
    """A line as Claude Code quotes it behind `eval`."""
    if re.fullmatch(r"[A-Za-z0-9_./:=@+,-]+", command):
        return command
    return "'" + command.replace("'", "'\"'\"'") + "'"


def name_of(command: str, folder: str) -> str:
    """A call by what it runs and where; a link to the folder is the folder."""
    facts = f"{os.path.realpath(folder)}\0{command}"
    return hashlib.sha256(facts.encode(errors="surrogateescape")).hexdigest()[:40]


def _files(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_file()]
    except OSError:
        return []


def forget_engine(home: Home) -> None:
    """Have the engine of a home tried anew, whatever held before."""
    (home.folder / "confine" / ENGINE).unlink(missing_ok=True)
