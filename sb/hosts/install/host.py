"""What has to be known of a host to join it?"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sb.config.home import user_folder
from sb.errors import ConfigError
from sb.hosts.install.documents import Format, Malformed
from sb.hosts.install.entries import Entry, Handler, Layout
from sb.hosts.install.files import look
from sb.hosts.install.json_text import JsonText
from sb.repository import project_folder

STRICT = JsonText(relaxed=False)
RELAXED = JsonText(relaxed=True)
WAITS_S = 30  # how long a host waits for an answer, before it lets the call run; sb's own deadline is shorter


@dataclass(frozen=True)
class Places:
    """Where things are for this person, in this folder.

    Args:
        env: the environment.
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
        """The folder that a variable names, if it is absolute; else one below the person's own."""
        text = self.env.get(variable, "")
        return Path(text) if os.path.isabs(text) else self.home / default


@dataclass(frozen=True)
class Wanted:
    """What is asked for.

    Args:
        wrapper: the script that hosts run.
        fail_closed: the host is to refuse calls that could not be judged.
    """

    wrapper: Path
    fail_closed: bool = False

    def args(self, name: str, gate: bool) -> list[str]:
        return [name, "--fail-closed"] if gate and self.fail_closed else [name]


def peek(form: Format, file: Path) -> Any:
    """What a file says, or nothing if it cannot be read: its host complains of that itself."""
    try:
        return form.load(look(file).text())
    except (ConfigError, Malformed):
        return {}


# What can be seen of a host beside our entries: (is it bad, what, what to do).
Sight = tuple[bool, str, str]


@dataclass(frozen=True)
class Host:
    """A program that runs agents.

    Args:
        name: as `sb install` and `sb hook` take it.
        user_file: its configuration for all projects of a person.
        project_file: the one for a single project, None if it has none.
        root: the key under which our entries lie.
        entries: what is registered.
        form: of its file, unless that ends in `.toml`.
        extras: keys that the document must have.
        closes: whether it can be made to refuse when a hook fails.
        hooks: whether it calls hooks; one that does not only gets the entry of a server.
        steps: what a person does next.
        sights: what can be seen beside our entries.
    """

    name: str
    user_file: Callable[[Places], Path]
    project_file: Callable[[Places], Path] | None
    root: str
    entries: Callable[[Wanted], list[Entry]]
    form: Format = STRICT
    extras: tuple[tuple[str, Any], ...] = ()
    closes: bool = False
    hooks: bool = True
    steps: tuple[str, ...] = ()
    sights: Callable[[Path, Places], Iterable[Sight]] = lambda _file, _places: ()

    def layout(self, wanted: Wanted) -> Layout:
        """What the file is to hold; ours is also what any other choice would have written."""
        ours = {
            handler
            for closed in (False, True)
            for entry in self.entries(Wanted(wanted.wrapper, closed))
            for part in entry.value.get("hooks", [entry.value])
            if (handler := Handler.of(part)) is not None
        }
        return Layout(self.root, self.entries(wanted), frozenset(ours), self.extras)

    def format_of(self, file: Path) -> Format:
        from sb.hosts.install.toml_text import TomlText

        return TomlText() if file.suffix == ".toml" else self.form
