"""A recovery that is killed at any point undoes at most once, and what is left says how far it came."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.kernel.authority.signing import Label
from sb.kernel.contracts import MutationState
from sb.kernel.recovery_loop.settling import Settlement, Settling
from sb.kernel.review.log_verification import verify
from tests.faults.recovery_child import POINTS, open_here, prepare, recover, recover_by_own_loop
from tests.forked import Forks


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with Forks("tests.faults.child", "sb.runtime", "sb.kernel.recovery_loop.service") as forks:
        yield forks


def effects(folder: Path) -> int:
    path = folder / "effects"
    return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


def killed_at(forks: Forks, folder: Path, point: str, *how: str) -> None:
    done = forks.run("-m", "tests.faults.recovery_child", str(folder), point, *how)
    assert done.returncode == (0 if point == "never" else -signal.SIGKILL), done.stderr


@pytest.mark.parametrize("mode", ["human", "auto"])
@pytest.mark.parametrize("point", POINTS)
def test_a_killed_recovery_never_undoes_twice(forks: Forks, tmp_path: Path, point: str, mode: str) -> None:
    mutation_id = prepare(tmp_path, mode)
    if (point, mode) == ("asked", "auto"):
        pytest.skip("nobody is asked")
    killed_at(forks, tmp_path, point)
    with open_here(tmp_path) as runtime:
        recover(runtime)
        doubtful = runtime.executor.in_doubt()
        ref = runtime.recovery.mutations.get(mutation_id)
        if doubtful:
            assert point in ("inside", "done", "settled")
            assert ref.state is MutationState.REVERSING
            happened = effects(tmp_path) == 1
            verdict = Settlement.DONE if happened else Settlement.NOT_DONE
            Settling(runtime.recovery).settle(doubtful[0].call_id, verdict, Label("ada"), "I looked")
            ref = runtime.recovery.mutations.get(mutation_id)
            assert ref.state is (MutationState.REVERSED if happened else MutationState.COMMITTED)
        if ref.state is MutationState.COMMITTED:
            assert runtime.recovery.undo(ref, Label("ada"), "undo it").state == "reversed"
        assert runtime.recovery.mutations.get(mutation_id).state is MutationState.REVERSED
        assert effects(tmp_path) == 1
        assert verify(runtime.log).ok


@pytest.mark.parametrize("point", ["never", "inside", "done"])
def test_a_killed_loop_of_ones_own_never_undoes_twice(forks: Forks, tmp_path: Path, point: str) -> None:
    mutation_id = prepare(tmp_path, "auto")
    killed_at(forks, tmp_path, point, "own")
    happened = effects(tmp_path)
    assert happened == (point != "inside")
    with open_here(tmp_path) as runtime:
        for again in (recover_by_own_loop, recover):
            again(runtime)
            assert effects(tmp_path) == happened
        if point != "never":
            (doubtful,) = runtime.executor.in_doubt()
            verdict = Settlement.DONE if happened else Settlement.NOT_DONE
            Settling(runtime.recovery).settle(doubtful.call_id, verdict, Label("ada"), "I looked")
        recover_by_own_loop(runtime)
        assert effects(tmp_path) == 1
        assert runtime.recovery.mutations.get(mutation_id).state is MutationState.REVERSED
        assert verify(runtime.log).ok
