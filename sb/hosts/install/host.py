"""A host as `sb install` sees it: a table of its files and our entries."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from sb.base.repository import project_folder
from sb.base.values.frozen import frozen
from sb.config.home import user_folder
from sb.errors import ConfigError
from sb.hosts.install.documents import Format, Malformed
from sb.hosts.install.entries import Entry, Handler, Layout
from sb.hosts.install.files import read_file
from sb.hosts.install.json_text import JsonText

STRICT = JsonText(relaxed=False)
RELAXED = JsonText(relaxed=True)
TIMEOUT_S = 30  # of a hook; most hosts then let the call run, so sb's own deadline is shorter
DENIED = 2  # the exit code by which hosts take a call as denied


@frozen
class Places:
    """Where a user's files are.

    Args:
        cwd: the folder whose project is meant.
    """

    env: Mapping[str, str]
    cwd: Path

    @property
    def home(self) -> Path:
        return user_folder(self.env)

    @property
    def settings(self) -> Path:
        """Where programs with a window keep their settings."""
        if sys.platform == "darwin":
            return self.home / "Library" / "Application Support"
        return self.named("XDG_CONFIG_HOME", ".config")

    @property
    def project(self) -> Path:
        """The root of the git repository, else the folder itself."""
        return Path(project_folder(Path(os.path.realpath(self.cwd))))

    def named(self, variable: str, default: str) -> Path:
        """The folder that a variable names, if it is absolute; else one below the home."""
        text = self.env.get(variable, "")
        return Path(text) if os.path.isabs(text) else self.home / default


@frozen
class Wanted:
    """Entries that an install writes.

    Args:
        wrapper: the script that hosts run.
        fail_closed: the script is to deny calls when `sb` is missing.
        confiner: the script that starts commands in confinement; None where that is off.
    """

    wrapper: Path
    fail_closed: bool = False
    confiner: Path | None = None

    def args(self, host: str, gate: bool = False) -> list[str]:
        """The arguments of the script; `gate`: the host can be made to deny the call of this event."""
        return [host, "--fail-closed"] if gate and self.fail_closed else [host]

    def command(self, host: str, gate: bool = False) -> str:
        """The script by its interpreter, since an agent's command may take its execute permission away."""
        return " ".join(["/bin/sh", shlex.quote(str(self.wrapper)), *self.args(host, gate)])

    def command_if_there(self, host: str, gate: bool = False) -> str:
        """A command that ends in silence when the script or its home is gone; of a gate, one that denies if it fails.

        A script or a folder that exists and cannot be opened is not gone. Any shell may read it.
        """
        places = (self.wrapper, *list(self.wrapper.parents)[:3])
        wrapper, folder, home, parent = (shlex.quote(str(path)) for path in places)
        denies = f" || exit {DENIED}" if gate else ""
        gone = f"[ -x {folder} -a ! -e {wrapper} ] || [ -x {parent} -a ! -d {home} ]"
        return f"{gone} || {self.command(host)}{denies}"

    def former_commands(self, host: str) -> list[str]:
        """The commands that earlier versions wrote, which needed the script's execute permission."""
        wrapper = shlex.quote(str(self.wrapper))
        plain = f"{wrapper} {host}"
        return [plain, f"{plain} --fail-closed", f"[ ! -x {wrapper} ] || exec {plain}"]


def peek(form: Format, file: Path) -> Any:
    """The document in a file, or an empty one if it cannot be read: its host reports that itself."""
    try:
        return form.load(read_file(file).text())
    except (ConfigError, Malformed):
        return {}


# What doctor can see of a host beside our entries: (is it bad, what, what to do).
Observation = tuple[bool, str, str]
SERVER = "secondbrain"  # the entry of the MCP server
_OFFERED = ("--toolset", "core", "--toolset", "kernel")


@frozen
class Host:
    """A program that runs agents; its settings and our entries in them, as a table.

    Args:
        name: as `sb install` and `sb hook` take it.
        folder: of its settings for all projects, below the home, unless the variable `folder_variable` names another;
            with `has_window` below the folder where such programs keep settings.
        file: in that folder. project_file: of a single project, below its root; "" if it has none.
        choose_file: another file to use in its place, by what is there.
        root: the key under which our entries lie.
        events: the hook events to register, none if it calls no hooks. gates: those of which it lets a call be denied.
        entry: the handler of an event, and closed: what that of a gate says besides; `handler` fills in what begins with @.
        grouped: whether a handler stands in a group, {"hooks": [handler]}.
        server: what the entry of the MCP server says beside its command.
        servers: the file that names its MCP servers, of a host with hooks; without hooks it is `file`.
        form: of its file, unless that ends in `.toml`.
        extras: keys that the document must have.
        confiner_variable: of its environment: names a program that it puts in front of each command line; "" if there is
            no such variable.
        can_fail_closed: whether it can be made to deny a call when a hook fails.
        steps: what the user does next. instead: for a host without hooks, what to do in place of an install.
        observations: what doctor can see beside our entries.
    """

    name: str
    folder: str
    file: str
    project_file: str
    root: str
    folder_variable: str = ""
    has_window: bool = False
    choose_file: Callable[[Path], Path] = lambda file: file
    events: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    entry: Mapping[str, Any] = field(default_factory=dict)
    closed: Mapping[str, Any] = field(default_factory=dict)
    grouped: bool = False
    server: Mapping[str, str] = field(default_factory=dict)
    servers: Host | None = None
    form: Format = STRICT
    extras: Mapping[str, Any] = field(default_factory=dict)
    confiner_variable: str = ""
    can_fail_closed: bool = False
    steps: tuple[str, ...] = ()
    instead: str = ""
    observations: Callable[[Path, Places], Iterable[Observation]] = lambda _file, _places: ()

    @property
    def has_hooks(self) -> bool:
        """True if it calls hooks; else its file gets the entry of `sb serve mcp`."""
        return bool(self.events)

    def part(self, server: bool) -> Host | None:
        """The host with the file of its hooks, or of its MCP servers; None without such a file."""
        if server:
            return self.servers if self.has_hooks else self
        return self if self.has_hooks else None

    def file_of(self, places: Places, scope: str) -> Path | None:
        """The file of the scope `user` or `project`; None for an unknown scope.

        Raises:
            ConfigError: the file that decides which one it is cannot be read.
        """
        if scope == "project":
            return self.choose_file(places.project / self.project_file) if self.project_file else None
        top = places.settings / self.folder if self.has_window else None
        return self.choose_file((top or places.named(self.folder_variable, self.folder)) / self.file)

    def entries(self, wanted: Wanted) -> list[Entry]:
        """Our entries, in the order in which they are added."""
        if not self.has_hooks:
            args = ["serve", "mcp", "--agent", self.name, *_OFFERED]
            server = {**self.server, "command": str(wanted.wrapper), "args": args}
            return [Entry((self.root, SERVER), server, named=True)]
        handlers = ((event, self.handler(event, wanted)) for event in self.events)
        return [
            Entry((self.root, event), {"hooks": [handler]} if self.grouped else handler)
            for event, handler in handlers
        ]

    def handler(self, event: str, wanted: Wanted) -> dict[str, Any]:
        """The handler of an event."""
        gate = event in self.gates
        made: dict[Any, Callable[[], Any]] = {
            "@wrapper": lambda: str(wanted.wrapper),
            "@args": lambda: wanted.args(self.name, gate),
            "@command": lambda: wanted.command(self.name, gate),
            "@guarded": lambda: wanted.command_if_there(self.name, gate),
            "@seconds": lambda: TIMEOUT_S,
            "@milliseconds": lambda: TIMEOUT_S * 1000,
        }
        entry = {**self.entry, **(self.closed if gate else {})}
        return {key: made[value]() if value in made else value for key, value in entry.items()}

    def layout(self, wanted: Wanted) -> Layout:
        """The layout of the file; our entries include those that any other choice would have written."""
        ours = {
            handler
            for closed in (False, True)
            for entry in self.entries(Wanted(wanted.wrapper, closed))
            for part in entry.value.get("hooks", [entry.value])
            if (handler := Handler.of(part)) is not None
        }
        if self.has_hooks:
            ours |= {Handler(command) for command in wanted.former_commands(self.name)}
        else:
            ours.add(Handler(str(wanted.wrapper), ("serve",)))  # as earlier versions wrote it
        values: tuple[tuple[tuple[str, ...], str], ...] = ()
        if self.confiner_variable and wanted.confiner is not None:
            values = ((("env", self.confiner_variable), str(wanted.confiner)),)
        return Layout(self.root, self.entries(wanted), frozenset(ours), tuple(self.extras.items()), values)

    def own_lines(self, wanted: Wanted) -> list[str]:
        """The command lines of our entries as this host's shell gets them, word for word."""
        servers = [] if self.servers is None else [entry.value for entry in self.servers.entries(wanted)]
        lines = [shlex.join([str(wanted.wrapper), *value["args"]]) for value in servers]
        return [shlex.quote(str(wanted.wrapper)), *lines]

    def format_of(self, file: Path) -> Format:
        from sb.hosts.install.toml_text import TomlText

        return TomlText() if file.suffix == ".toml" else self.form
