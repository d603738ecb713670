"""Landlock: processes that hide from a look at the list of all."""

from __future__ import annotations

import shlex
import sys
import time

import pytest

from tests.hosts.confinement.test_landlock import Room, _needs_landlock, place

__all__ = ["_needs_landlock", "place"]

# Each process starts the next one and ends. They last longer than the looks at them on a machine that is busy.
HOPS = "import os, time; end = time.time() + 300; [os.fork() and os._exit(0) for _ in iter(lambda: time.time() < end and not os.path.exists('stop'), False)]"
CLOSES_ITS_MEMORY = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0); time.sleep(300)"


@pytest.mark.parametrize("hidden", [HOPS, CLOSES_ITS_MEMORY], ids=["hops", "closes its memory"])
def test_process_that_hides_is_seen(hidden: str, place: Room) -> None:
    number = place.run(f"setsid {sys.executable} -c {shlex.quote(hidden)} > /dev/null 2>&1 & echo $!").stdout
    time.sleep(0.5)
    seen = [place.store.is_alive() for _ in range(20)]
    place.run(f"touch stop; kill {number}")
    assert all(seen)


def test_first_process_counts_until_the_system_starts_anew(place: Room) -> None:
    place.run("true")
    since = (place.store.folder / "began").read_text()
    place.store.is_alive()
    place.run("true")
    assert (place.store.folder / "began").read_text() == since
    (place.store.folder / "began").write_text(f"{float(since.split()[0])} another-start")
    assert not place.store.is_alive()
    place.store.put_profile(str(place.project), place.profile)
    assert (place.store.folder / "began").read_text().split()[1] == since.split()[1]
