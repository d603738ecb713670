"""Runtimes: the folders SB_HOME/runtime/ID that hooks run from, made by `sb install` and never changed.

Each such folder holds `start.py` with the exact entries of the path, `lib` if the packages had to be copied, the caches
of compiled code, and the digests of all files that decide. The wrapper names one of them: replacing the wrapper switches
from one to the next.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sb.config.home import Home
from sb.errors import SBError
from sb.hosts.install.environment import NAME, Environment
from sb.hosts.install.files import read_file, replace
from sb.hosts.install.inventory import SKIPPED, Inventory, content, inventory, sizes
from sb.shell.places.guarded import with_links_followed
from sb.tools.hosted.guarding import (
    RECORD,
    Kind,
    current_runtime,
    installation_places,
    interpreter_places,
    launcher_places,
)

FILES = "files.json"
OWN_SKIPPED = SKIPPED | {"pycache", FILES, RECORD}
LIBRARY_SKIPPED = SKIPPED | {"site-packages", "dist-packages", "test", "idlelib", "lib2to3", "tkinter"}
_START = """\
# Written by `sb install`: starts sb from these folders and no others.
import sys

sys.path += {entries!r}
sys.argv[0] = "sb"
if __name__ == "__main__":
    from sb.__main__ import main

    main(__file__)
"""
# What a hook imports on its way to a verdict: it is compiled beforehand, and tried once.
_WARM = """
import sys
sys.path += {entries!r}
from importlib import import_module
from sb.hosts.registry import WITH_HOOKS, events_module
for host in WITH_HOOKS:
    import_module(events_module(host))
for name in ("sb.hosts.hooks.judging", "sb.hosts.hooks.confined.confining"):
    import_module(name)
for name in ("sb.__main__", "sb.hosts.hooks.main", "sb.hosts.hooks.guards.remembering", "sb.memory.brain", "sb.memory.search",
             "sb.resident.client", "sb.resident.server"):
    import_module(name)
from sb.config.memory import (Memory)
from sb.store.embedding.selection import choose
from sb.store import driver
import cryptography.hazmat.primitives.asymmetric.ed25519, rfc8785, yaml
choose(Memory())
driver.load_vectors(driver.connect(":memory:"))
import compileall, re
compileall.compile_dir({package!r}, quiet=2, rx=re.compile(re.escape({package!r}) + {unused!r}))
"""
# Of `sb` a hook never runs these; the rest it may import in the midst of an event.
_UNUSED_BY_HOOKS = r"/(commands|demo|evals|harness|screens)/"
# Of a package's files a hook never reads these.
_UNUSED_ENDINGS = (".pyi", ".pth", ".h", ".a", ".c", ".pyx", ".pxd")
_UNUSED_FOLDERS = frozenset(("tests", "__pycache__"))


class Runtimes:
    """The folders that hooks of one home run from, one of them in use.

    Args:
        home: whose `runtime` folder holds them. A lock of the caller keeps other installations out.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self.folder = home.folder / "runtime"

    def make(self) -> tuple[Path, str, Path]:
        """The folder for `sb` as it is installed now, whole; its interpreter, and where its `sb` is.

        Raises:
            SBError: `sb` is not installed, cannot be copied, or cannot be started from there.
        """
        environment = Environment()
        key = key_of(environment)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for known in sorted(self.folder.glob(f"{key}-*")):
            if is_whole(known):
                return self._recorded(known, environment)
        taken = {path.name for path in self.folder.iterdir()}
        made = next(self.folder / f"{key}-{n}" for n in range(1, 10_000) if f"{key}-{n}" not in taken)
        try:
            made.mkdir(mode=0o700)
            entries = _copied(environment, made / "lib") if copies(environment) else environment.folders
            (made / "start.py").write_text(_START.format(entries=entries), encoding="utf-8")
            _try(environment.python, made, entries)
            (made / FILES).write_text(json.dumps(_files(environment, made)), encoding="utf-8")
            os.sync()  # the wrapper, which is written next, must not survive a crash that this does not
            return self._recorded(made, environment)
        except BaseException as error:
            shutil.rmtree(made, ignore_errors=True)
            if isinstance(error, OSError | shutil.Error):
                raise SBError(f"{made}: cannot be created: {error}") from None
            raise

    def _recorded(self, made: Path, environment: Environment) -> tuple[Path, str, Path]:
        record = json.dumps(_record(environment), indent=1).encode()
        seen = read_file(made / RECORD)
        if seen.content != record:
            replace(seen, record)
        return made, environment.python, package_in(made, environment)

    def prune(self, *, keep: Path | None) -> list[Path]:
        """Remove the folders of earlier installs, also half-made ones; returns what was removed."""
        gone = [path for path in sorted(self.folder.glob("*")) if keep is None or path.name != keep.name]
        for path in gone:
            if path.is_symlink() or not path.is_dir():
                path.unlink()
            else:
                shutil.rmtree(path, ignore_errors=True)
        with contextlib.suppress(OSError):  # it is not there, or something is left in it
            self.folder.rmdir()
        return gone


def copies(environment: Environment) -> bool:
    """True if hooks need a copy: agents may change what is installed."""
    return environment.kind is not Kind.ISOLATED


def package_in(made: Path, environment: Environment) -> Path:
    """The folder of `sb` that a runtime imports."""
    if copies(environment):
        return made / "lib" / "sb"
    return Path(str(_origin("sb")))


def is_whole(made: Path) -> bool:
    """True if a folder was made to its end, and nothing in it was changed since."""
    try:
        known = json.loads((made / FILES).read_bytes())
        if not (made / RECORD).is_file() or not (made / "start.py").is_file():
            return False
        inside = os.path.join(made, "")  # joined once: these are thousands
        return all(_stamp(inside + name) == stamp for name, stamp in known["stamps"].items())
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False


def _stamp(path: str) -> list[int]:
    """A file's size and status time, which change with its content."""
    status = os.stat(path)
    return [status.st_size, status.st_ctime_ns]


def key_of(environment: Environment) -> str:
    """A name for the installation: the same for the same interpreter, packages and `sb`."""
    python = os.stat(environment.python)
    facts: list[Any] = [environment.kind, platform.python_version(), environment.python]
    facts += [python.st_size, python.st_mtime_ns, environment.folders]
    for package in environment.packages:
        listed = package.distribution.read_text("RECORD") or ""
        facts.append([package.name, package.version, str(package.root), listed])
    facts.append([inventory(folder) for _, folder in _own_folders()])
    facts.append(sizes(Path(sysconfig.get_path("stdlib")), LIBRARY_SKIPPED))
    facts += [] if copies(environment) else [sizes(Path(folder)) for folder in environment.folders]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _own_folders() -> Iterator[tuple[str, Path]]:
    """The folders of `sb` itself: an installation that is being edited has some of them elsewhere."""
    yield "sb", _origin("sb")
    for name in ("commands", "screens"):
        folder = _origin(f"sb.{name}")
        if folder != _origin("sb") / name:
            yield f"sb/{name}", folder


def _origin(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or not spec.origin:
        raise SBError(f"{name} cannot be found", "install sb again")
    return Path(spec.origin).parent


def _copied(environment: Environment, lib: Path) -> list[str]:
    """Copy `sb` and the packages that it imports; returns the entries of the path."""
    unwanted = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name, folder in _own_folders():
        shutil.copytree(folder, lib / name, ignore=unwanted)
    for package in environment.packages:
        for file in package.files():
            if package.name == NAME and not file.parts[0].endswith(".dist-info"):
                continue
            if not file.name.endswith(_UNUSED_ENDINGS) and not _UNUSED_FOLDERS & set(file.parts[:-1]):
                _copy(package.root / file, lib / file)
    return [str(lib)]


def _copy(source: Path, target: Path) -> None:
    if not source.is_file():
        return  # an installer lists what it removed later
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    if os.access(source, os.X_OK):
        target.chmod(0o700)


def _try(python: str, made: Path, entries: list[str]) -> None:
    """Compile what hooks import, and import it, as hooks will.

    Raises:
        SBError: that does not work.
    """
    package = str(made / "lib" / "sb") if (made / "lib").is_dir() else str(_origin("sb"))
    code = _WARM.format(entries=entries, package=package, unused=_UNUSED_BY_HOOKS)
    options = ["-I", "-S", "-X", f"pycache_prefix={made / 'pycache'}", "-c", code]
    try:
        done = subprocess.run([python, *options], cwd="/", capture_output=True, timeout=300, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise SBError(f"{python} cannot be started: {error}") from None
    if done.returncode != 0:
        output = done.stderr.decode(errors="replace").strip().splitlines()
        raise SBError(f"{python} cannot start sb: {output[-1] if output else 'no output'}")


def _files(environment: Environment, made: Path) -> dict[str, Any]:
    """The files that decide, with their digests, and what tells soon whether those in SB_HOME were changed."""
    own = inventory(made, OWN_SKIPPED)
    in_place = [] if copies(environment) else environment.folders
    return {
        "own": own,
        "roots": {folder: inventory(Path(folder)) for folder in in_place},
        "library": library(environment.python),
        "stamps": {name: _stamp(os.path.join(made, name)) for name in own},
        "python": platform.python_version(),
        "versions": {package.name: package.version for package in environment.packages},
    }


def library(python: str) -> dict[str, Inventory]:
    """The interpreter and its standard library."""
    found: dict[str, Inventory] = {}
    for place in interpreter_places(python):
        path = Path(place.path)
        if path.is_dir():
            found[str(path)] = inventory(path, LIBRARY_SKIPPED)
        elif path.is_file():
            found.setdefault(str(path.parent), {}).update({path.name: content(path)})
    return found


def _record(environment: Environment) -> dict[str, Any]:
    """The record from which hooks know the guarded places."""
    places = [*installation_places(environment.kind), *interpreter_places(environment.python)]
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if os.path.isabs(folder):
            places += launcher_places(folder)
    return {"kind": environment.kind, "python": environment.python, "places": with_links_followed(places)}


def in_use(home: Home) -> Path | None:
    """The folder that the wrapper starts from, if it is there."""
    current = current_runtime(home)
    return current if current is not None and current.is_dir() else None
