"""Rings of the suite: `--ring 1` leaves out what takes long, `make test-all` runs everything.

A test whose recorded time is above the limit is in the second ring, unless docs/concepts/security.md names it as
the witness of a promise. Of a file or folder that the page names, the quickest test stays. Of a walk, which is one test
with many parameters that take long together, the first ring runs a sample, drawn by SB_RING_SEED.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "tests" / "durations.json"
LIMIT_S = 0.3  # so that the first ring takes three minutes on two quiet cores
_KEPT_S = 0.2  # quicker ones are not recorded
WALK_S = 1.5  # that the parameters of one test take together in the first ring
_WALK, _LEAST = "[*]", 3  # the end of a walk's name in the record; parameters of it that are always run
_OPTION, _RECORDING, _SEED = "--ring", "SB_RECORD_DURATIONS", "SB_RING_SEED"
_TIME = "ring_time_s"
_WAITING = 1 / 3  # of the time that passes counts for tests that wait, which a loaded machine makes long


def recorded() -> dict[str, float]:
    """The seconds of slow tests, by their ids: processor time with that of processes waited for, or a third of what passed."""
    return dict(json.loads(RECORD.read_text(encoding="utf-8"))) if RECORD.exists() else {}


def witnesses() -> frozenset[str]:
    """The files, folders and tests that prove a promise of the page on security."""
    page = (ROOT / "docs" / "concepts" / "security.md").read_text(encoding="utf-8")
    return frozenset(re.findall(r"`(tests/[^`]+)`", page))


def second_ring(ids: list[str], seconds: dict[str, float], named: frozenset[str]) -> set[str]:
    """The tests that the first ring leaves out.

    Args:
        ids: of all tests that were collected. seconds: those recorded. named: witnesses.
    """
    slow = {test for test in ids if seconds.get(test, 0) > LIMIT_S and test.partition("[")[0] not in named}
    members = defaultdict[str, list[str]](list)
    for test in ids:
        for place in _places(test) & named:
            members[place].append(test)
    slow |= _not_sampled([test for test in ids if test not in slow], seconds)
    for tests in members.values():
        if slow.issuperset(tests):
            slow.discard(min(tests, key=lambda test: (seconds.get(test, 0), test)))
    return slow


def _not_sampled(ids: list[str], seconds: dict[str, float]) -> set[str]:
    """The parameters of walks that are not drawn."""
    walks = defaultdict[str, list[str]](list)
    for test in ids:
        name = test.partition("[")[0] + _WALK
        if name in seconds:
            walks[name].append(test)
    left_out = set[str]()
    for name, tests in walks.items():
        most = max(_LEAST, int(len(tests) * WALK_S / seconds[name]))
        draw = random.Random(f"{name} {os.environ.get(_SEED, '')}")
        left_out |= set(tests) - set(draw.sample(sorted(tests), min(most, len(tests))))
    return left_out


def _places(test: str) -> set[str]:
    path = Path(test.partition("::")[0])
    return {str(path), *map(str, path.parents)}


class Rings:
    """The plugin: leaves out the second ring, and records processor times where that is asked for."""

    def __init__(self, ring: str) -> None:
        self._ring = ring
        self._seconds: dict[str, float] = {}

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if self._ring != "1":
            return
        left_out = second_ring([item.nodeid for item in items], recorded(), witnesses())
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if _RECORDING not in os.environ:
            return (yield)
        item.stash[_BEFORE] = (sum(os.times()[:4]), time.monotonic())
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if _BEFORE in item.stash and call.when == "teardown":
            used, began = item.stash[_BEFORE]
            waited = (time.monotonic() - began) * _WAITING
            report.user_properties.append((_TIME, max(sum(os.times()[:4]) - used, waited)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == _TIME and report.when == "teardown" and isinstance(value, float):
                self._seconds[report.nodeid] = value

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._seconds and not hasattr(session.config, "workerinput"):
            known = recorded() | self._seconds | _walks(self._seconds)
            slow = {test: round(seconds, 1) for test, seconds in sorted(known.items()) if seconds >= _KEPT_S}
            RECORD.write_text(json.dumps(slow, indent=0) + "\n", encoding="utf-8")


def _walks(seconds: dict[str, float]) -> dict[str, float]:
    """The seconds of walks, by their names in the record; parameters that are in the second ring by themselves left out."""
    found = defaultdict[str, float](float)
    for test, used in seconds.items():
        function, bracket, _ = test.partition("[")
        if bracket and used <= LIMIT_S:
            found[function + _WALK] += used
    return {name: used for name, used in found.items() if used > WALK_S}


_BEFORE = pytest.StashKey[tuple[float, float]]()


def add_option(parser: pytest.Parser) -> None:
    parser.addoption(_OPTION, choices=("1", "all"), default="all", help="1 leaves out what takes long")


def register(config: pytest.Config) -> None:
    config.pluginmanager.register(Rings(config.getoption(_OPTION)), "rings")
