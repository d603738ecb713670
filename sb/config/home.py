"""The home folder and the paths in it."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Mapping
from pathlib import Path

from sb.base.text import plain
from sb.base.values.frozen import frozen
from sb.errors import ConfigError


def user_folder(env: Mapping[str, str]) -> Path:
    """The folder of `~`: HOME, or without it the user's entry in the system's user table.

    Raises:
        ConfigError: neither names an absolute folder.
    """
    try:
        folder = env.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a container's user need not be in the table
        folder = ""
    if not os.path.isabs(folder):
        raise ConfigError("no home folder: HOME is not an absolute path", "set HOME, or SB_HOME")
    return Path(folder)


def expand(text: str, base: Path, env: Mapping[str, str]) -> Path:
    """A path as people write it, made absolute; `..` is followed through symbolic links, as the system does.

    Args:
        text: may begin with `~/`; a relative one starts at `base`, which is absolute.

    Raises:
        ConfigError: it is empty, names another user's home, or has a character no path can have.
    """
    if not text or plain(text, one_line=True) != text:
        raise ConfigError(f"{plain(text, one_line=True)!r} is not a path")
    head, _, rest = text.partition("/")
    if head == "~":
        base, text = user_folder(env), rest.lstrip("/")
    elif head.startswith("~"):
        raise ConfigError(f"{head} is another user's home", "write the absolute path, or ./ before the name")
    path = base / text
    return Path(os.path.realpath(path)) if ".." in path.parts else path


@frozen
class Home:
    """The folder of one installation (SB_HOME, else ~/.sb) and the paths in it."""

    folder: Path

    @classmethod
    def locate(cls, env: Mapping[str, str]) -> Home:
        """The folder that `env` names; an empty SB_HOME counts as none. Nothing is created.

        Raises:
            ConfigError: SB_HOME is relative: from another folder it would be another installation.
        """
        text = env.get("SB_HOME") or "~/.sb"
        if not text.startswith(("/", "~")):
            raise ConfigError(
                f"SB_HOME is {plain(text, one_line=True)!r}, must be an absolute path or begin with ~/",
                "export SB_HOME=$PWD/… names a folder here",
            )
        try:
            return cls(expand(text, Path("/"), env))
        except ConfigError as error:
            raise ConfigError(f"SB_HOME: {error.message}", error.hint) from None

    @property
    def database(self) -> Path:
        return self.folder / "brain.db"

    @property
    def config_file(self) -> Path:
        return self.folder / "config.yaml"

    @property
    def anchors(self) -> Path:
        return self.folder / "anchors.jsonl"

    @property
    def statements(self) -> Path:
        return self.folder / "statements.jsonl"

    @property
    def workflows(self) -> Path:
        return self.folder / "workflows"

    @property
    def snapshots(self) -> Path:
        return self.folder / "kept"

    @property
    def trees(self) -> Path:
        """Trees of projects, as they were before calls."""
        return self.folder / "trees"

    @property
    def usage(self) -> Path:
        """Tokens of coding agents' sessions, one file each."""
        return self.folder / "usage"

    @property
    def open_requests(self) -> Path:
        return self.folder / "open"

    @property
    def digest_key(self) -> Path:
        return self.folder / "digest.key"

    @property
    def compiled_packs(self) -> Path:
        return self.folder / "compiled"

    @property
    def resident(self) -> Path:
        return self.folder / "resident"

    @property
    def helper(self) -> Path:
        """Where confined commands reach the resident helper."""
        return self.folder / "helper"

    @property
    def runs(self) -> Path:
        """Hosts that `sb run` started: a folder with a secret and a record for each."""
        return self.resident / "runs"

    @property
    def packets(self) -> Path:
        """Captured runs, encrypted."""
        return self.folder / "replay"

    @property
    def evals(self) -> Path:
        """Runs of evals, a file each."""
        return self.folder / "evals"

    @property
    def keys(self) -> Path:
        return self.folder / "keys"

    @property
    def charters(self) -> Path:
        return self.folder / "charters"

    @property
    def context_sources(self) -> Path:
        return self.folder / "sources.yaml"

    @property
    def trusted(self) -> Path:
        return self.folder / "trusted.json"

    def contains(self, path: Path) -> bool:
        """True if a path without symbolic links is this folder or lies in it."""
        return path.is_relative_to(os.path.realpath(self.folder))

    def create(self) -> None:
        """Make the folder, open to its owner only; an existing one stays as it is.

        Raises:
            ConfigError: it cannot be made, or is open to other users' writes.
        """
        try:
            if not self.folder.is_dir():
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"{self}: cannot be made: {error.strerror}", "set SB_HOME") from None
        self.exposure()

    def exposure(self) -> str:
        """A warning about what other users can see of the folder, or "".

        Raises:
            ConfigError: it is not a folder, or other users can write to it: who can, decides what code runs.
        """
        try:
            mode = self.folder.stat().st_mode
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise ConfigError(f"{self}: cannot be used: {error.strerror}", "set SB_HOME") from None
        if not stat.S_ISDIR(mode):
            raise ConfigError(f"{self}: is not a folder", "set SB_HOME to a folder")
        if mode & 0o022:
            raise ConfigError(f"{self}: other users can write to it", f"chmod 700 {self}")
        return f"{self}: other users can read it; chmod 700 {self}" if mode & 0o055 else ""

    def __str__(self) -> str:
        return plain(self.folder, one_line=True)
