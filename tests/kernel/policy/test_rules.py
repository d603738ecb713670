"""Written rules: order-free, deny first, and no spelling of a value slips past them."""

from __future__ import annotations

import random
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sb.config.rules import PolicyRule
from sb.kernel import RunContext, SafetyClass, SafetyMode, ToolExecutor, ToolPolicy, ToolRegistry, ToolSpec
from sb.kernel.policy.permissions import PolicyAction
from sb.kernel.policy.rules import WrittenPolicy

CLASSES = list(SafetyClass)
_names = st.sampled_from(["files.read", "files.write", "http.get", "*", "files.*", "x.*"])
_rules = st.builds(
    PolicyRule,
    effect=st.sampled_from(["deny", "approve", "allow"]),
    tools=st.lists(_names, min_size=1, max_size=2).map(tuple),
    agents=st.lists(st.sampled_from(["clerk", "c*", "eve"]), max_size=1).map(tuple),
    classes=st.lists(st.sampled_from([str(c) for c in CLASSES]), max_size=2, unique=True).map(tuple),
    args=st.dictionaries(
        st.sampled_from(["path", "url"]),
        st.lists(st.sampled_from(["docs/*", "*secret*", "*"]), min_size=1, max_size=2).map(tuple),
        max_size=1,
    ),
    name=st.sampled_from("abc"),
    reason=st.just("because"),
)
_args = st.dictionaries(
    st.sampled_from(["path", "url"]),
    st.sampled_from(["docs/a", "docs/../secret", "x", ["docs/a", "b"]]),
    max_size=2,
)


def spec(tool_id: str = "files.write", safety_class: SafetyClass = SafetyClass.LOCAL_WRITE) -> ToolSpec:
    return ToolSpec(tool_id, tool_id, safety_class=safety_class)


def action(rules: list[PolicyRule], args: dict[str, object], safety_class: SafetyClass) -> PolicyAction:
    policy = ToolPolicy.normal(rules=WrittenPolicy(rules))
    return policy.evaluate(spec(safety_class=safety_class), "clerk", args).action


STRICTNESS = [PolicyAction.ALLOW, PolicyAction.REQUIRE_APPROVAL, PolicyAction.DENY]


@given(st.lists(_rules, max_size=6), _args, st.sampled_from(CLASSES), st.randoms())
def test_the_order_of_rules_does_not_matter(
    rules: list[PolicyRule], args: dict[str, object], safety_class: SafetyClass, shuffler: random.Random
) -> None:
    mixed = list(rules)
    shuffler.shuffle(mixed)
    assert action(rules, args, safety_class) is action(mixed, args, safety_class)


@given(st.lists(_rules, max_size=6), _rules, _args, st.sampled_from(CLASSES))
def test_a_further_rule_to_deny_or_ask_never_makes_a_call_freer(
    rules: list[PolicyRule], extra: PolicyRule, args: dict[str, object], safety_class: SafetyClass
) -> None:
    before, after = action(rules, args, safety_class), action([*rules, extra], args, safety_class)
    if extra.effect == "deny":
        assert STRICTNESS.index(after) >= STRICTNESS.index(before)
    if extra.effect == "approve" and after is PolicyAction.ALLOW:
        assert before is PolicyAction.ALLOW


@given(st.lists(_rules, max_size=6), _args, st.sampled_from(CLASSES))
def test_written_rules_only_make_the_policy_stricter(
    rules: list[PolicyRule], args: dict[str, object], safety_class: SafetyClass
) -> None:
    built_in = action([], args, safety_class)
    assert STRICTNESS.index(action(rules, args, safety_class)) >= STRICTNESS.index(built_in)


def rule(effect: str, *tools: str, **more: object) -> PolicyRule:
    return PolicyRule(effect, tools, name=f"{effect} {tools[0]}", **more)  # type: ignore[arg-type]


def test_deny_beats_approve_beats_allow_and_the_rest_is_denied() -> None:
    rules = [
        rule("allow", "files.*"),
        rule("approve", "files.write"),
        rule("deny", "files.w*", agents=("eve",)),
    ]
    policy = ToolPolicy.normal(rules=WrittenPolicy(rules))
    decided = {
        (tool, agent): policy.evaluate(spec(tool), agent, {})
        for tool in ("files.read", "files.write", "http.get")
        for agent in ("clerk", "eve")
    }
    assert decided["files.read", "clerk"].action is PolicyAction.ALLOW
    assert decided["files.write", "clerk"].reasons == (("approve files.write", "files.write needs a person"),)
    assert decided["files.write", "eve"].rule == "deny files.w*"
    assert decided["http.get", "clerk"].reason == "no rule of the policy allows http.get"


def test_every_reason_for_a_person_is_given() -> None:
    rules = [
        rule("approve", "*", args={"path": ("*secret*",)}),
        rule("approve", "files.*"),
        rule("allow", "*"),
    ]
    policy = ToolPolicy.normal(rules=WrittenPolicy(rules))
    destructive = spec(safety_class=SafetyClass.DESTRUCTIVE)
    decision = policy.evaluate(destructive, "clerk", {"path": "a/secret"})
    assert {name for name, _ in decision.reasons} == {"destructive", "approve *", "approve files.*"}


def test_what_allows_needs_every_spelling_and_what_denies_one() -> None:
    path = {"path": ("docs/*",)}
    for value, allowed, denied in (
        ("docs/a", True, True),
        ("docs/../secrets", False, True),
        ("x", False, False),
    ):
        only = action([rule("allow", "*", args=path)], {"path": value}, SafetyClass.LOCAL_WRITE)
        never = action([rule("deny", "*", args=path)], {"path": value}, SafetyClass.LOCAL_WRITE)
        assert (only is PolicyAction.ALLOW, never is PolicyAction.DENY) == (allowed, denied)
    absent = action([rule("allow", "*", args=path)], {}, SafetyClass.LOCAL_WRITE)
    assert absent is PolicyAction.DENY


def test_no_rule_lifts_what_is_built_in() -> None:
    everything = WrittenPolicy([rule("allow", "*")])
    assert (
        ToolPolicy.normal(rules=everything)
        .evaluate(spec(safety_class=SafetyClass.DESTRUCTIVE), "x", {})
        .action
        is PolicyAction.REQUIRE_APPROVAL
    )
    safe = ToolPolicy(rules=everything).bound_by(SafetyMode.SAFE)
    assert safe.evaluate(spec(), "x", {}).action is PolicyAction.DENY
    assert (
        ToolPolicy(SafetyMode.SAFE, rules=WrittenPolicy([rule("deny", "*")]))
        .evaluate(spec(safety_class=SafetyClass.READ_ONLY), "x", {})
        .action
        is PolicyAction.DENY
    )


def test_a_rule_that_cannot_be_judged_denies() -> None:
    registry = ToolRegistry()
    registry.register_fn("a.b", "B", lambda: None)

    class Broken(WrittenPolicy):
        def decide(self, *_: object) -> object:  # type: ignore[override]
            raise RuntimeError("broken")

    policy = ToolPolicy.normal(rules=Broken([rule("deny", "x")]))
    result = ToolExecutor(registry, policy).execute(RunContext.create("x"), "a.b", {})
    assert "denied because a check failed" in result.error_message


def test_many_agents_do_not_fill_the_memory() -> None:
    written = WrittenPolicy([rule("deny", "x.*")])
    for number in range(25_000):
        written.decide("a.b", f"agent{number}", SafetyClass.READ_ONLY, {})
    assert len(written._known) <= 10_000


def test_the_version_covers_the_rules(tmp_path: Path) -> None:
    versions = {
        ToolPolicy.normal(rules=rules).version
        for rules in (None, WrittenPolicy([rule("deny", "x")]), WrittenPolicy([rule("allow", "x")]))
    }
    assert len(versions) == 3
    assert ToolPolicy.normal(rules=WrittenPolicy()).version == ToolPolicy.normal().version
