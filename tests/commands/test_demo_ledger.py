"""The demo's ledger: what was refunded is what its entries say, whoever writes at once and wherever one is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.errors import NotFoundError, SBError, UsageError
from sb.operator.demo.ledger import Ledger, Order
from sb.operator.demo.story import approve_tools, demo_config, prepare
from sb.operator.demo.tools import TOOLS, ledger_of
from sb.runtime import open_runtime
from tests.conftest import CommandLine

PRICE = 5000
ORDERS = [Order(number, "Ada", "lamp", PRICE, "open") for number in (1, 2)]
KEYS = st.sampled_from([f"key-{number}" for number in range(6)])
REFUND = st.tuples(st.just("refund"), st.integers(0, 2), st.integers(-1, PRICE + 1), KEYS)
REVERSE = st.tuples(st.just("reverse"), st.sampled_from([f"ref_{n}" for n in range(8)]), st.just(0), KEYS)


@settings(max_examples=60)
@given(st.lists(st.one_of(REFUND, REVERSE), max_size=14))
def test_what_was_refunded_is_the_sum_of_what_was_not_reversed_and_a_key_acts_once(
    steps: list[tuple[str, Any, int, str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create(Path(folder) / "ledger.db", ORDERS)
        answers: dict[
            str, tuple[tuple[Any, ...], dict[str, Any]]
        ] = {}  # by key: what was asked, and the answer
        given_back: dict[str, tuple[int, int]] = {}  # refunds that count, with order and cents
        for verb, what, cents, key in steps:
            asked = (verb, what, cents)
            try:
                answer = ledger.refund(what, cents, key) if verb == "refund" else ledger.reverse(what, key)
            except SBError:
                assert key not in answers or answers[key][0] != asked, "the same is always said again"
                continue
            if key in answers:
                assert answers[key] == (asked, answer)
            elif verb == "refund":
                given_back[answer["refund_id"]] = (what, cents)
            else:
                assert given_back.pop(what)[1] == answer["cents"]
            answers[key] = (asked, answer)
            assert ledger.find(key) == answer
        for number in (1, 2):
            left = sum(cents for order, cents in given_back.values() if order == number)
            assert ledger.refunded(number) == left <= PRICE
        assert ledger.refunded() == sum(cents for _, cents in given_back.values())
        for refund_id in (f"ref_{number}" for number in range(8)):
            assert (ledger.reversible(refund_id) == "") == (refund_id in given_back)


def test_what_is_not_there_or_was_reversed_is_refused(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger.db", ORDERS)
    with pytest.raises(NotFoundError, match="no order 9"):
        ledger.ship(9)
    with pytest.raises(NotFoundError, match="no refund ref_1"):
        ledger.reverse("ref_1", "a")
    ledger.refund(1, 100, "a")
    assert ledger.reverse("ref_1", "b")["reversal_id"] == "rev_2"
    with pytest.raises(UsageError, match="ref_1 was reversed already, by rev_2"):
        ledger.reverse("ref_1", "c")
    with pytest.raises(NotFoundError, match="no refund ref_2"):
        ledger.reverse("ref_2", "c")
    with pytest.raises(UsageError, match="another entry"):
        ledger.refund(1, 100, "b")
    with pytest.raises(UsageError, match="another entry"):
        ledger.reverse("ref_1", "a")


COUNT = 40


def act_at_once(folder: Path, name: str) -> None:
    """One process's work: the same refunds, the same reversals under keys of its own, then all that is left."""
    ledger = Ledger(folder / "ledger.db")
    (folder / f"ready-{name}").touch()
    while not (folder / "go").exists():
        time.sleep(0.001)  # or the other one would wait for a processor to begin on
    reversed_here = 0
    for number in range(COUNT):
        refund_id = ledger.refund(1, 10, f"key-{number}")["refund_id"]
        if number % 2:
            try:
                ledger.reverse(refund_id, f"{name}-{number}")
                reversed_here += 1
            except UsageError:
                reversed_here += 0
    own = 0
    try:
        while True:
            ledger.refund(2, 300, f"{name}-own-{own}")
            own += 1
    except UsageError:
        print(json.dumps([reversed_here, own]))


def test_two_processes_at_once_refund_once_reverse_once_and_never_more_than_the_price(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger.db", ORDERS)
    program = "import sys; from tests.commands.test_demo_ledger import *; act_at_once(Path(sys.argv[1]), sys.argv[2])"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path), name],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    while len(list(tmp_path.glob("ready-*"))) < len(started):
        assert all(process.poll() is None for process in started)
        time.sleep(0.01)
    (tmp_path / "go").touch()
    counts = [json.loads(process.communicate(timeout=120)[0]) for process in started]
    assert sum(count[0] for count in counts) == COUNT // 2
    assert sum(count[1] for count in counts) == PRICE // 300
    assert ledger.refunded(1) == 10 * (COUNT // 2)
    assert ledger.refunded(2) == PRICE // 300 * 300


POINTS = {"before it began": False, "before its commit": False, "after its commit": True}


def refund_and_die(home: str, point: str) -> None:
    """The agent's process: one governed refund, in the middle of which it is killed."""
    from sb.kernel.run_context import RunContext
    from sb.store import driver

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    class Dying:
        """The ledger's connection, which does not live to see its commit."""

        def __init__(self, connection: Any) -> None:
            self.connection = connection

        def execute(self, sql: str, *parameters: Any) -> Any:
            if sql == "COMMIT":
                die()
            return self.connection.execute(sql, *parameters)

        def close(self) -> None:
            self.connection.close()

    refund, connect = Ledger.refund, driver.connect

    def dying(self: Ledger, number: int, cents: int, key: str) -> dict[str, Any]:
        if point == "before it began":
            die()
        if point == "before its commit":
            driver.connect = lambda path, **how: Dying(connect(path, **how))  # type: ignore[assignment]
        done = refund(self, number, cents, key)
        die()
        return done

    Ledger.refund = dying  # type: ignore[method-assign]
    with open_runtime(demo_config(Path(home))) as runtime:
        ctx = RunContext.create("clerk")
        runtime.executor.execute(ctx, "payments.issue_refund", {"order": 1002, "amount": 4900})


@pytest.mark.parametrize("point", POINTS)
def test_killed_in_a_refund_the_probe_settles_it_and_the_way_back_is_there(
    sb: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    home, _ = prepare(tmp_path)
    with open_runtime(demo_config(home)) as runtime:
        approve_tools(runtime, TOOLS)
    program = (
        "import sys; from tests.commands.test_demo_ledger import *; refund_and_die(sys.argv[1], sys.argv[2])"
    )
    command = [sys.executable, "-c", program, str(home), point]
    assert subprocess.run(command, cwd=Path(__file__).parents[2], check=False).returncode == -signal.SIGKILL
    monkeypatch.setenv("SB_HOME", str(home))
    open_runtime(demo_config(home)).close()  # finds what the dead process left
    (doubtful,) = sb("recovery", "list", "--json").json["in_doubt"]
    assert doubtful["tool_id"] == "payments.issue_refund"
    call = doubtful["call_id"]
    done = POINTS[point]
    ledger = Ledger(ledger_of(home))
    assert ledger.refunded() == (4900 if done else 0)
    settled = sb("recovery", "settle", call)
    word = "done" if done else "not done"
    assert settled.out.startswith(f"Recorded as {word} by its probe: payments.issue_refund ")
    assert settled.out.endswith(f" ({call})\n")
    assert sb("recovery", "list", "--json").json["in_doubt"] == []
    ledger.ship(1002)
    assert ("escalated" in sb("recovery", "watch", "--once").out) == done
    if done:
        assert sb("recovery", "approve", call, "--reason", "it shipped").code == 0
    assert ledger.refunded() == 0
    assert sb("log", "verify").code == 0


def test_every_process_of_the_demos_home_has_the_shops_tools(
    sb: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, _ = prepare(tmp_path)
    monkeypatch.setenv("SB_HOME", str(home))
    assert set(TOOLS) <= {item["tool_id"] for item in sb("kernel", "tools", "--json").json["items"]}
