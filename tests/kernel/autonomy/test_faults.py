"""Forged, lost and raced evidence: no act of an agent's own raises its level, and what cannot be read is READ."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.base.sources import SteeredClock
from sb.config import groups
from sb.config.rules import PolicyRule
from sb.errors import DeniedError, SBError, UsageError
from sb.kernel import AutonomySignals, ToolPolicy
from sb.kernel.authority.enrolment import Enrolment, decider
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Decider, Label
from sb.kernel.autonomy.proposals import LEAST
from sb.kernel.incident_response.interrupted import interrupted, settle
from sb.kernel.policy.rules import WrittenPolicy
from sb.store.statement_file import StatementFile
from tests.kernel.autonomy.conftest import DROP, READ, SEND, WRITE, Shop
from tests.kernel.autonomy.test_levels import NEVER
from tests.sql_attacker import SqlAttacker


def lacking(shop: Shop, tool_id: str = WRITE) -> list[str]:
    return [it.lacks for it in shop.proposals.candidates() if it.tool_id == tool_id]


def test_each_kind_of_evidence_is_needed(shop: Shop, ada: Decider) -> None:
    for n in range(1, LEAST):
        shop.approved(ada, n=n)
    assert lacking(shop) == [f"{LEAST - 1} of {LEAST} different calls were approved"]
    shop.approved(ada, n=LEAST)
    assert "earns recommend" in lacking(shop)[0], (
        "no evaluation, and obedience without a refusal is no evidence"
    )
    shop.levels.evaluate("clerk", 0.95, ada, "CI")
    assert "earns" in lacking(shop)[0]
    shop.denied(ada)
    assert lacking(shop) == [""]
    shop.clock.time += 31 * 86_400
    assert "earns" in lacking(shop)[0], "the evaluation is old"


def test_alike_calls_and_harmless_calls_earn_nothing(shop: Shop, ada: Decider) -> None:
    for _ in range(3 * LEAST):
        shop.approved(ada, n=1)
    for n in range(300):
        assert shop.call(READ, n).success
    assert lacking(shop) == [f"1 of {LEAST} different calls were approved"]
    assert lacking(shop, READ) == []


def test_destructive_tools_are_never_proposed(shop: Shop, ada: Decider) -> None:
    shop.earn(ada, DROP)
    assert [it for it in shop.proposals.candidates() if it.tool_id == DROP] == []


def test_negative_precedent_is_never_outvoted(shop: Shop, ada: Decider) -> None:
    shop.earn(ada)
    shop.denied(ada, WRITE, 900)
    for n in range(1000, 1040):
        shop.approved(ada, n=n)
    assert "denied or undid" in lacking(shop)[0]
    shop.levels.unfreeze("clerk", WRITE, ada, "it has learnt")
    assert lacking(shop) == [], "evidence begins anew"
    shop.clock.time += 2 * 86_400
    shop.earn(ada, first=2000)
    assert lacking(shop) == [""]


def test_three_corrections_within_a_day_freeze_promotion_of_all_tools(shop: Shop, ada: Decider) -> None:
    shop.earn(ada)
    for n in range(2):
        shop.denied(ada, DROP, 900 + n)
    assert lacking(shop) == ["it is frozen: 3 corrections within a day"]
    shop.levels.unfreeze("clerk", "", ada, "a bad day of mine")
    shop.earn(ada, first=2000)
    assert lacking(shop) == [""]


def test_frozen_agent_is_proposed_for_nothing(shop: Shop, ada: Decider) -> None:
    shop.earn(ada)
    shop.levels.freeze("clerk", "", Label("bob"), "a failed replay: run_1")
    assert lacking(shop) == ["it is frozen: a failed replay: run_1"]
    assert [it.frozen for it in shop.levels.current().rows()] == ["a failed replay: run_1"]


def test_failing_calls_lower_the_score(shop: Shop, ada: Decider) -> None:
    shop.earn(ada)
    for n in range(-6, 0):
        shop.approved(ada, n=n)
    assert "earns" in lacking(shop)[0]


def test_approvals_while_autonomy_is_off_are_no_evidence(shop: Shop, ada: Decider) -> None:
    shop.denied(ada)
    shop.levels.evaluate("clerk", 1.0, ada, "CI")
    rule = PolicyRule("approve", (WRITE,), name="look")
    off = shop.beside(autonomy=None, policy=ToolPolicy.normal(rules=WrittenPolicy((rule,))))
    for n in range(LEAST):
        assert off.approved(ada, n=n).success
    assert lacking(shop) == []
    assert shop.beside(enforced=False, policy=off.executor.policy).approved(ada, n=LEAST).success
    assert lacking(shop) == [f"1 of {LEAST} different calls were approved"]


def test_tools_under_dual_control_are_never_proposed(shop: Shop, ada: Decider) -> None:
    keys = KeyFolder(shop.folder / "keys")
    Enrolment(shop.authority, keys).add("bob", "", ada, "also decides")
    bob = decider(shop.authority, keys, "bob", str)
    dual = shop.beside(approvals=groups.Approvals(dual_control=(WRITE,)))
    for n in range(LEAST):
        asked = dual.call(n=n)
        assert asked.data
        for by in (ada, bob):
            dual.executor.approvals.approve(asked.data["approval_id"], by, "looks right")
        assert dual.call(n=n).success
    assert lacking(shop) == []


def test_violation_is_recorded_as_refused_where_levels_cannot_be_read(shop: Shop) -> None:
    shop.levels.freeze("scribe", "", Label("ada"), "not yet")
    SqlAttacker(shop.folder / "brain.db").run(
        "UPDATE events SET payload = '{}' WHERE kind = 'autonomy.frozen'"
    )
    ruled = shop.beside(enforced=False, policy=ToolPolicy.normal(rules=WrittenPolicy((NEVER,))))
    assert "could not be recorded" not in ruled.call(SEND).error_message
    (event,) = ruled.log.events(kind="kernel.tool.policy.blocked")
    assert (event.payload or {})["rule"] == "no-send"


def test_unsigned_approvals_are_no_evidence(shop: Shop) -> None:
    nobody = Label("ada")
    shop.denied(nobody)
    for n in range(2 * LEAST):
        shop.approved(nobody, n=n)
    ada = shop.enrol()
    shop.levels.evaluate("clerk", 1.0, ada, "CI")
    assert shop.proposals.all() == []


def test_only_an_operator_raises_unfreezes_and_evaluates(shop: Shop, ada: Decider) -> None:
    shop.earn(ada)
    (found,) = shop.proposals.all()
    for by in (Label("ada"), Label("clerk")):
        for act in (
            lambda by=by: shop.proposals.sign(found.id, by, "mine"),
            lambda by=by: shop.levels.evaluate("clerk", 1.0, by, "mine"),
            lambda by=by: shop.levels.unfreeze("clerk", WRITE, by, "mine"),
        ):
            with pytest.raises(SBError):
                act()
    assert shop.mode() == "execute_with_approval"


def test_score_that_is_no_number_is_refused(shop: Shop, ada: Decider) -> None:
    for score in (float("nan"), float("inf"), -0.1, 1.1):
        with pytest.raises(UsageError):
            shop.levels.evaluate("clerk", score, ada, "CI")
    with pytest.raises(UsageError):
        AutonomySignals(float("nan"), 1, 1, 1, 1, 0, 0)


def statement(shop: Shop, kind: str, **facts: Any) -> dict[str, Any]:
    """A statement as whoever can write the database can make it, in its right place."""
    rows = shop.log.database.query("SELECT hash FROM events WHERE call_id = 'autonomy' ORDER BY id")
    place = {
        "database": shop.log.database_id,
        "after": rows[-1][0] if rows else "",
        "at": "2026-01-01T00:00:00.000Z",
    }
    made = {"action": kind, "reason": "earned", **facts, **place, "by": "ada", "key": ""}
    return {"by": "ada", "reason": "earned", "signed": {"statement": made, "signature": ""}}


RISE = {"agent": "clerk", "tool_id": WRITE, "intent": "unstated", "to": "auto_execute"}


def test_forged_statements_raise_nothing(shop: Shop, ada: Decider) -> None:
    shop.call()
    tool = shop.registry.tool(WRITE)
    assert tool is not None
    key = {"fingerprint": tool.current_fingerprint()}
    attacker = SqlAttacker(shop.folder / "brain.db")
    attacker.append("autonomy.raised", statement(shop, "autonomy.raised", **RISE, **key), "autonomy")
    attacker.append(
        "autonomy.evaluated", statement(shop, "autonomy.evaluated", agent="clerk", score="1.0"), "autonomy"
    )
    attacker.run("UPDATE approvals SET state = 'used'")
    fresh = shop.beside()
    assert fresh.mode() == "execute_with_approval"
    assert not fresh.call(n=5).success
    assert fresh.levels.current().evaluations == {}
    assert fresh.proposals.all() == []


def test_forged_approvals_are_no_evidence(shop: Shop, ada: Decider) -> None:
    shop.denied(ada)
    shop.levels.evaluate("clerk", 1.0, ada, "CI")
    attacker = SqlAttacker(shop.folder / "brain.db")
    for n in range(2 * LEAST):
        asked = shop.call(n=n)
        assert asked.data
        reference = asked.data["approval_id"]
        (payload,) = attacker.rows("SELECT payload FROM events WHERE call_id = ?", reference)[0]
        binding = json.loads(payload)["binding"]
        made = {"action": "approve", "binding": binding, "by": "ada", "key": "", "at": "2026-01-01"}
        attacker.append("approval.approved", {"signed": {"statement": made, "signature": ""}}, reference)
        attacker.append("approval.used", {"used_by": asked.call_id}, reference)
        attacker.run("UPDATE approvals SET state = 'used', decided_by = 'ada' WHERE id = ?", reference)
    assert shop.beside().proposals.all() == []


def test_deleted_fall_still_counts(shop: Shop, ada: Decider) -> None:
    shop.promote(ada)
    ruled = shop.beside(policy=ToolPolicy.normal(rules=WrittenPolicy((NEVER,))))
    ruled.call(SEND)
    SqlAttacker(shop.folder / "brain.db").delete("autonomy.lowered")
    assert shop.beside().mode(SEND) == "draft"
    assert not shop.beside().call(SEND).success


@pytest.mark.parametrize("kind", ["approval.denied", "autonomy.lowered"])
def test_old_copy_of_the_database_raises_nothing(shop: Shop, ada: Decider, kind: str) -> None:
    shop.promote(ada)
    shop.log.database.close()
    shutil.copy(shop.folder / "brain.db", shop.folder / "old.db")
    rule = NEVER if kind == "autonomy.lowered" else None
    later = shop.beside(policy=ToolPolicy.normal(rules=WrittenPolicy((rule,) if rule else ())))
    if rule:
        with later.log.write(power=True) as write:
            later.levels.fall(write, "clerk", "unstated", WRITE, "", "it went wrong", safety=True)
    else:
        asked = later.call(DROP, 1)
        assert asked.data
        later.executor.approvals.deny(asked.data["approval_id"], ada, "no")
    later.log.close()
    for path in shop.folder.glob("brain.db*"):
        path.unlink()
    shutil.move(shop.folder / "old.db", shop.folder / "brain.db")
    back = shop.beside()
    assert back.mode() == ("read" if rule else "execute_with_approval")
    assert not back.call(n=800).success


def test_level_that_cannot_be_read_is_read_where_enforced(shop: Shop) -> None:
    shop.levels.freeze("scribe", "", Label("ada"), "not yet")
    SqlAttacker(shop.folder / "brain.db").run(
        "UPDATE events SET payload = '{}' WHERE kind = 'autonomy.frozen'"
    )
    refused = shop.beside().call()
    assert "it cannot be read" in refused.error_message
    assert shop.beside().call(READ).success
    assert shop.beside(enforced=False).call().success


def test_fall_that_makes_no_sense_lowers_everything(shop: Shop) -> None:
    SqlAttacker(shop.folder / "brain.db").append(
        "autonomy.lowered",
        statement(shop, "autonomy.lowered", agent="clerk", tool_id=WRITE, to="sky"),
        "autonomy",
    )
    fresh = shop.beside()
    assert fresh.mode(SEND, agent="scribe") == "read"
    assert "cannot be read" in fresh.call().error_message
    assert fresh.call(READ).success


def test_clock_that_jumps_changes_no_level(shop: Shop, ada: Decider) -> None:
    shop.promote(ada)
    shop.clock.time -= 400 * 86_400
    assert shop.beside().mode() == "auto_execute"
    ruled = shop.beside(policy=ToolPolicy.normal(rules=WrittenPolicy((NEVER,))))
    ruled.call(SEND)
    shop.clock.time += 4000 * 86_400
    assert shop.beside().mode(SEND) == "draft"
    shop.denied(ada, DROP, 1)
    assert shop.beside().mode() == "auto_execute", "of another tool"


def test_revoked_operator_takes_the_rises_along(shop: Shop, ada: Decider) -> None:
    keys = KeyFolder(shop.folder / "keys")
    enrolment = Enrolment(shop.authority, keys)
    enrolment.add("bob", "", ada, "also decides")
    by = decider(shop.authority, keys, "bob", str)
    shop.promote(by)
    assert shop.mode() == "auto_execute"
    shop.earn(by, SEND, first=500)
    assert "operator" not in lacking(shop, SEND)[0]
    enrolment.revoke("bob", ada, "left")
    assert lacking(shop, SEND) == [], "nor does what was approved count"
    assert shop.mode() == "execute_with_approval"
    assert shop.beside().mode() == "execute_with_approval"


class Dying(StatementFile):
    """The file of a process that is killed as soon as a line is on the disk."""

    def append(self, lines: object) -> None:
        super().append(lines)  # type: ignore[arg-type]
        os.kill(os.getpid(), signal.SIGKILL)


def killed(shop: Shop, act: Any) -> None:
    """Let another process die while it puts a statement on record."""
    child = os.fork()
    if not child:
        dying = shop.beside()
        assert dying.log.anchor is not None
        dying.log.anchor.statements.__class__ = Dying
        try:
            act(dying)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def test_signature_whose_process_was_killed_raises_nothing(shop: Shop, ada: Decider) -> None:
    shop.earn(ada)
    (found,) = shop.proposals.all()
    killed(shop, lambda dying: dying.proposals.sign(found.id, ada, "routine"))
    assert shop.mode() == "execute_with_approval"
    lines = interrupted(shop.log)
    assert [it.repeated for it in settle(shop.log, shop.authority, lines, ada)] == [False]
    assert shop.proposals.sign(found.id, ada, "routine").to == "auto_execute"
    assert shop.mode() == "auto_execute"


def test_fall_whose_process_was_killed_counts(shop: Shop) -> None:
    shop.levels.freeze("scribe", "", Label("ada"), "the first line of the file")
    killed(shop, _violate)
    assert shop.mode(SEND) == "read"
    assert [it.repeated for it in settle(shop.log, shop.authority, interrupted(shop.log), Label("ada"))] == [
        True
    ]
    assert shop.beside().mode(SEND) == "read"


def _violate(shop: Shop) -> None:
    with shop.log.write() as write:
        shop.levels.fall(write, "clerk", "unstated", SEND, "", "it went wrong", safety=True)


def test_proposal_is_signed_once(shop: Shop, ada: Decider) -> None:
    shop.earn(ada)
    (found,) = shop.proposals.all()
    outcomes: list[str] = []

    def sign() -> None:
        beside = shop.beside()
        try:
            beside.proposals.sign(found.id, ada, "routine")
            outcomes.append("signed")
        except SBError as error:
            outcomes.append(error.kind)

    threads = [threading.Thread(target=sign) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["not_found"] * 7 + ["signed"]
    rises = [it for it in shop.levels.statements() if it.event.kind == "autonomy.raised"]
    assert len(rises) == 1
    assert shop.mode() == "auto_execute"


def test_eight_writers_lower_one_level_without_losing_a_fall(shop: Shop) -> None:
    shop.call()
    problems: list[str] = []

    def violate() -> None:
        ruled = shop.beside(policy=ToolPolicy.normal(rules=WrittenPolicy((NEVER,))))
        for _ in range(4):
            problems.extend(["it ran"] if ruled.call(SEND).success else [])

    threads = [threading.Thread(target=violate) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert shop.mode(SEND) == "read"
    assert [it.text["to"] for it in shop.levels.statements()] == ["draft", "recommend", "read"]


def test_signing_ends_with_a_fall_in_between(shop: Shop, ada: Decider) -> None:
    shop.earn(ada)
    (found,) = shop.proposals.all()
    shop.denied(ada, WRITE, 900)
    with pytest.raises(SBError):
        shop.proposals.sign(found.id, ada, "routine")


def test_agent_that_is_called_as_the_operator_is_not_signed_for_by_that(shop: Shop, ada: Decider) -> None:
    beside = shop.beside(policy=ToolPolicy.normal(rules=WrittenPolicy((NEVER,))))
    beside.call(SEND, agent="ada")
    (found,) = shop.proposals.all()
    with pytest.raises(SBError, match="cannot decide"):
        shop.proposals.sign(found.id, ada, "mine")


_ACTS = st.lists(
    st.tuples(
        st.sampled_from((READ, WRITE, SEND, DROP)),
        st.integers(-2, 12),
        st.sampled_from(("", "refund.issue", "Not A Name", "x" * 200)),
        st.sampled_from(("clerk", "scribe")),
    ),
    max_size=25,
)
_RUNGS = ("read", "recommend", "draft", "execute_with_approval", "auto_execute")


@given(acts=_ACTS)
@settings(max_examples=25, deadline=None)
def test_no_sequence_of_own_acts_raises_a_level(
    acts: list[tuple[str, int, str, str]], tmp_path_factory: Any
) -> None:
    folder: Path = tmp_path_factory.mktemp("shop")
    shop = Shop(folder, SteeredClock(), policy=ToolPolicy.normal(rules=WrittenPolicy((NEVER,))))
    ada = shop.enrol()
    shop.levels.evaluate("clerk", 1.0, ada, "CI")
    before: dict[tuple[str, str, str], int] = {}
    for tool_id, n, intent, agent in acts:
        result = shop.call(tool_id, n, agent=agent, intent=intent)
        if result.data and isinstance(result.data, dict) and "approval_id" in result.data:
            with pytest.raises(DeniedError):
                shop.executor.approvals.approve(result.data["approval_id"], Label(agent), "mine")
        for each in (WRITE, SEND, DROP):
            key = (agent, each, intent or "unstated")
            rank = _RUNGS.index(shop.mode(each, agent=agent, intent=key[2]))
            assert rank <= before.get(key, 3)
            before[key] = rank
    assert all(str(it.to) == "execute_with_approval" for it in shop.proposals.all())
    shop.log.close()
