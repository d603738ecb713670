"""Files that decide how calls are judged: those `sb install` recorded, else those of this process."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path

import sb
from sb.config.home import Home
from sb.shell.places.guarded import Guarded, Place, with_links_followed

LAUNCHER = "sb"
RECORD = "record.json"
# In these folders of a standard library are packages of whoever uses it.
_OF_OTHERS = ("site-packages", "dist-packages")
_OF_A_PROJECT = (
    *(".git", ".hg", ".jj", ".svn", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"),
    *("package.json", "Cargo.toml", "go.mod", "Pipfile"),
)
# What pipx and uv leave in an environment that they made for one program.
_RECEIPTS = ("pipx_metadata.json", "uv-receipt.toml")
_LIBRARIES = tuple({"lib", sys.platlibdir})
_RUNTIME = re.compile(r"^runtime=(.+)$", re.MULTILINE)


class Kind(StrEnum):
    """The kind of environment that `sb` is installed in."""

    ISOLATED = "isolated"  # its own: nothing else is installed there
    SHARED = "shared"  # other programs' too
    PROJECT = "project"  # a project's, or `sb` itself is being edited


def wrapper_path(home: Home) -> Path:
    return home.folder / "bin" / "sb-hook"


def confiner_path(home: Home) -> Path:
    """The script that starts the commands of agents in confinement."""
    return home.folder / "bin" / "sb-confine"


def current_runtime(home: Home) -> Path | None:
    """The folder that the wrapper starts `sb` from, or None: it was written by a version without."""
    try:
        return _runtime_of(wrapper_path(home).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=1)
def _runtime_of(wrapper: str) -> Path | None:
    found = _RUNTIME.search(wrapper)
    return Path("".join(shlex.split(found[1]))) if found else None


def guarded(home: Home, env: Mapping[str, str], rules: Sequence[Path] = ()) -> Guarded:
    """The guarded places.

    Args:
        env: its PATH names folders in which `sb` would be found.
        rules: files and folders that agents are judged by.
    """
    own = [Place(str(path), whole=False) for path in rules]
    return Guarded(lambda: dict.fromkeys([*_recorded(home), *with_links_followed([*own, *_launchers(env)])]))


def launcher(home: Home, env: Mapping[str, str]) -> str:
    """`sb` as a command line finds it: by its name where PATH has it, else where `sb install` was run from."""
    if shutil.which(LAUNCHER, path=env.get("PATH", "")):
        return LAUNCHER
    recorded = (place.path for place in _of_record(home) or ())
    named = (path for path in recorded if os.path.basename(path) == LAUNCHER and os.access(path, os.X_OK))
    return next((path for path in named if os.path.isfile(path)), LAUNCHER)


def _recorded(home: Home) -> Iterator[Place]:
    places = _of_record(home)
    if places is None:
        here = (*installation_places(kind_here()), *interpreter_places(interpreter()))
        places = with_links_followed(here)
    yield from places


def _of_record(home: Home) -> Iterable[Place] | None:
    """The places that `sb install` recorded, or None."""
    runtime = current_runtime(home)
    try:
        return _places_of((runtime / RECORD).read_bytes() if runtime else b"{}")
    except (OSError, ValueError, TypeError, KeyError):
        return None


@lru_cache(maxsize=1)
def _places_of(record: bytes) -> tuple[Place, ...]:
    fields = json.loads(record)["places"]
    return tuple(Place(path, asks, whole, tuple(free)) for path, asks, whole, free in fields)


def _launchers(env: Mapping[str, str]) -> Iterator[Place]:
    """The places where `sb` is found, or where another would be found first."""
    folders = [folder for folder in env.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    user = env.get("HOME", "")
    folders += [os.path.join(user, *own) for own in ((".local", "bin"), ("bin",)) if os.path.isabs(user)]
    for folder in dict.fromkeys(folders):
        yield from launcher_places(folder)


@cache
def _folder(name: str) -> str:
    """A folder of this installation, which stays where it is while the process lives; sysconfig expands each anew."""
    return sysconfig.get_path(name)


def launcher_places(folder: str) -> Iterator[Place]:
    """The program `sb` in a folder of programs, there or not."""
    path = os.path.join(folder, LAUNCHER)
    if not os.path.isdir(path):  # a folder of that name is no program, but may be a project's package
        yield Place(path, whole=os.path.lexists(path) and not in_project(folder))


def interpreter() -> str:
    """The base interpreter of an environment."""
    base: str = getattr(sys, "_base_executable", "") or sys.executable
    return base if os.path.isfile(base) else sys.executable


def interpreter_places(python: str) -> Iterator[Place]:
    """An interpreter, what it reads when it starts, and its standard library."""
    real = os.path.realpath(python)
    for program in dict.fromkeys((python, real)):
        folder = os.path.dirname(program)
        yield Place(program)
        # Whatever options it is given, these would have it take its standard library from elsewhere.
        for named in ("pyvenv.cfg", "pybuilddir.txt", f"{os.path.basename(program)}._pth", *_LIBRARIES):
            yield Place(os.path.join(folder, named))
        yield Place(os.path.join(os.path.dirname(folder), "pyvenv.cfg"))
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    prefix = os.path.dirname(os.path.dirname(real))
    libraries = {_folder("stdlib"), os.path.join(prefix, "lib", version)}
    for library in sorted(filter(None, libraries)):
        yield Place(library, free=_OF_OTHERS)
        archive = version.replace(".", "") + ".zip"
        yield Place(os.path.join(os.path.dirname(library), archive))
    if shared := sysconfig.get_config_var("INSTSONAME"):
        yield Place(os.path.join(sysconfig.get_config_var("LIBDIR") or os.path.join(prefix, "lib"), shared))


def installation_places(kind: Kind) -> Iterator[Place]:
    """The places in this environment that an operator's `sb` runs."""
    yield from launcher_places(_folder("scripts"))
    if kind is Kind.ISOLATED:
        yield Place(sys.prefix)
    elif kind is Kind.SHARED:
        for folder in packages_folders():
            yield Place(folder, asks=True)
        package = os.path.dirname(sb.__file__)
        yield Place(package)
        for found in Path(package).parent.glob("secondbrain_sb-*.dist-info"):
            yield Place(str(found))


def packages_folders() -> list[str]:
    """The folders of installed packages that this process can import."""
    named = (_folder("purelib"), _folder("platlib"))
    user = site.getusersitepackages() if site.ENABLE_USER_SITE else ""
    return [folder for folder in dict.fromkeys((*named, user)) if folder and folder in sys.path]


def kind_here() -> Kind:
    """The kind of this environment, by its path; `sb install` checks its packages too."""
    package = os.path.dirname(os.path.realpath(sb.__file__))
    if not any(package.startswith(os.path.realpath(folder) + os.sep) for folder in packages_folders()):
        return Kind.PROJECT
    if sys.prefix != sys.base_prefix:
        if any(os.path.exists(os.path.join(sys.prefix, name)) for name in _RECEIPTS):
            return Kind.ISOLATED
        if in_project(sys.prefix):
            return Kind.PROJECT
    return Kind.SHARED


def in_project(folder: str) -> bool:
    """True if a folder lies in a project."""
    try:
        user = str(Path.home())
    except RuntimeError:
        user = ""
    for above in (Path(folder), *Path(folder).parents):
        if str(above) in (user, "/"):
            return False
        if any(os.path.lexists(above / name) for name in _OF_A_PROJECT):
            return True
    return False
