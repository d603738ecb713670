"""Explaining a verdict, and what is odd about rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.config.rules import BUILT_IN, PolicyRule
from sb.kernel import AgentCapabilities, SafetyClass, SafetyMode, ToolPolicy, ToolRegistry, ToolSpec
from sb.kernel.policy.lint import oddities
from sb.kernel.policy.patterns import matches
from sb.kernel.policy.permissions import PolicyAction
from sb.kernel.policy.rules import WrittenPolicy
from sb.kernel.review.explain import Judge
from tests.conftest import CommandLine
from tests.rows import rows


def rule(effect: str, *tools: str, name: str = "rule", **more: tuple[str, ...]) -> PolicyRule:
    return PolicyRule(effect, tools, name=name, **more)  # type: ignore[arg-type]


def judge(*rules: PolicyRule, blocked: tuple[str, ...] = ()) -> Judge:
    registry = ToolRegistry()
    registry.register_agent(AgentCapabilities("low", safety_class_ceiling=SafetyClass.READ_ONLY))
    return Judge(ToolPolicy.normal(blocked, rules=WrittenPolicy(rules)), registry, {"clerk": ("pay",)})


PAY = ToolSpec("bank.pay", "Pay", safety_class=SafetyClass.DESTRUCTIVE, requires_permission=["pay"])


def test_every_rule_that_fits_is_named_also_the_beaten_and_the_built_in_ones() -> None:
    rules = rule("deny", "bank.*", name="no bank"), rule("allow", "*", name="rest")
    found = judge(*rules, blocked=("bank.pay",)).under(SafetyMode.SAFE).explain(PAY, "low", {})
    assert [(hit.rule, hit.effect) for hit in found.hits] == [
        ("blocked_tools", "deny"),
        ("safe_mode", "deny"),
        ("capabilities", "deny"),
        ("requires_permission", "deny"),
        ("destructive", "approve"),
        ("no bank", "deny"),
        ("rest", "allow"),
    ]
    assert {hit.rule for hit in found.hits[:5]} <= BUILT_IN, "no written rule can have their names"
    for part in ("blocked", "normal mode", "ceiling", "permission", "removing or narrowing no bank"):
        assert part in found.remedy, "everything that denies has to go"


def test_a_permission_that_the_agent_lacks_denies_as_it_does_in_a_call() -> None:
    assert judge().decide(PAY, "clerk", {}).action is PolicyAction.REQUIRE_APPROVAL
    assert judge().decide(PAY, "stranger", {}).rule == "requires_permission"


@pytest.mark.parametrize(
    ("rules", "remedy"),
    [
        ([], "an operator's approval of the call"),
        ([rule("allow", "x.*")], "a rule that allows bank.pay"),
        ([rule("deny", "*", name="none")], "removing or narrowing none"),
    ],
)
def test_the_remedy_says_what_would_change_it(rules: list[PolicyRule], remedy: str) -> None:
    assert judge(*rules).explain(PAY, "clerk", {}).remedy == remedy


TOOLS, AGENTS = ["files.read", "files.write", "http.get"], ["clerk"]


@rows(
    "rules, warnings",
    [
        ([rule("deny", "files.*"), rule("allow", "http.get", name="b", agents=("c*",))], []),
        ([rule("deny", "fils.*")], ['rule: no registered tool fits fils.* (did you mean "files.read"?)']),
        ([rule("deny", "*", agents=("eve",))], ["rule: no configured agent fits eve"]),
        (
            [rule("allow", "files.w*", name="a"), rule("deny", "files.*", name="b")],
            ["a: it never matters, since b denies all of it"],
        ),
        (
            [rule("deny", "files.*", name="a"), rule("deny", "files.*", name="b")],
            ["b: it never matters, since a denies all of it"],
        ),
        (
            [rule("deny", "*", name="a", classes=("network",)), rule("allow", "*", name="b")],
            [],
        ),
        (
            [
                rule("deny", "*", name="a", agents=("c*",)),
                rule("approve", "http.get", name="b", agents=("clerk",)),
            ],
            ["b: it never matters, since a denies all of it"],
        ),
        ([rule("deny", "*", name="a", agents=("c*",)), rule("allow", "*", name="b")], []),
        ([rule("deny", "files.*"), rule("deny", "http.*")], ["rule: several rules have this name"]),
    ],
)
def test_odd_rules_are_named(rules: list[PolicyRule], warnings: list[str]) -> None:
    assert oddities(rules, TOOLS, AGENTS) == warnings


@rows("broad, narrow", [("?", "*"), ("a[*]", "a*"), ("*a*", "x[ab]"), ("*[*]*", "x[*]")])
def test_a_rule_is_not_said_to_be_pointless_where_it_may_not_be(broad: str, narrow: str) -> None:
    found = oddities([rule("deny", broad, name="a"), rule("allow", narrow, name="b")], [], [])
    assert not any("never matters" in line for line in found)


_patterns = st.text("ab*?[]!", min_size=1, max_size=5)


@given(_patterns, _patterns, st.text("ab*[", max_size=5))
def test_a_rule_that_is_said_never_to_matter_is_about_nothing_else(
    broad: str, narrow: str, text: str
) -> None:
    found = oddities([rule("deny", broad, name="a"), rule("allow", narrow, name="b")], [], [])
    if any("never matters" in line for line in found) and matches(narrow, text):
        assert matches(broad, text)


def test_a_lacking_permission_is_explained_and_noted_in_json(sb: CommandLine, home: Path) -> None:
    sb("init")
    (home / "config.yaml").write_text("agents:\n  clerk: {}\npolicy:\n  - allow: files.*\n")
    outcome = sb("kernel", "policy", "explain", "files.write", "--agent", "clerk")
    assert outcome.code == 4
    assert "fits capabilities (deny): files.write is local_write, above agent clerk's ceiling" in outcome.out
    assert "fits policy[1] (allow): files.* is allowed" in outcome.out
    checked = sb("kernel", "policy", "check", "--json").json
    assert (len(checked["items"]), checked["warnings"], len(checked["notes"])) == (1, [], 1)
