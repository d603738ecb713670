"""A person's home folder, so that no test sees the developer's, and a project to work in."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.config import Config
from sb.config.home import Home
from sb.hosts.install import checking, runtime
from sb.hosts.install.environment import Environment
from sb.hosts.install.runtime import Runtimes
from sb.runtime import create_home
from sb.tools.hosted.guarding import current_runtime
from tests.hosts.install.environments import Installed


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the isolated installation go first: processes take from the end of each other's tests.

    So one process runs it all, and the others need not make one: six seconds each.
    """
    items.sort(key=lambda item: "isolated" not in getattr(item, "fixturenames", ()))


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's own folder; the current folder is a project below it."""
    folder = tmp_path / "person"
    (folder / "project" / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder / "project")
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installation that hooks run from, made once for all test processes: it takes seconds and a hundred megabytes."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    home = Home(folder / "made")
    with open(folder / "made.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        home.create()
        return Runtimes(home).make()[0]


def seed(home: Home, made: Path) -> None:
    """Let an install into a home find that what hooks run from is there already."""
    home.create()
    runtimes = home.folder / "runtime"
    runtimes.mkdir(mode=0o700, exist_ok=True)
    (runtimes / made.name).symlink_to(made)


@pytest.fixture(scope="session", autouse=True)
def installation_read_once() -> Iterator[None]:
    """The installation that runs the tests and its name, which nothing changes meanwhile; the rest of an install is real.

    Tests of another installation, or of one that changes, run its own `sb`.
    """
    environment = Environment()
    key = runtime.key_of(environment)
    with pytest.MonkeyPatch.context() as patch:
        for module in (runtime, checking):
            patch.setattr(module, "key_of", lambda environment: key)
            patch.setattr(module, "Environment", lambda: environment)
        yield


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory, made: Path) -> Path:
    """The database of a new home, made once."""
    config = Config(home=Home(tmp_path_factory.mktemp("new") / "sb"))
    create_home(config)
    return config.database


@pytest.fixture(autouse=True)
def _seeded(home: Path, made: Path, database: Path) -> None:
    seed(Home(home), made)
    shutil.copy(database, Home(home).database)


@pytest.fixture(scope="session")
def isolated(tmp_path_factory: pytest.TempPathFactory, made: Path) -> Installed:
    """An installation of its own, which hooks use in place."""
    installed = Installed(tmp_path_factory.mktemp("isolated"), made)
    done = installed.run("install", "claude-code", "--yes")
    assert done.returncode == 0, done.stderr
    installed.install_output = done.stdout + done.stderr
    assert not (current_runtime(Home(installed.user / ".sb")) or Path()).joinpath("lib").exists()
    return installed
