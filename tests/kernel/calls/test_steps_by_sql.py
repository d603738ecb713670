"""A step in doubt or done is not repeated because somebody edited a row about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.base.sources import SteeredClock
from sb.errors import StoreCorrupt
from sb.kernel import RunContext, SafetyClass, ToolExecutor, ToolRegistry, ToolResult
from sb.kernel.authority.signing import Label
from sb.kernel.calls.intents import Intents
from sb.kernel.recovery_loop.service import Recovery
from sb.kernel.recovery_loop.settling import Settlement, Settling
from sb.kernel.review.log_pruning import prune
from sb.kernel.review.log_verification import verify
from sb.log.event_log import EventLog
from sb.store.database import open_database
from tests.sql_attacker import SqlAttacker


class Shop:
    """A tool that loses its connection after its effect; every `process` starts with nothing but the file."""

    def __init__(self, folder: Path, clock: SteeredClock) -> None:
        self.folder = folder
        self.clock = clock
        self.paid: list[str] = []
        self.lost = True
        self.log, self.executor = self.process()

    def process(self) -> tuple[EventLog, ToolExecutor]:
        log = EventLog(open_database(self.folder / "brain.db", clock=self.clock), clock=self.clock)
        registry = ToolRegistry()
        registry.register_fn("shop.pay", "Pay", self._pay, SafetyClass.NETWORK)
        return log, ToolExecutor(registry, event_log=log, clock=self.clock)

    def _pay(self, to: str) -> str:
        self.paid.append(to)
        if self.lost:
            raise ConnectionResetError("reset")
        return f"receipt for {to}"

    def pay(self, to: str = "bob") -> ToolResult:
        """Ask for the same step of the same run, in a fresh process."""
        self.log, self.executor = self.process()
        ctx = RunContext("run_0123456789abcdef", "0" * 32, agent_name="clerk")
        return self.executor.execute(ctx, "shop.pay", {"to": to}, step="pay")

    def attacker(self) -> SqlAttacker:
        return SqlAttacker(self.folder / "brain.db")


@pytest.fixture
def shop(tmp_path: Path, clock: SteeredClock) -> Shop:
    return Shop(tmp_path, clock)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE intents SET step_key = 'other'",
        "UPDATE intents SET step_key = ''",
        "UPDATE intents SET step_key = 'other', step = 'other', run_id = 'other'",
        "DELETE FROM intents",
        "INSERT INTO steps SELECT 'other', args_digest, id, call_id, '1', '' FROM intents",
    ],
)
def test_a_step_in_doubt_is_not_repeated_whatever_its_row_says(shop: Shop, sql: str) -> None:
    assert not shop.pay().success
    shop.lost = False
    assert shop.attacker().run(sql)
    again = shop.pay()
    assert not again.success
    assert "unknown" in again.error_message or "outcome" in again.error_message
    assert shop.paid == ["bob"]
    assert verify(shop.log).problems


@pytest.mark.parametrize("sql", ["DELETE FROM steps", "UPDATE steps SET step_key = 'other'"])
def test_a_step_that_is_done_is_not_repeated_whatever_its_row_says(shop: Shop, sql: str) -> None:
    shop.lost = False
    assert shop.pay().success
    shop.attacker().run(sql)
    shop.pay()
    assert shop.paid == ["bob"]


def test_a_forged_result_of_a_step_is_not_given_back(shop: Shop) -> None:
    shop.lost = False
    assert shop.pay().data == "receipt for bob"
    shop.attacker().run("UPDATE steps SET result = '\"paid twice\"'")
    refused = shop.pay()
    assert not refused.success
    assert "not what it gave" in refused.error_message


def test_a_row_of_another_call_makes_no_step_look_done(shop: Shop) -> None:
    shop.pay()
    shop.lost = False
    ctx = RunContext("run_0123456789abcdef", "0" * 32, agent_name="clerk")
    _, executor = shop.process()
    assert executor.execute(ctx, "shop.pay", {"to": "eve"}, step="other").success
    key = shop.attacker().rows("SELECT step_key FROM intents")[0][0]
    shop.attacker().run("UPDATE steps SET step_key = ?", key)
    shop.attacker().run("DELETE FROM intents")
    assert not shop.pay().success
    assert shop.paid == ["bob", "eve"]


def test_blanking_what_the_log_says_of_a_step_does_not_free_it(shop: Shop) -> None:
    shop.pay()
    shop.lost = False
    attacker = shop.attacker()
    attacker.run("UPDATE events SET payload = NULL, salt = NULL WHERE kind = 'kernel.tool.dispatch'")
    attacker.run("DELETE FROM intents")
    refused = shop.pay()
    assert not refused.success
    assert "blanked" in refused.error_message
    assert shop.paid == ["bob"]


def test_a_step_whose_events_were_pruned_is_still_known_by_its_rows(shop: Shop) -> None:
    shop.lost = False
    assert shop.pay().success
    shop.clock.sleep(100)
    prune(shop.log, before=shop.clock.now(), reason="retention")
    shop.pay()
    assert shop.paid == ["bob"]


@pytest.mark.parametrize("edit", ["owner = 'elsewhere:1'", "owner = owner || '9'", "deadline = 1"])
def test_a_running_call_is_not_taken_for_a_dead_one(shop: Shop, edit: str) -> None:
    seen: list[int] = []

    def settle(to: str) -> str:
        shop.attacker().run(f"UPDATE intents SET {edit}")
        log, executor = shop.process()
        seen.extend([executor.settle_orphans(), len(Intents(log).running()), len(verify(log).problems)])
        return to

    shop._pay = settle  # type: ignore[method-assign]
    shop.pay()
    assert seen[:2] == [0, 1]
    assert seen[2] >= 1


def test_a_call_that_may_have_happened_does_not_become_one_that_failed(shop: Shop) -> None:
    shop.pay()
    attacker = shop.attacker()
    attacker.run("UPDATE intents SET reversal = '', state = 'started'")
    log, executor = shop.process()
    executor.settle_orphans()
    assert [intent.state for intent in Intents(log).in_doubt()] == ["in_doubt"]
    assert not shop.pay().success
    assert shop.paid == ["bob"]


def test_a_running_call_that_was_marked_doubtful_is_not_settled(shop: Shop) -> None:
    refused: list[str] = []

    def settle(to: str) -> str:
        shop.attacker().run("UPDATE intents SET state = 'in_doubt'")
        log, executor = shop.process()
        settling = Settling(Recovery(executor))
        call_id = log.database.query("SELECT call_id FROM intents")[0][0]
        with pytest.raises(StoreCorrupt):
            settling.settle(call_id, Settlement.NOT_DONE, Label("ada"), "it did not happen")
        refused.append(to)  # an assertion that fails inside a tool is only its outcome
        return to

    shop._pay = settle  # type: ignore[method-assign]
    shop.pay()
    assert refused == ["bob"]
