"""Any edit of a row that decides or is shown is named by verification, down to the column."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from sb.errors import DeniedError
from sb.kernel import RunContext, SafetyClass
from sb.kernel.events import AssumptionInvalidated
from sb.kernel.review.decision_tables import CLOSE_US, UNCHECKED
from sb.kernel.review.log_verification import verify
from sb.store import driver
from tests.kernel.recovery_loop.conftest import ADA, Shop, approve
from tests.sql_attacker import SqlAttacker

TABLES = (
    "approvals",
    "grants",
    "escalations",
    "intents",
    "steps",
    "mutations",
    "assumptions",
    "workflows",
    "workflow_steps",
)
BESIDE = UNCHECKED | {"workflows": {"owner", "lease_until"}}  # who runs it just now
FAR = 120_000_001  # further than the time between a row and its event


def mixed_run(shop: Shop) -> None:
    """Approvals in every state, grants, escalations, reversals, and calls in doubt."""
    shop.runtime.close()
    with (shop.home / "config.yaml").open("a") as out:
        out.write("policy:\n  - {approve: bank.note, reason: a person looks first}\n")
    shop.runtime = shop.open()
    runtime, approvals = shop.runtime, shop.runtime.approvals
    for tool_id, safety_class in (("bank.drop", SafetyClass.DESTRUCTIVE), ("bank.note", SafetyClass.NETWORK)):
        runtime.registry.register_fn(tool_id, tool_id, lambda to: to, safety_class)
    approve(runtime)
    ctx = RunContext.create("clerk", clock=shop.clock)

    def asked(tool_id: str, to: str) -> str:
        return str(shop.call(tool_id, ctx, to=to).data["approval_id"])

    asked("bank.drop", "nobody")
    asked("bank.drop", "too late")
    shop.clock.sleep(5 * 3600)
    for to in ("waits", "denied", "approved", "revoked", "used"):
        approval_id = asked("bank.drop", to)
        if to == "denied":
            approvals.deny(approval_id, ADA, "no")
        elif to != "waits":
            approvals.approve(approval_id, ADA, "fine")
        if to == "revoked":
            approvals.revoke(approval_id, ADA, "on second thought")
        if to == "used":
            assert shop.call("bank.drop", ctx, to=to).success
    for to in ("many", "few"):
        grant = approvals.grant(asked("bank.note", to), ADA, "often", lasting_s=3600, args={"to": f"{to}*"})
        for number in range(2):
            assert shop.call("bank.note", ctx, to=f"{to}{number}").success
        if to == "few":
            approvals.revoke(grant.id, ADA, "enough")
    made = [shop.done("pay.human", order=order, amount=5) for order in (1, 2)]
    for order in (1, 2):
        runtime.invalidate(AssumptionInvalidated(f"order_not_shipped:{order}", reason="shipped"))
    runtime.recovery.approve(made[0].mutation_id, ADA, "take it back")
    runtime.recovery.dismiss(made[1].mutation_id, ADA, "leave it")
    execute = runtime.executor.execute
    assert execute(ctx, "pay.human", {"order": 1, "amount": 1}, step="done").success
    shop.refund_trouble = ConnectionResetError("reset")
    assert not execute(ctx, "pay.human", {"order": 2, "amount": 1}, step="lost").success
    run = runtime.workflows.run
    run("count", "count-1", lambda workflow: [workflow.step("one", int, 1), workflow.step("two", int, 2)])
    with pytest.raises(ConnectionResetError):
        run("send", "send-1", lambda workflow: [workflow.step("one", int, 1), workflow.step("two", lose)])


def lose() -> None:
    raise ConnectionResetError("before or after?")


def another(value: Any) -> Any:
    if isinstance(value, int):
        return value + FAR
    return 7 if value is None else f"{value}x"


@pytest.mark.parametrize("table", TABLES)
def test_every_edit_of_a_column_is_named(shop: Shop, table: str) -> None:
    mixed_run(shop)
    log = shop.runtime.log
    assert verify(log).problems == []
    attacker = SqlAttacker(shop.home / "brain.db")
    attacker.run("PRAGMA defer_foreign_keys = ON")
    columns = [row[1] for row in attacker.rows(f"PRAGMA table_info({table})")]
    names = ", ".join(columns)
    rows = attacker.rows(f"SELECT {names} FROM {table}")
    assert rows
    key = columns if table in ("assumptions", "steps") else columns[:1]
    unnoticed = []
    for row in {rows[0], rows[-1]}:
        where = " AND ".join(f"{name} IS ?" for name in key)
        values = row[: len(key)]
        for name, value in zip(columns, row, strict=True):
            attacker.run("BEGIN")
            attacker.run(f"DELETE FROM {table} WHERE {where}", *values)
            edited = [
                another(value) if column == name else item for column, item in zip(columns, row, strict=True)
            ]
            try:
                attacker.run(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", *edited)
            except driver.Error:  # a strict column wants text in place of nothing
                edited = ["x" if item == 7 else item for item in edited]
                attacker.run(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", *edited)
            attacker.run("COMMIT")
            if not verify(log).problems and name not in BESIDE.get(table, ()):
                unnoticed.append((name, value))
            attacker.run("BEGIN")
            now = [edited[columns.index(item)] for item in key]
            assert attacker.run(f"DELETE FROM {table} WHERE {where}", *now) == 1
            attacker.run(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", *row)
            attacker.run("COMMIT")
    assert unnoticed == []
    assert verify(log).problems == []


def test_any_random_edit_of_any_row_is_named(shop: Shop) -> None:
    mixed_run(shop)
    log, chance = shop.runtime.log, random.Random(8)
    attacker = SqlAttacker(shop.home / "brain.db")
    unnoticed = []
    for _ in range(80):
        table = chance.choice(TABLES)
        columns = [row[1] for row in attacker.rows(f"PRAGMA table_info({table})")]
        name = chance.choice([column for column in columns if column not in BESIDE.get(table, ())])
        originals = attacker.rows(f"SELECT * FROM {table}")
        row, other = chance.choice(originals), chance.choice(originals)
        where = " AND ".join(f"{column} IS ?" for column in columns)
        value = row[columns.index(name)]
        new = chance.choice([other[columns.index(name)], another(value), None, "", 0, "{}", f"x{value}"])
        if new == value:
            continue
        attacker.run("BEGIN")
        try:
            attacker.run(f"UPDATE {table} SET {name} = ? WHERE {where}", new, *row)
        except driver.Error:  # a value that this column cannot hold
            attacker.run("ROLLBACK")
            continue
        attacker.run("COMMIT")
        changed = attacker.rows(f"SELECT * FROM {table}")
        if changed != originals and not _is_close(name, value, new) and not verify(log).problems:
            unnoticed.append((table, name, value, new))
        attacker.run("BEGIN")
        attacker.run(f"DELETE FROM {table}")
        for original in originals:
            attacker.run(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", *original)
        attacker.run("COMMIT")
    assert unnoticed == []
    assert verify(log).problems == []


def _is_close(name: str, value: Any, new: Any) -> bool:
    """True if it is a time that is compared to the minute only."""
    times = isinstance(value, int) and isinstance(new, int) and name.endswith("_at")
    return times and abs(value - new) <= CLOSE_US


def test_rows_that_are_gone_are_named(shop: Shop) -> None:
    mixed_run(shop)
    attacker = SqlAttacker(shop.home / "brain.db")
    for table in ("approvals", "grants", "escalations"):
        before = len(verify(shop.runtime.log).problems)
        attacker.run(f"DELETE FROM {table} WHERE number = 1")
        assert len(verify(shop.runtime.log).problems) > before


def test_an_edited_mutation_of_an_escalation_reverses_nothing_else(shop: Shop) -> None:
    first = shop.done("pay.human", order=1, amount=5)
    second = shop.done("pay.human", order=2, amount=5)
    shop.runtime.invalidate(AssumptionInvalidated("order_not_shipped:1", reason="shipped"))
    found = shop.runtime.recovery.escalations.get(first.mutation_id)
    number = shop.runtime.recovery.mutations.number(second.mutation_id)
    SqlAttacker(shop.home / "brain.db").run("UPDATE escalations SET mutation_id = ?", number)
    problems = verify(shop.runtime.log).problems
    assert any("mutation_id is not what the log says" in line for line in problems)
    shown = shop.runtime.recovery.escalations.get(found.id)
    with pytest.raises(DeniedError, match="not what the log says"):
        shop.runtime.recovery.approve(shown.id, ADA, "take it back")
    assert shop.reversed_ == []


def test_an_escalation_that_names_no_event_is_named(shop: Shop) -> None:
    mixed_run(shop)
    assert SqlAttacker(shop.home / "brain.db").run("UPDATE escalations SET event_id = 0, agent = 'eve'")
    assert any("agent is not what the log says" in line for line in verify(shop.runtime.log).problems)


def test_a_contract_that_was_edited_is_named(shop: Shop) -> None:
    attacker = SqlAttacker(shop.home / "brain.db")
    attacker.run("UPDATE contracts_seen SET document = '{}' WHERE tool_id = 'pay.human'")
    problems = verify(shop.runtime.log).problems
    assert any("the contract of 'pay.human' is not what its fingerprint says" in line for line in problems)


@pytest.mark.parametrize("field", ["intent", "reasons", "shown"])
def test_what_is_displayed_of_a_request_cannot_be_edited_with_its_event(shop: Shop, field: str) -> None:
    mixed_run(shop)
    (shop.home / "anchors.jsonl").unlink()  # before it was anchored
    attacker = SqlAttacker(shop.home / "brain.db")
    sql = "SELECT e.id, e.payload FROM events AS e JOIN approvals AS a ON a.event_id = e.id WHERE a.state = 'used'"
    row_id, body = attacker.rows(sql)[0]
    payload = json.loads(body)
    payload[field] = "electricity co"
    attacker.run("UPDATE events SET payload = ? WHERE id = ?", json.dumps(payload), row_id)
    attacker.relink()
    problems = verify(shop.runtime.log).problems
    assert any("not what was asked for" in line for line in problems)
