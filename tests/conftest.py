"""Fixtures of every test: a home of its own, and a clock and ids that it can steer."""

from __future__ import annotations

import fcntl
import gc
import itertools
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal import charmap
from hypothesis.internal.conjecture import providers

from sb.base.sources import CountingIds, SteeredClock, iso
from sb.cli import run
from sb.config import database_key
from sb.hosts.confinement import processes
from sb.kernel.authority import keys
from sb.kernel.authority.signing import Label
from sb.kernel.registry.registry import SHIPPED
from sb.runtime import Runtime
from sb.store import database, migrate
from sb.store.database import MEMORY, Database
from tests import rings

EXAMPLES = 50  # of a property that says no number of its own

# A shared machine stalls now and then. The same examples in each run, so that a failure belongs to the change that
# is tested; `make explore` looks for new ones.
settings.register_profile(
    "sb",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
    database=None,
    max_examples=EXAMPLES,
)
settings.register_profile("explore", settings.get_profile("sb"), derandomize=False, max_examples=4 * EXAMPLES)
settings.load_profile("explore" if os.environ.get("SB_EXPLORE") else "sb")
# Examples would also be drawn from the constants of all modules that happen to be loaded, and differ with what ran before.
providers._get_local_constants = lambda: providers._local_constants  # which stay empty

FAILED = pytest.StashKey[bool]()
ENOUGH_GARBAGE, MOST_GARBAGE = 100_000, 1_000_000  # new objects: after a test, and within one
numbers = itertools.count()


def pytest_addoption(parser: pytest.Parser) -> None:
    rings.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Pass the usual SIGINT on to what tests start: a shell starts what is in the background without."""
    rings.register(config)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Let the process that starts others compute what hypothesis keeps of Unicode: seconds in a fresh checkout."""
    if session.config.getoption("numprocesses", None):
        charmap.intervals_from_codec("utf-8")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: the collector need not walk through them again and again, a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(MOST_GARBAGE, *gc.get_threshold()[1:])


def pytest_runtest_logfinish() -> None:
    """Collect between tests, when nearly all that they made is garbage: in their midst it is walked through for nothing.

    References to keys, which configurations register, outlive no test.
    """
    database_key._known.clear()
    if gc.isenabled() and gc.get_count()[0] > ENOUGH_GARBAGE:
        gc.collect()
        gc.freeze()


@pytest.fixture
def clock() -> SteeredClock:
    return SteeredClock()


@pytest.fixture
def ids() -> CountingIds:
    return CountingIds()


def locked(folder: Path) -> int | None:
    """A descriptor that keeps the folder to this process; None while another one has it, whoever can see that one."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # just removed
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def in_memory() -> Path | None:
    """A new folder where writing waits for no disk, if there is one with space where programs may run."""
    place = Path("/dev/shm")
    if "TMPDIR" in os.environ or not os.access(place, os.W_OK):
        return None
    for left in place.glob("sb-scratch-*"):  # by a run that failed or was killed
        if (abandoned := locked(left)) is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(abandoned)
    space = os.statvfs(place)
    if space.f_flag & os.ST_NOEXEC or space.f_bavail * space.f_frsize < 1 << 30:
        return None
    while True:
        folder = Path(tempfile.mkdtemp(prefix="sb-scratch-", dir=place))
        # For as long as this process lives. Another one that begins now may have taken it for abandoned before that.
        if locked(folder) is not None and folder.exists():
            break
    folder.chmod(0o711)  # some tests act as another user, below a folder that lets one in
    return folder


@pytest.fixture(scope="session")
def on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp()


@pytest.fixture(scope="session", autouse=True)
def scratch(request: pytest.FixtureRequest, on_disk: Path) -> Iterator[Path]:
    """Where tests have their folders. A kill loses nothing that is in memory, so tests of kills prove the same there."""
    before, folder = tempfile.tempdir, in_memory()
    if folder:
        tempfile.tempdir = str(folder)
    yield folder or on_disk
    tempfile.tempdir = before
    if folder and not request.session.testsfailed:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop() -> Generator[None, object, object]:
    """Settings for all tests of a process: as fixtures, every test would look for each of these."""
    with schema_made_once(), passphrases_opened_at_once():
        return (yield)


@contextmanager
def schema_made_once() -> Iterator[None]:
    """A new database of this process is a copy of one that is made once, which leaves a hundred and fifty statements out.

    What names it, and when it was made, is its own. Other processes make theirs by the migrations.
    """
    template = Database(MEMORY)
    with template.write() as execute:
        migrate.create(execute, now=0.0, database_id="template")
        execute("DELETE FROM meta")

    def copy_into(query: Any) -> bool:
        empty = migrate.is_empty(query)
        if empty and not query.__self__.encrypted:  # into which nothing plain can be copied
            template._normal.backup(query.__self__._normal)
        return empty

    def name(execute: Any, *, now: float, database_id: str) -> None:
        if not execute("SELECT 1 FROM sqlite_schema").fetchall():
            migrate.create(execute, now=now, database_id=database_id)
        elif not execute("SELECT 1 FROM meta").fetchall():
            execute("UPDATE schema_migrations SET applied_at = ?", (iso(now),))
            execute("INSERT INTO meta VALUES ('database_id', ?), ('created_at', ?)", (database_id, iso(now)))

    copying = SimpleNamespace(is_empty=copy_into, create=name, require_current=migrate.require_current)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "migrate", copying)
        yield
    template.close()


@contextmanager
def passphrases_opened_at_once() -> Iterator[None]:
    """A passphrase costs a fifth of a second to try; in this process a hundredth of that."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "SCRYPT_N", 2**10)
        yield


@pytest.fixture
def own_folder(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Path]:
    """A folder for this test alone; it is kept if the test fails."""
    # Short, since a socket's path has at most 100 bytes, also below pytest's own folders.
    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in request.node.name[:20])
    folder = scratch / f"{name}-{next(numbers)}"
    folder.mkdir(mode=0o700)
    yield folder
    for depth in range(1, 5):
        for path in folder.glob("*/" * depth + "confine/holder"):
            processes.end_all(path.parent)
    if not request.node.stash.get(FAILED, False):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tmp_path(own_folder: Path) -> Path:
    """Like pytest's, without its search for the next free number among thousands of folders."""
    folder = own_folder / "tmp"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(autouse=True)
def home(own_folder: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty SB_HOME, so that no test sees the developer's."""
    folder = own_folder / "home" / "sb"
    folder.parent.mkdir(mode=0o700)
    for name in [name for name in os.environ if name.startswith("SB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setenv("SB_HOME", str(folder))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv(
        "LLM_USER_PATH", str(folder.parent / "llm")
    )  # it makes a folder where it looks for models
    return folder


def approve_tools(runtime: Runtime) -> None:
    """Approve the contracts of the tools that a test registered itself, and ask nobody where they declare no undo."""
    runtime.baselines.seen.note_all(runtime.registry)
    live = {spec.tool_id: spec.contract_fingerprint() for spec in runtime.registry.list_all()}
    runtime.baselines.approve(live, Label("tester"), "the test's own tools")
    for tool in filter(None, map(runtime.registry.tool, runtime.registry.list_ids())):
        if not hasattr(tool.fn, "governed"):
            tool.source = SHIPPED


class CommandLine:
    """`sb`, run in this process as the installed program runs it."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Outcome:
        self._capsys.readouterr()
        code = run(list(arguments))
        out, err = self._capsys.readouterr()
        return Outcome(code, out, err)


@dataclass(frozen=True)
class Outcome:
    """Output of a command, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def sb(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)
