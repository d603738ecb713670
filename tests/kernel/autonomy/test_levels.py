"""Persisted levels: they fall by themselves, rise only by a signature, and the executor holds calls to them."""

from __future__ import annotations

from sb.config.rules import PolicyRule
from sb.kernel import ToolErrorCode, ToolPolicy
from sb.kernel.authority.signing import Decider
from sb.kernel.policy.rules import WrittenPolicy
from tests.kernel.autonomy.conftest import DROP, READ, SEND, WRITE, Shop

NEVER = PolicyRule("deny", (SEND,), name="no-send", reason="nothing leaves")


def test_without_evidence_side_effects_ask_and_reads_run(shop: Shop) -> None:
    assert shop.call(READ).success
    asked = shop.call(WRITE)
    assert asked.data
    assert [it["rule"] for it in asked.data["reasons"]] == ["autonomy"]
    assert "execute_with_approval" in asked.error_message
    assert shop.calls == [READ]


def test_signed_proposal_lets_calls_run_that_only_autonomy_asked_about(shop: Shop, ada: Decider) -> None:
    shop.promote(ada)
    assert shop.mode() == "auto_execute"
    assert shop.call(WRITE, 500).success
    assert shop.beside().call(WRITE, 501).success
    assert not shop.call(WRITE, 502, intent="refund.issue").success, "it was earned for another intent"
    assert not shop.call(SEND, 503).success, "and for another tool"
    assert not shop.call(WRITE, 504, agent="scribe").success, "and by another agent"


def test_auto_execute_never_answers_what_policy_asks(shop: Shop, ada: Decider) -> None:
    shop.promote(ada)
    rule = PolicyRule("approve", (WRITE,), name="look", reason="a person looks")
    strict = shop.beside(policy=ToolPolicy.normal(rules=WrittenPolicy((rule,))))
    asked = strict.call(WRITE, 500)
    assert asked.data
    assert [it["rule"] for it in asked.data["reasons"]] == ["look"]
    asked = shop.call(DROP, 500)
    assert asked.data
    assert "destructive" in [it["rule"] for it in asked.data["reasons"]]


def test_changed_contract_is_not_covered(shop: Shop, ada: Decider) -> None:
    shop.promote(ada)
    tool = shop.registry.tool(WRITE)
    assert tool is not None
    tool.spec.description = "Writes anywhere"
    assert not shop.call(WRITE, 500).success


def test_denial_by_policy_lowers_one_rung_each_time(shop: Shop) -> None:
    ruled = shop.beside(policy=ToolPolicy.normal(rules=WrittenPolicy((NEVER,))))
    modes = []
    for _ in range(5):
        assert not ruled.call(SEND).success
        modes.append(ruled.mode(SEND))
    assert modes == ["draft", "recommend", "read", "read", "read"]
    falls = [it for it in ruled.levels.statements() if it.event.kind == "autonomy.lowered"]
    assert len(falls) == 3, "at the bottom nothing is left to record"
    assert ruled.mode(WRITE) == "execute_with_approval", "of another tool nothing was lowered"


def test_level_below_asking_refuses_and_says_what_raises_it(shop: Shop) -> None:
    ruled = shop.beside(policy=ToolPolicy.normal(rules=WrittenPolicy((NEVER,))))
    ruled.call(SEND)
    refused = shop.call(SEND)
    assert refused.error_code is ToolErrorCode.PERMISSION_DENIED
    assert refused.data is None
    for text in ("draft", "no-send", "sb autonomy proposals"):
        assert text in refused.error_message
    assert not shop.call(SEND, intent="refund.issue").success, "a fall counts for every intent"
    assert shop.mode(SEND) == "draft", "being refused by its level is no violation"


def test_repeating_a_denied_call_lowers(shop: Shop, ada: Decider) -> None:
    shop.denied(ada, SEND, 1)
    assert shop.mode(SEND) == "execute_with_approval", "asking is no violation"
    assert not shop.call(SEND, 1).success
    assert shop.mode(SEND) == "draft"


def test_denial_by_a_person_takes_auto_execute_away(shop: Shop, ada: Decider) -> None:
    shop.promote(ada)
    rule = PolicyRule("approve", (WRITE,), name="look", reason="a person looks")
    strict = shop.beside(policy=ToolPolicy.normal(rules=WrittenPolicy((rule,))))
    strict.denied(ada, WRITE, 700)
    assert shop.mode() == "execute_with_approval"
    assert not shop.call(WRITE, 701).success
    assert not shop.beside().call(WRITE, 702).success


def test_fall_is_signed_back_to_asking_only(shop: Shop, ada: Decider) -> None:
    beside = shop.beside(policy=ToolPolicy.normal(rules=WrittenPolicy((NEVER,))))
    beside.call(SEND)
    beside.call(SEND)
    (restored,) = shop.proposals.all()
    assert (str(restored.before), str(restored.to)) == ("recommend", "execute_with_approval")
    shop.proposals.sign(restored.id, ada, "the rule was too broad")
    assert shop.mode(SEND) == "execute_with_approval"
    assert shop.proposals.all() == []


def test_observe_only_records_what_it_would_have_done(shop: Shop) -> None:
    seen = shop.beside(enforced=False)
    assert seen.call(WRITE).success
    facts = [event.payload or {} for event in seen.log.events() if event.subject.tool_id == WRITE]
    assert [it["autonomy"] for it in facts if it["phase"] == "intent"] == [
        {"level": "execute_with_approval", "does": "ask", "observed": True}
    ]


def test_fall_between_judging_and_the_intent_refuses_the_call(shop: Shop, ada: Decider) -> None:
    shop.promote(ada)
    beside = shop.beside()
    autonomy = shop.executor._recorder.autonomy
    assert autonomy is not None
    judge = autonomy.judge

    def judged(call: object) -> None:
        judge(call)  # type: ignore[arg-type]
        with beside.log.write() as write:
            beside.levels.fall(write, "clerk", "unstated", WRITE, "", "seen elsewhere", safety=True)

    autonomy.judge = judged  # type: ignore[method-assign]
    assert not shop.call(WRITE, 500).success
    assert shop.mode() == "read"
    assert shop.calls.count(WRITE) == 8


def test_fall_during_a_call_does_not_change_it(shop: Shop, ada: Decider) -> None:
    shop.promote(ada)

    def work(n: int = 0) -> str:
        with shop.log.write() as write:
            shop.levels.fall(write, "clerk", "unstated", WRITE, "", "seen elsewhere", safety=True)
        return "done"

    assert shop.call(WRITE, 500, override_fn=work).success
    refused = shop.call(WRITE, 501)
    assert "is read (seen elsewhere)" in refused.error_message
