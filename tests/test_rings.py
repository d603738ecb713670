"""The first ring of the suite: slow tests are left out, of walks a sample runs, and every promise keeps a witness."""

from __future__ import annotations

import pytest

from tests.rings import recorded, second_ring, witnesses

WALK = [f"tests/a.py::test_walk[{number}]" for number in range(200)]


def test_of_a_walk_the_first_ring_runs_a_sample_that_a_seed_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"tests/a.py::test_walk[*]": 15.0}
    first = set(WALK) - second_ring(WALK, seconds, frozenset())
    assert 3 <= len(first) <= 20
    assert first == set(WALK) - second_ring(WALK, seconds, frozenset())
    monkeypatch.setenv("SB_RING_SEED", "1")
    assert first != set(WALK) - second_ring(WALK, seconds, frozenset())


def test_a_promise_keeps_its_witness_however_slow_it_is() -> None:
    ids = ["tests/a.py::test_one", "tests/b.py::test_quick", "tests/b.py::test_slow"]
    seconds = {"tests/a.py::test_one": 9.0, "tests/b.py::test_quick": 2.0, "tests/b.py::test_slow": 5.0}
    named = frozenset({"tests/a.py::test_one", "tests/b.py"})
    assert second_ring(ids, seconds, named) == {"tests/b.py::test_slow"}


def test_what_is_named_as_a_witness_runs_in_the_first_ring() -> None:
    named = [name for name in witnesses() if "::" in name]
    assert named
    assert not second_ring(named, recorded(), witnesses())
