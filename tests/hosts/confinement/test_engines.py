"""Choice of the engine: a probe that failed once does not leave a home without confinement."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sb.base.sources import SteeredClock
from sb.config.home import Home
from sb.hosts.confinement.engines import BUBBLEWRAP, LANDLOCK, Engine, EngineKind
from sb.hosts.confinement.store import ConfineStore, forget_engine


@pytest.fixture
def programs(tmp_path: Path) -> list[Path]:
    made = [tmp_path / name for name in ("bwrap", "python")]
    for path in made:
        path.touch()
    return made


@pytest.fixture
def faults() -> list[str]:
    """Findings of the two engines' probes, "" where they hold."""
    return ["", ""]


@pytest.fixture
def engine(
    programs: list[Path], faults: list[str], tmp_path: Path, clock: SteeredClock
) -> Callable[[], Engine]:
    """The engine that the next process of a home uses."""

    def kind(known: EngineKind, number: int) -> EngineKind:
        return dataclasses.replace(
            known,
            find=lambda: str(programs[number]),
            probe=lambda *_: faults[number],
            marks=tuple,
        )

    kinds = (kind(BUBBLEWRAP, 0), kind(LANDLOCK, 1))
    (tmp_path / "sb").mkdir()
    return lambda: ConfineStore(Home(tmp_path / "sb"), clock, kinds).engine()


def test_engine_that_held_is_not_tried_again_for_another_program(
    engine: Callable[[], Engine], programs: list[Path], faults: list[str]
) -> None:
    assert engine().name == "bubblewrap"
    faults[:] = ["it ended with -9", "it ended with -9"]
    os.utime(programs[1], (1, 1))
    assert engine().holds


def test_engine_that_held_and_whose_trial_fails_refuses_commands(
    engine: Callable[[], Engine], programs: list[Path], faults: list[str], tmp_path: Path
) -> None:
    """A command may set the time of a program that it owns, and end the trial that follows."""
    assert engine().holds
    os.utime(programs[0], (1, 1))
    for trial in (["it ended with -9", "it ended with -9"], ["it ended with -9", ""]):
        faults[:] = trial
        assert (engine().holds, engine().unknown) == (False, True)
        assert "it ended with -9" in engine().fault or "landlock" in engine().fault
    faults[:] = ["", ""]
    assert (engine().name, engine().holds) == ("bubblewrap", True)
    os.utime(programs[0], (2, 2))
    faults[:] = ["closed", "closed"]
    forget_engine(Home(tmp_path / "sb"))  # a person installed anew
    assert not engine().unknown


@pytest.mark.parametrize("other", ["", "it ended with -9"])
def test_engine_whose_probe_was_killed_is_tried_again(
    other: str, engine: Callable[[], Engine], faults: list[str], clock: SteeredClock
) -> None:
    faults[:] = ["it ended with -9", other]
    assert engine().name == ("bubblewrap" if other else "landlock")
    faults[0] = ""
    clock.time += 30
    assert (engine().holds, engine().name) == (not other, "bubblewrap" if other else "landlock")
    clock.time += 40
    assert (engine().holds, engine().name) == (True, "bubblewrap")
    faults[0] = "closed"
    clock.time += 1e6
    assert engine().holds


def test_clock_that_was_set_back_does_not_keep_a_fault(
    engine: Callable[[], Engine], faults: list[str], clock: SteeredClock
) -> None:
    faults[:] = ["closed", "closed"]
    assert engine().fault == "bubblewrap: closed; landlock: closed"
    faults[:] = ["", ""]
    clock.time -= 3600
    assert engine().holds


def test_process_of_the_former_engine_is_seen_after_a_change(
    tmp_path: Path, clock: SteeredClock, programs: list[Path]
) -> None:
    other = dataclasses.replace(
        LANDLOCK, find=lambda: str(programs[1]), probe=lambda *_: "", is_alive=lambda _: True
    )
    now = dataclasses.replace(
        BUBBLEWRAP, find=lambda: str(programs[0]), probe=lambda *_: "", is_alive=lambda _: False
    )
    (tmp_path / "sb").mkdir()
    store = ConfineStore(Home(tmp_path / "sb"), clock, (now, other))
    assert store.engine().name == "bubblewrap"
    assert store.is_alive()
