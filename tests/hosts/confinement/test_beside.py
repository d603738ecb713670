"""Sessions beside each other in a folder that all of them write, under the real engine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import SYSTEM_CLOCK
from sb.config.home import Home
from sb.hosts.confinement import beside, bubblewrap
from sb.hosts.confinement.store import ConfineStore
from sb.hosts.confinement.watched import watch
from tests.hosts.confinement.conftest import Place
from tests.hosts.confinement.test_script import Confiner, confiner

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a program for Linux")
__all__ = ["confiner"]


@pytest.fixture
def area(place: Place) -> Path:
    """A folder for scratch, with another session's project."""
    (place.home / "area" / "theirs" / "src").mkdir(parents=True)
    return place.home / "area"


def put(confiner: Confiner, area: Path, session: str, *also: Path) -> ConfineStore:
    """The files written for a session before the other one began."""
    store = ConfineStore(Home(confiner.place.sb_home), SYSTEM_CLOCK, session=session)
    folder = str(confiner.place.project)
    profile = confiner.place.profile(temporary=[str(area), *map(str, also)])
    store.put_profile(folder, profile)
    store.issue("mv ~/area/theirs ~/area/y", folder, profile, outside=False)
    return store


def test_command_that_was_judged_before_the_other_session_began_cannot_move_its_project(
    confiner: Confiner, area: Path
) -> None:
    put(confiner, area, "a-1")
    other = ConfineStore(Home(confiner.place.sb_home), SYSTEM_CLOCK, session="b-1")
    other.hold_in_others([str(area / "theirs")])
    for line in ("mv ~/area/theirs ~/area/x", "mv ~/area/theirs ~/area/y"):
        assert "busy" in confiner.call(line, CLAUDE_CODE_SESSION_ID="a-1").stderr
    assert confiner.call("touch ~/area/a ~/area/theirs/a", CLAUDE_CODE_SESSION_ID="a-1").returncode == 0


def test_profile_of_the_session_itself_stays(confiner: Confiner, area: Path) -> None:
    own = put(confiner, area, "a-1")
    before = {path: path.read_bytes() for path in own.folder.rglob("*options")}
    own.hold_in_others([str(area / "theirs")])
    assert {path: path.read_bytes() for path in before if "a-1" in str(path)} == {
        path: content for path, content in before.items() if "a-1" in str(path)
    }


def test_profile_that_closes_something_in_the_project_is_removed(confiner: Confiner, area: Path) -> None:
    """A mount of the project over it would open it."""
    store = put(confiner, area, "a-1", area / "theirs" / "src")
    options = store.put_profile(
        str(confiner.place.project),
        confiner.place.profile(temporary=[str(area)], others=[str(area / "theirs" / "src")]),
    )
    ConfineStore(Home(confiner.place.sb_home), SYSTEM_CLOCK, session="b-1").hold_in_others(
        [str(area / "theirs")]
    )
    assert not options.exists()


def test_folder_that_was_replaced_is_held_no_more(confiner: Confiner, area: Path) -> None:
    theirs = area / "theirs"
    confiner.store.keep_watch(str(theirs), watch(str(theirs), held=[str(theirs)]))
    assert confiner.store.held_folders() == [str(theirs)]
    theirs.rename(area / "former")
    theirs.mkdir()
    assert confiner.store.held_folders() == []


@contextmanager
def _begun(words: list[str], **options: Any) -> Iterator[None]:
    """A process that has its words, which the kernel sets after it has closed what the program does not get."""
    with subprocess.Popen(words, **options) as process:
        try:
            while not Path(f"/proc/{process.pid}/cmdline").read_bytes():
                time.sleep(0.001)
            yield
        finally:
            process.kill()


def test_command_is_seen_while_it_is_about_to_begin(confiner: Confiner) -> None:
    program, state = bubblewrap.find(), confiner.store.folder
    sleep = shutil.which("sleep")  # as it stands under the words of the script, and of the starter
    assert not beside.is_starting(state, program)
    [options] = (state / "folders").rglob("options")
    with options.open("rb") as file:
        options.unlink()
        with _begun(["sb-confine", "60"], executable=sleep, stdin=file):
            assert beside.is_starting(state, program)
    memory = os.memfd_create(beside.options_memory(str(state)))
    with _begun(["confine", "60"], executable=sleep, pass_fds=(memory,)):
        assert beside.is_starting(state, program)
    os.close(memory)
    assert not beside.is_starting(state, program)
    reader, writer = os.pipe()
    for folder, of_this_home in ((state, True), (state.parent / "other", False)):
        words = bubblewrap.starting(program, str(folder), reader)
        with _begun(words, pass_fds=(reader,)):
            assert beside.is_starting(state, program) == of_this_home
    os.close(reader)
    os.close(writer)
