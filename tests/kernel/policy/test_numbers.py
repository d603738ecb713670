"""Rules that compare numbers: the limit itself fits neither side, and a value other than a number is never let through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sb.config import current_config
from sb.config.rules import Bounds
from sb.errors import ConfigError
from sb.kernel import SafetyClass, ToolPolicy, ToolSpec
from sb.kernel.policy.rules import WrittenPolicy
from tests.conftest import CommandLine
from tests.rows import rows

TOOL = ToolSpec("shop.refund", "Refund", safety_class=SafetyClass.LOCAL_WRITE)


def written(home: Path, rule: str) -> WrittenPolicy:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(f"policy:\n  - {rule}\n", encoding="utf-8")
    return WrittenPolicy(current_config({}).policy)


def verdict(home: Path, rule: str, args: dict[str, Any]) -> str:
    return str(ToolPolicy.normal(rules=written(home, rule)).evaluate(TOOL, "clerk", args).action)


ABOVE, BETWEEN = "{above: 1000}", "{above: 10, below: 20.5}"


@rows(
    "effect, limits, amount, fits",
    [
        ("deny", ABOVE, 1000.01, True),
        ("deny", ABOVE, 10**400, True),
        ("deny", ABOVE, 1000, False),
        ("deny", ABOVE, -5000, False),
        ("deny", ABOVE, "5000", True),
        ("deny", ABOVE, "1", True),
        ("deny", ABOVE, True, True),
        ("deny", ABOVE, None, True),
        ("deny", ABOVE, [5000], True),
        ("deny", "{below: -1}", -1, False),
        ("deny", "{below: -1}", -1.5, True),
        ("deny", BETWEEN, 20, True),
        ("deny", BETWEEN, 20.5, False),
        ("deny", BETWEEN, 10, False),
        ("allow", "{below: 1000}", 999, True),
        ("allow", "{below: 1000}", 1000, False),
        ("allow", "{below: 1000}", "999", False),
        ("allow", "{below: 1000}", False, False),
    ],
)
def test_numbers_are_compared(effect: str, limits: str, amount: Any, fits: bool, home: Path) -> None:
    found = verdict(home, f"{{{effect}: shop.*, args: {{amount: {limits}}}}}", {"amount": amount})
    assert (found == "allow") is (fits is (effect == "allow"))


def test_an_absent_argument_fits_no_limit(home: Path) -> None:
    assert verdict(home, "{deny: shop.*, args: {amount: {above: 1}}}", {"other": 5}) == "allow"


@rows(
    "limits, message",
    [
        ("{over: 1000}", "unknown key"),
        ("{above: much}", "must be a number"),
        ('{above: "1000"}', "must be a number"),
        ("{above: .inf}", "must be a number"),
        ("{}", "is empty"),
        ("{above: 5, below: 5}", "fits no number"),
        ("[{above: 5}]", "must be a pattern"),
    ],
)
def test_limits_are_read_strictly(limits: str, message: str, home: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        written(home, f"{{deny: shop.*, args: {{amount: {limits}}}}}")


def test_check_and_explain_say_the_limit(home: Path, sb: CommandLine) -> None:
    assert sb("init").code == 0
    rules = home / "rules.yaml"
    rules.write_text(
        "policy:\n  - {approve: files.write, args: {mode: {above: 1000}}, name: large}\n", encoding="utf-8"
    )
    words = "files.write needs a person where mode is above 1000"
    assert words in sb("kernel", "policy", "check", "--file", str(rules)).out
    rule = sb("kernel", "policy", "check", "--file", str(rules), "--json").json["items"][0]
    assert rule["args"] == {"mode": ["above 1000"]}
    explained = sb(
        "kernel", "policy", "explain", "files.write", "--args", '{"mode": 1001}', "--file", str(rules)
    )
    assert "large" in explained.out


def test_limits_that_differ_a_little_are_different_rules() -> None:
    assert Bounds({"above": 1_000_000}) != Bounds({"above": 1_000_004})
    assert not Bounds({"above": 1_000_004}).fits(1_000_002, allows=False)
    assert Bounds({"above": 5}).fits(float("nan"), allows=False)
