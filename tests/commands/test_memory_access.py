"""`sb memory access`: each answer about a scope, and the pattern that gives it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sb.config.scopes import QUESTIONS
from tests.conftest import CommandLine

RULES = """
memory:
  scopes:
    "customer:*": {read: ["support-*"], write: ["support-*"], purpose: support, consent: true, retention: 365d}
    "customer:acme": {personal_data: redact, retention: {event: 30d}, gate: {lesson: {threshold: 0.4}}, max_age: 90d}
    "c*r:*": {share: [lead]}
    "*": {includes: [team:web], trust_floor: 0.45}
"""


@pytest.fixture(autouse=True)
def rules(home: Path) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.yaml").write_text(RULES, encoding="utf-8")


def answers(sb: CommandLine, *options: str) -> dict[str, tuple[Any, list[str]]]:
    items = sb("memory", "access", "--scope", "customer:acme", *options, "--json").json["items"]
    assert {item["scope"] for item in items} == {"customer:acme"}
    return {item["answer"]: (item["value"], item["patterns"]) for item in items}


def test_each_answer_is_shown_with_the_pattern_that_gives_it(sb: CommandLine) -> None:
    found = answers(sb, "--agent", "support-7")
    assert found == {
        "read": (True, ["customer:*"]),
        "write": (True, ["customer:*"]),
        "promote": (False, ["customer:*", "c*r:*"]),
        "share": (False, ["c*r:*"]),
        "purpose": ("support", ["customer:*"]),
        "consent": (True, ["customer:*"]),
        "max_age": (90 * 86_400, ["customer:acme"]),
        "personal_data": ("redact", ["customer:acme"]),
        "retention *": (365 * 86_400, ["customer:*"]),
        "retention event": (30 * 86_400, ["customer:acme"]),
        "gate lesson threshold": (0.4, ["customer:acme"]),
        "includes": (["team:web"], ["*"]),
        "trust_floor": (0.45, ["*"]),
        "personal_data_readers": (True, ["memory.personal_data_readers"]),
    }
    assert {name.partition(" ")[0] for name in found} == {*QUESTIONS, "personal_data_readers"}


def test_without_an_agent_those_who_have_a_right_are_named(sb: CommandLine) -> None:
    found = answers(sb)
    assert (found["read"], found["promote"][0]) == ((["support-*"], ["customer:*"]), [])
    lines = sb("memory", "access", "--scope", "customer:acme").out.splitlines()
    assert [line.split() for line in lines if "promote" in line or "retention event" in line] == [
        ["customer:acme", "promote", "nobody", "customer:*,", "c*r:*"],
        ["customer:acme", "retention", "event", "30d", "customer:acme"],
    ]


def test_a_scope_without_a_rule_has_the_answers_that_are_built_in(sb: CommandLine, home: Path) -> None:
    (home / "config.yaml").write_text("", encoding="utf-8")
    found = answers(sb, "--agent", "ada")
    assert all(not patterns for name, (_, patterns) in found.items() if name != "personal_data_readers")
    assert (found["read"][0], found["retention"][0], found["gate"][0]) == (True, None, None)
    assert sb("memory", "access", "--json").json == {"items": []}


def test_a_charter_that_keeps_an_agent_out_is_shown_too(sb: CommandLine, home: Path) -> None:
    sb("memory", "remember", "The lamp is white.", "--agent", "support-7", "--scope", "customer:acme")
    with (home / "config.yaml").open("a", encoding="utf-8") as file:
        file.write("agent_charters: enforce\n")
    allowed, patterns = answers(sb, "--agent", "support-7")["charter"]
    assert not allowed
    assert "support-7" in patterns[0]
