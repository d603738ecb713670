"""`sb run`: starts a host's program in confinement as a whole, with the profile of its project.

The process stays beside the host: it keeps the helper that answers its hooks alive, and moves away what the host, or
whatever it started, made of settings that were not there and so could not be closed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from glob import escape as glob_escape
from glob import glob
from pathlib import Path
from typing import Any

from sb.base.repository import project_folder
from sb.base.shipped import shipped_table
from sb.base.sources import Clock
from sb.base.text import nearest, plain
from sb.base.values.frozen import frozen
from sb.config import Config
from sb.config.home import user_folder
from sb.errors import UsageError
from sb.hosts.confinement import bubblewrap
from sb.hosts.confinement.needs import Need, rows_of
from sb.hosts.confinement.profile import Profile
from sb.hosts.confinement.terminal import is_closed_by_system, terminal_filter
from sb.hosts.confinement.watched import moved_away
from sb.hosts.hook_engine import engine_of_hooks
from sb.hosts.hooks import resident
from sb.hosts.hooks.calls.context import judging_context
from sb.hosts.hooks.confined.confining import Confining
from sb.hosts.hooks.event import HookEvent, Moment
from sb.hosts.install.records import installed_hosts
from sb.hosts.registry import WITH_RUN, WITH_SETTINGS
from sb.hosts.runs import NAME_BYTES, SECRET_BYTES, Run, Runs, environment_of
from sb.tools.hosted.guarding import current_runtime, interpreter

_HELPER_S = 10.0
_POLL_S = 0.02
_LOOK_S = 1.0
_OF_PROJECT = ".claude"  # the one folder of settings that Claude Code makes by itself
# Of the outer one of two: the inner one makes its own user namespace, and holds what runs in it.
_ALONE = (
    "--unshare-user",
    "--unshare-pid",
    "--dev-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--die-with-parent",
    "--",
)
_SIGNALLED = 128  # and the number of the signal, as shells have it


@frozen
class HostFiles:
    """Files of the user's home that a host's program needs, as `running.yaml` has them."""

    programs: tuple[str, ...]
    folder: str
    closed: tuple[str, ...]
    logins: tuple[str, ...]
    variable: str = ""
    copies: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    unpacked: tuple[str, ...] = ()
    settings: tuple[str, Mapping[str, Any]] | None = None

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """The environment of the program.

        Raises:
            UsageError: the variable of its settings holds no JSON object.
        """
        if self.settings is None:
            return dict(env)
        name, added = self.settings
        try:
            known = json.loads(env.get(name) or "{}")
        except ValueError:
            known = None
        if not isinstance(known, dict):
            raise UsageError(f"sb run: {name} is no JSON object", f"unset {name}, or correct it")
        return {**env, name: json.dumps({**known, **added})}

    def place(self, path: str, env: Mapping[str, str]) -> str:
        """The absolute path of one of these, where the host's variable has moved its folder."""
        moved = env.get(self.variable, "") if self.variable else ""
        if os.path.isabs(moved) and f"{path}/".startswith(f"{self.folder}/"):
            return os.path.realpath(moved + path[len(self.folder) :])
        return os.path.realpath(user_folder(env) / path)


def files_of(host: str) -> HostFiles:
    """The files that a host's program needs.

    Raises:
        UsageError: it cannot be run so.
    """
    if host not in WITH_RUN:
        known = ", ".join(WITH_RUN)
        raise UsageError(f"no host {plain(host, one_line=True)!r} to run{nearest(host, WITH_RUN)}", known)
    record: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in shipped_table(__file__, "running.yaml")[host].items()
    }
    return HostFiles(**record)


class HostRun:
    """One start of a host.

    Args:
        env: of the person who starts it. cwd: where.
    """

    def __init__(self, config: Config, host: str, env: Mapping[str, str], cwd: Path, clock: Clock) -> None:
        self._config, self._host, self._env, self._clock = config, host, env, clock
        self._files = files_of(host)
        self._cwd = os.path.realpath(cwd)
        self._project = project_folder(Path(self._cwd))
        event = HookEvent(host, "", Moment.OTHER, "", self._cwd)
        context = judging_context(config, event)
        self._confining = Confining(config, event, context, self._project, clock)

    def run(
        self, arguments: Sequence[str], *, program: str = "", using: Sequence[str] = ()
    ) -> tuple[int, list[str]]:
        """Run the host until it ends; returns its exit code, and what was put back, a clause each.

        Args:
            program: its path; by default it is looked for on PATH.
            using: programs whose credentials and sockets it may use.

        Raises:
            UsageError: it cannot be run here, and what to do.
            OSError: a file of SB_HOME cannot be written.
        """
        command = [self._program(program), *arguments]
        needs = _needs(using)
        self._files.environment(self._env)
        self._check()
        self._check_unpacked(command[0])
        self._start_helper()
        name, secret = os.urandom(NAME_BYTES), os.urandom(SECRET_BYTES)
        with contextlib.ExitStack() as stack:
            closing = stack.enter_context(self._closing())
            profile = self._profile(needs, closing)
            run = Run(self._host, self._project, profile, environment_of(self._env))
            folder = stack.enter_context(Runs(self._config.home).begin(run, name, secret))
            bubblewrap.make_denied(self._confining.store.denied)
            options = bubblewrap.arguments(profile, self._confining.store.denied)
            mounted = ("--ro-bind", str(folder), str(self._config.home.helper / resident.RUN))
            copies, descriptors = self._copies()
            code = self._start(
                [*options, *mounted, *copies, "--die-with-parent"], command, descriptors, closing
            )
        return code, closing.moved

    def _check(self) -> None:
        config, home = self._config, self._config.home
        if bubblewrap.INSIDE in self._env:
            raise UsageError("sb run: this is confined already", "run it in a terminal of your own")
        if not config.hooks.resident:
            raise UsageError(
                "sb run: hooks.resident is false, and without the helper its hooks cannot be answered",
                "set hooks.resident: true",
            )
        if resident.has_no_path(home):
            raise UsageError("sb run: the path of SB_HOME is too long for the helper's socket", "set SB_HOME")
        connected = self._host in installed_hosts(home) or self._host not in WITH_SETTINGS
        if not connected or current_runtime(home) is None:
            host = self._host if self._host in WITH_SETTINGS else "claude-code"
            raise UsageError(f"sb run: {self._host} is not connected", f"sb install {host}")
        if f"{os.path.realpath(user_folder(self._env))}/".startswith(f"{self._project.rstrip('/')}/"):
            raise UsageError(
                "sb run: this folder holds your whole home", "start it in the folder of a project"
            )
        engine = engine_of_hooks(home)
        self._confining.store.use(engine)
        if not engine.holds or engine.name != bubblewrap.NAME:
            fault = engine.fault or f"{engine.name} cannot hold a whole host"
            raise UsageError(
                f"sb run: nothing here confines a program: {fault}",
                "install bubblewrap, or pip install 'secondbrain-sb[confine]', then sb doctor",
            )
        if terminal_filter() is None and not is_closed_by_system():
            raise UsageError(
                "sb run: on this machine a confined program could type into your terminal",
                "sysctl dev.tty.legacy_tiocsti=0",
            )

    def _program(self, given: str) -> str:
        names = [given] if given else list(self._files.programs)
        for name in names:
            path = shutil.which(name, path=self._env.get("PATH", ""))
            if path:
                return os.path.abspath(path)
        raise UsageError(
            f"sb run: no program {' or '.join(plain(name, one_line=True) for name in names)} on PATH",
            "name it with --program PATH",
        )

    def _start_helper(self) -> None:
        """Have a helper, and wait until it can be asked.

        Raises:
            UsageError: it does not start.
        """
        until = time.monotonic() + _HELPER_S
        door = str(self._config.home.helper / resident.SOCKET)
        self._keep_helper()
        while not _listens(door):
            if time.monotonic() > until:
                raise UsageError("sb run: the helper that answers hooks does not start", "sb doctor")
            time.sleep(_POLL_S)

    def _keep_helper(self) -> None:
        home = self._config.home
        runtime = current_runtime(home)
        if runtime is not None and resident.running(home) is None:
            resident.start(home, str(runtime / "start.py"), interpreter())

    def _check_unpacked(self, program: str) -> None:
        """Raise UsageError if the program has not run in this home: inside it could not unpack itself."""
        missing = [path for path in self._files.unpacked if not (user_folder(self._env) / path).exists()]
        if missing:
            raise UsageError(
                f"sb run: {self._host} has not made ~/{missing[0]} yet, which it cannot make inside",
                f"start {os.path.basename(program)} once without sb run",
            )

    def _profile(self, needs: Sequence[Need], closing: _Closing) -> Profile:
        folders = [self._files.folder, *self._files.more]
        for path in self._files.more:
            os.makedirs(self._files.place(path, self._env), mode=0o700, exist_ok=True)
        state = [path for folder in folders if os.path.isdir(path := self._files.place(folder, self._env))]
        logins = [self._files.place(path, self._env) for path in self._files.logins]
        profile = self._confining.profile_of_host(state, needs)
        return replace(
            profile,
            read_only=(*profile.read_only, *closing.existing),
            unreadable=tuple(path for path in profile.unreadable if path not in logins),
        )

    def _copies(self) -> tuple[list[str], list[int]]:
        """The options that give the run copies of files, and the descriptors that hold these."""
        options: list[str] = []
        descriptors: list[int] = []
        for path in dict.fromkeys(self._files.place(path, self._env) for path in self._files.copies):
            if os.path.isfile(path):
                descriptors.append(_memory(Path(path).read_bytes()))
                options += ["--perms", "0600", "--bind-data", str(descriptors[-1]), path]
        return options, descriptors

    @contextlib.contextmanager
    def _closing(self) -> Iterator[_Closing]:
        """Settings that stay as they are; folders that are missing are there while it runs, so that they can be closed."""
        folder = self._files.place(self._files.folder, self._env)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        wanted = [
            os.path.join(folder, name[:-1])
            for name in self._files.closed
            if name.endswith("/") and "*" not in name
        ]
        wanted += [os.path.join(self._project, _OF_PROJECT)] if self._host == "claude-code" else []
        made = [path for path in wanted if not os.path.lexists(path)]
        for path in made:
            os.mkdir(path, 0o700)
        copies = [self._files.place(path, self._env) for path in self._files.copies]
        closing = _Closing(folder, self._files.closed, copies, self._confining.store.folder / "removed")
        try:
            yield closing
        finally:
            closing.look()
            closing.end()
            # Another run has them mounted, and would lose these mounts with them.
            for path in made if not Runs(self._config.home).any_live() else ():
                with contextlib.suppress(OSError):  # it was filled from outside
                    os.rmdir(path)

    def _start(
        self, options: list[str], command: list[str], descriptors: list[int], closing: _Closing
    ) -> int:
        rules = terminal_filter()
        if rules is not None:
            descriptors = [*descriptors, _memory(rules)]
            options = [*options, "--seccomp", str(descriptors[-1])]
        listed = _memory(bubblewrap.encoded(options))
        program = self._confining.store.engine().program
        # Around it a PID namespace of its own: nothing inside signals the helper, or any other process outside.
        outer = [program, *_ALONE] if self._has_namespace(program) else []
        process = subprocess.Popen(
            [*outer, *bubblewrap.starting(program, str(self._confining.store.folder), listed), *command],
            env=self._files.environment(self._env),
            pass_fds=(listed, *descriptors),
        )
        for descriptor in (listed, *descriptors):
            os.close(descriptor)
        with _leaving_signals_to(process):
            while True:
                try:
                    code = process.wait(_LOOK_S)
                except subprocess.TimeoutExpired:
                    self._keep_helper()
                    closing.look()
                else:
                    return code if code >= 0 else _SIGNALLED - code

    def _has_namespace(self, program: str) -> bool:
        """True where a PID namespace can be made: some containers close /proc to it."""
        done = subprocess.run(
            [program, *_ALONE, "true"], cwd="/", capture_output=True, timeout=_HELPER_S, check=False
        )
        return done.returncode == 0


class _Closing:
    """The settings of a host that a run does not change."""

    def __init__(self, folder: str, closed: Iterable[str], copies: Iterable[str], removed: Path) -> None:
        self._folder, self._removed = folder, removed
        self._patterns = [name.rstrip("/").casefold() for name in closed]
        # Of one that is not there no copy can be mounted.
        self._absent = [path for path in copies if not os.path.lexists(path)]
        self.existing = self._now()
        self._links = {path: os.readlink(path) for path in self.existing if os.path.islink(path)}
        self.moved: list[str] = []

    def _now(self) -> list[str]:
        names = sorted(os.listdir(self._folder))
        closed = (
            name for name in names if any(fnmatchcase(name.casefold(), pattern) for pattern in self._patterns)
        )
        nested = (pattern for pattern in self._patterns if "/" in pattern)
        inner = (
            path for item in nested for path in sorted(glob(os.path.join(glob_escape(self._folder), item)))
        )
        return [*(os.path.join(self._folder, name) for name in closed), *inner]

    def look(self) -> None:
        """Move away what was made since, and put back links: a mount holds what they name, and not themselves."""
        for path in self._now():
            link = self._links.get(path)
            if path not in self.existing or (link is not None and _link(path) != link):
                place = moved_away(path, self._removed)
                self.moved.append(f"moved {plain(path, one_line=True)} away, which was made inside{place}")
        for path, link in self._links.items():
            if not os.path.lexists(path):
                os.symlink(link, path)

    def end(self) -> None:
        """Move away what was made in place of a copy that ends with the run."""
        for path in filter(os.path.lexists, self._absent):
            place = moved_away(path, self._removed)
            self.moved.append(f"moved {plain(path, one_line=True)} away, which ends with the run{place}")


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _needs(using: Sequence[str]) -> list[Need]:
    """The rows of the table for programs, and the one for `sb` itself.

    Raises:
        UsageError: there is no row for one, or it gives nothing.
    """
    for name in using:
        rows = rows_of([name])
        if not any(row.credentials or row.sockets for row in rows):
            raise UsageError(
                f"--with: nothing is known that {plain(name, one_line=True)!r} needs", "such as git"
            )
    return rows_of(["sb", *using])


def _memory(content: bytes) -> int:
    """A descriptor of a file in memory."""
    descriptor = os.memfd_create("sb", 0)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(path) == 0


@contextlib.contextmanager
def _leaving_signals_to(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ignore what the terminal sends to both, and pass on what is sent to this process alone."""
    former = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGQUIT)}
    for number in (signal.SIGTERM, signal.SIGHUP):
        former[number] = signal.signal(number, lambda number, frame: process.send_signal(number))
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
