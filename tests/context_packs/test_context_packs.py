"""Injection plans follow the decision, the budget and the scope, and have a digest."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.context_packs import (
    ContextInjector,
    ContextPack,
    DropReason,
    InjectionPlan,
    PackStore,
    estimate_tokens,
    injection_plan_to_compiled_items,
)
from sb.contracts.envelopes import ContextEnvelope
from sb.decisions.injection import KIND, ContextInjection, InjectionSlot, SlotCondition
from sb.decisions.resolver import DecisionResolver, DecisionSpec
from sb.errors import DeniedError, NotFoundError, SBError, UsageError
from sb.kernel.contracts import AgentCapabilities
from sb.kernel.run_context import LocaleCode, RunBudget, RunContext
from tests.rows import rows

ENVELOPE = ContextEnvelope(run_id="run_1", trace_id="trace_1", intent="Refund order 42")


def slot(name: str, pattern: str = "", priority: int = 50, **fields: object) -> InjectionSlot:
    base = InjectionSlot(name, (pattern or f"{name}.*",), priority, max_tokens=1000)
    return replace(base, **fields)  # type: ignore[arg-type]


def spec(*slots: InjectionSlot, budget: int = 100) -> DecisionSpec:
    return DecisionSpec("tests.injection.v1", "1.0.0", "For tests", KIND, ContextInjection(budget, slots))


def pack(pack_id: str, tokens: int = 10, scope: str = "global", priority: int = 0) -> ContextPack:
    """A pack that counts `tokens` with the counter of `plan_for`."""
    return ContextPack(pack_id, "1", "x" * tokens, scope=scope, priority=priority)


def plan_for(
    decision: DecisionSpec, *packs: ContextPack, envelope: ContextEnvelope = ENVELOPE
) -> InjectionPlan:
    """A plan in which one character is one token."""
    return ContextInjector(count_tokens=len).build_plan(decision, envelope, PackStore(packs))


def chosen(plan: InjectionPlan) -> list[str]:
    return [item.pack.pack_id for item in plan.items]


def dropped(plan: InjectionPlan) -> dict[str, DropReason]:
    return {drop.pack_id: drop.reason for drop in plan.dropped}


def test_the_snippet_of_the_kernel_reference_compiles_items_equal_to_the_stored_packs() -> None:
    ctx = RunContext.create(agent_name="support", intent="Refund order 42")
    envelope = ContextEnvelope.from_run(ctx)
    pack_store = PackStore(
        [
            ContextPack("support.refunds.limits", "7", "Up to €50 at once.", source_uri="vault/refunds.md"),
            ContextPack("support.policy.tone", "2", "Be kind. दयालु रहें।", source_uri="vault/tone.md"),
        ]
    )
    resolver = DecisionResolver()
    spec = resolver.resolve("support.context.injection.v1")
    injector = ContextInjector()
    plan = injector.build_plan(spec, envelope, pack_store)
    items = injection_plan_to_compiled_items(plan)

    assert [(item.section, item.source_id) for item in items] == [
        ("policy", "support.policy.tone"),
        ("refunds", "support.refunds.limits"),
    ]
    for item in items:
        stored = pack_store.get(item.source_id)
        assert item.content == stored.content
        assert item.content_hash == stored.content_hash == hashlib.sha256(stored.content.encode()).hexdigest()
        assert item.provenance is not None
        assert item.provenance.source_uri == stored.source_uri
        assert item.tokens == estimate_tokens(stored.content)
    assert len({item.item_id for item in items}) == len(items)
    assert [item.priority for item in items] == [100, 70]


def test_the_highest_priority_is_kept_when_the_budget_is_short() -> None:
    decision = spec(slot("low", priority=1), slot("high", priority=9), budget=200)
    plan = plan_for(decision, pack("low.a", 150), pack("high.a", 150))
    assert chosen(plan) == ["high.a"]
    assert dropped(plan) == {"low.a": DropReason.OUT_OF_BUDGET}
    assert (plan.tokens_used, plan.token_budget) == (150, 200)


def test_items_stand_in_the_order_of_the_slots_whatever_their_priority() -> None:
    decision = spec(slot("low", priority=1), slot("high", priority=9))
    assert chosen(plan_for(decision, pack("high.a"), pack("low.b"), pack("low.a"))) == [
        "low.a",
        "low.b",
        "high.a",
    ]


def test_within_a_slot_the_pack_of_higher_priority_comes_first() -> None:
    plan = plan_for(spec(slot("s"), budget=15), pack("s.a"), pack("s.b", priority=1))
    assert chosen(plan) == ["s.b"]


def test_a_smaller_pack_still_gets_in_after_one_that_did_not_fit() -> None:
    plan = plan_for(spec(slot("s"), budget=15), pack("s.a", 16), pack("s.b", 15))
    assert chosen(plan) == ["s.b"]


def test_a_slot_never_exceeds_its_own_limit() -> None:
    plan = plan_for(spec(slot("s", max_tokens=25)), pack("s.a"), pack("s.b"), pack("s.c"))
    assert chosen(plan) == ["s.a", "s.b"]
    assert dropped(plan) == {"s.c": DropReason.SLOT_FULL}


def test_a_pack_that_two_slots_want_is_in_the_plan_once_and_not_among_the_dropped() -> None:
    decision = spec(slot("one", "a.*", max_tokens=5), slot("two", "a.*"), slot("three", "a.*"))
    plan = plan_for(decision, pack("a.b"))
    assert [(item.slot, item.pack.pack_id) for item in plan.items] == [("two", "a.b")]
    assert plan.dropped == ()


@pytest.mark.parametrize(("scope", "seen"), [("global", True), ("project:a", True), ("project:b", False)])
def test_a_pack_of_another_scope_is_never_in_the_plan(scope: str, seen: bool) -> None:
    plan = plan_for(spec(slot("s")), pack("s.a", scope=scope), envelope=replace(ENVELOPE, scope="project:a"))
    assert chosen(plan) == (["s.a"] if seen else [])
    assert dropped(plan) == ({} if seen else {"s.a": DropReason.SCOPE})


def test_a_pack_of_another_scope_cannot_fill_a_required_slot() -> None:
    with pytest.raises(SBError, match="no visible pack matches"):
        plan_for(spec(slot("s", required=True)), pack("s.a", scope="project:b"))


def test_a_pack_that_no_slot_asks_for_is_not_mentioned() -> None:
    plan = plan_for(spec(slot("s")), pack("other.a"))
    assert (plan.items, plan.dropped) == ((), ())


@rows(
    "when, holds",
    [
        (SlotCondition(), True),
        (SlotCondition(locales=(LocaleCode.HI_IN, LocaleCode.EN_IN)), True),
        (SlotCondition(locales=(LocaleCode.EN_US,)), False),
        (SlotCondition(intents=("*shipping*", "*REFUND*")), True),
        (SlotCondition(intents=("refund",)), False),
        (SlotCondition(tags=("complaint", "vip")), True),
        (SlotCondition(tags=("complaint",)), False),
        (SlotCondition(intents=("*refund*",), tags=("complaint",)), False),
    ],
)
def test_a_slot_applies_when_every_part_of_its_condition_matches(when: SlotCondition, holds: bool) -> None:
    envelope = replace(ENVELOPE, locale=LocaleCode.EN_IN, tags=frozenset({"vip"}))
    plan = plan_for(spec(slot("s", when=when)), pack("s.a"), envelope=envelope)
    assert chosen(plan) == (["s.a"] if holds else [])
    assert dropped(plan) == ({} if holds else {"s.a": DropReason.CONDITION})


def test_a_required_slot_gets_its_pack_before_optional_slots_of_higher_priority() -> None:
    decision = spec(slot("nice", priority=9), slot("must", priority=1, required=True), budget=15)
    assert chosen(plan_for(decision, pack("nice.a"), pack("must.a"))) == ["must.a"]


def test_a_required_slot_whose_condition_does_not_hold_is_not_required() -> None:
    never = SlotCondition(tags=("never",))
    assert plan_for(spec(slot("s", required=True, when=never))).items == ()


@rows(
    "decision, complaint",
    [
        (
            spec(slot("s", required=True, packs=("b.*",))),
            r"required slot 's' .*no visible pack matches b\.\*",
        ),
        (spec(slot("s", "a.*", required=True), budget=9), r"required slot 's' .*a\.b: out of budget"),
        (
            spec(slot("s", "a.*", required=True, max_tokens=9)),
            r"required slot 's' .*a\.b: over the slot's limit",
        ),
        (
            spec(slot("r", "a.*", required=True), slot("s", "a.*", required=True)),
            r"required slot 's' .*a\.b: already in 'r'",
        ),
    ],
)
def test_a_required_slot_that_cannot_be_filled_is_an_error_that_says_why(
    decision: DecisionSpec, complaint: str
) -> None:
    with pytest.raises(SBError, match=complaint):
        plan_for(decision, pack("a.b", 10))


def test_a_budget_of_zero_gives_an_empty_plan_even_with_a_required_slot() -> None:
    decision = spec(slot("s"), slot("must", required=True))
    plan = plan_for(decision, pack("s.a"), pack("must.a"), envelope=replace(ENVELOPE, token_budget=0))
    assert (plan.items, plan.tokens_used) == ((), 0)
    assert set(dropped(plan).values()) == {DropReason.OUT_OF_BUDGET}
    assert injection_plan_to_compiled_items(plan) == []


@pytest.mark.parametrize(("asked", "budget"), [(None, 100), (40, 40), (5000, 100)])
def test_the_envelope_may_narrow_the_budget_and_never_widen_it(asked: int | None, budget: int) -> None:
    plan = plan_for(spec(slot("s")), pack("s.a"), envelope=replace(ENVELOPE, token_budget=asked))
    assert plan.token_budget == budget


@pytest.mark.parametrize("free", [0, -50])
def test_no_counter_makes_a_pack_free(free: int) -> None:
    injector = ContextInjector(count_tokens=lambda text: free)
    plan = injector.build_plan(spec(slot("s"), budget=1), ENVELOPE, PackStore([pack("s.a"), pack("s.b")]))
    assert chosen(plan) == ["s.a"]


SLOTS = st.lists(
    st.builds(
        slot,
        name=st.sampled_from("abc"),
        priority=st.integers(0, 3),
        max_tokens=st.integers(1, 60),
        packs=st.sampled_from([("a.*",), ("b.*", "a.1"), ("*",)]),
        when=st.sampled_from([SlotCondition(), SlotCondition(tags=("vip",))]),
    ),
    max_size=3,
    unique_by=lambda item: item.name,
)
PACKS = st.lists(
    st.builds(
        pack,
        st.sampled_from(["a.1", "a.2", "a.3", "b.1", "b.2", "c.1"]),
        st.integers(1, 60),
        st.sampled_from(["global", "project:a", "project:b"]),
        st.integers(0, 2),
    ),
    max_size=6,
    unique_by=lambda item: item.pack_id,
)
SMALL_ENVELOPES = st.builds(
    replace,
    st.just(ENVELOPE),
    token_budget=st.none() | st.integers(0, 120),
    tags=st.sampled_from([frozenset[str](), frozenset({"vip"})]),
    scope=st.sampled_from(["global", "project:a"]),
)


@given(slots=SLOTS, packs=PACKS, envelope=SMALL_ENVELOPES)
def test_a_plan_never_exceeds_a_limit_leaks_a_scope_or_loses_a_pack(
    slots: list[InjectionSlot], packs: list[ContextPack], envelope: ContextEnvelope
) -> None:
    plan = plan_for(spec(*slots), *packs, envelope=envelope)
    assert plan.tokens_used <= plan.token_budget <= 100
    for entry in slots:
        assert sum(item.tokens for item in plan.items if item.slot == entry.name) <= entry.max_tokens
    assert {item.pack.scope for item in plan.items} <= {"global", envelope.scope}
    assert len(set(chosen(plan))) == len(plan.items)
    assert not set(chosen(plan)) & set(dropped(plan))
    wanted = {
        item.pack_id
        for item in packs
        if any(s.packs == ("*",) or item.pack_id[0] in s.packs[0] for s in slots)
    }
    assert wanted <= set(chosen(plan)) | set(dropped(plan))


@given(slots=SLOTS, packs=PACKS, envelope=SMALL_ENVELOPES, data=st.data())
def test_the_same_input_gives_the_same_plan_and_hash_whatever_the_order_of_the_store(
    slots: list[InjectionSlot], packs: list[ContextPack], envelope: ContextEnvelope, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(packs))
    plan = plan_for(spec(*slots), *packs, envelope=envelope)
    two = plan_for(spec(*slots), *shuffled, envelope=replace(envelope, run_id="run_2", trace_id="trace_2"))
    assert plan == two
    assert plan.manifest_hash == two.manifest_hash


@given(content=st.text(min_size=1).filter(str.strip), position=st.integers(0), data=st.data())
def test_one_changed_character_changes_the_manifest_hash(
    content: str, position: int, data: st.DataObject
) -> None:
    position %= len(content)
    other = data.draw(st.characters(exclude_characters=content[position] + " \n", categories=["L", "N"]))
    changed = content[:position] + other + content[position + 1 :]
    before, after = (
        ContextInjector(count_tokens=lambda _: 1)
        .build_plan(spec(slot("s")), ENVELOPE, PackStore([ContextPack("s.a", "1", text)]))
        .manifest_hash
        for text in (content, changed)
    )
    assert before != after


def test_the_manifest_hash_covers_decision_version_budget_slot_and_pack_version() -> None:
    base = pack("s.a")
    plans = [
        plan_for(spec(slot("s")), base),
        plan_for(replace(spec(slot("s")), version="1.0.1"), base),
        plan_for(replace(spec(slot("s")), key="tests.other.v1"), base),
        plan_for(spec(slot("s"), budget=99), base),
        plan_for(spec(slot("t", "s.*")), base),
        plan_for(spec(slot("s")), replace(base, version="2")),
        plan_for(spec(slot("s")), pack("s.b")),
        plan_for(spec(slot("s"))),
    ]
    assert len({plan.manifest_hash for plan in plans}) == len(plans)


def test_an_envelope_takes_its_fields_from_the_run_and_its_budget_from_what_is_left() -> None:
    ctx = RunContext.create(
        agent_name="support",
        intent="refund",
        session_id="sess_1",
        locale=LocaleCode.HI_IN,
        budget=RunBudget(max_prompt_tokens=1000, prompt_tokens_used=700),
    )
    envelope = ContextEnvelope.from_run(ctx, scope="project:a", tags=["vip", "vip"])
    assert envelope == ContextEnvelope(
        run_id=ctx.run_id,
        trace_id=ctx.trace_id,
        session_id="sess_1",
        agent_name="support",
        intent="refund",
        locale=LocaleCode.HI_IN,
        scope="project:a",
        tags=frozenset({"vip"}),
        token_budget=300,
    )
    assert ContextEnvelope.from_run(ctx, token_budget=20).token_budget == 20
    assert ContextEnvelope.from_run(ctx, token_budget=900).token_budget == 300
    ctx.budget.spend(prompt_tokens=2000)
    assert ContextEnvelope.from_run(ctx).token_budget == 0


@pytest.mark.parametrize("fields", [{"token_budget": -1}, {"scope": ""}])
def test_an_impossible_envelope_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        replace(ENVELOPE, **fields)  # type: ignore[arg-type]


@rows("fields", [{"pack_id": ""}, {"version": " "}, {"content": "\n"}, {"scope": ""}, {"content": "\ud800"}])
def test_a_pack_that_could_not_be_cited_or_hashed_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        replace(pack("a.b"), **fields)  # type: ignore[arg-type]


def test_a_store_refuses_a_second_pack_of_the_same_id_and_names_the_nearest_of_a_missing_one() -> None:
    with pytest.raises(UsageError, match="listed twice"):
        PackStore([pack("s.a"), replace(pack("s.a"), version="2")])
    with pytest.raises(NotFoundError, match=r'did you mean "support\.tone"'):
        PackStore([pack("support.tone")]).get("support.tones")


@rows(
    "text, tokens",
    [("", 0), ("a", 1), ("a" * 400, 130), ("退款" * 10, 30), ("धन" * 10, 30), ("é" * 10, 10), ("\ud800", 2)],
)
def test_tokens_are_estimated_by_the_documented_factors(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_the_estimate_of_parts_never_falls_below_that_of_the_whole(one: str, two: str) -> None:
    assert estimate_tokens(one) + estimate_tokens(two) >= estimate_tokens(one + two)


def test_an_agents_decision_keys_and_required_packs_hold() -> None:
    packs = PackStore([pack("a.one"), pack("b.one")])

    def plan(**declared: Any) -> list[str]:
        injector = ContextInjector(lambda _: 10, AgentCapabilities("clerk", **declared))
        return chosen(injector.build_plan(spec(slot("a")), ENVELOPE, packs))

    assert plan(required_packs=["a.one"], decision_keys=["tests.*"]) == ["a.one"]
    with pytest.raises(
        SBError, match=r"requires context pack b\.one, which is not in the plan: no slot asks"
    ):
        plan(required_packs=["b.one"])
    with pytest.raises(DeniedError, match="agent clerk may not use decision"):
        plan(decision_keys=["billing.*"])
