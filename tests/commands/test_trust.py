"""Trust in others, on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import CommandLine

HOSTILE = "\x1b]0;owned\x07[red]\u202eeve\nmallory  code 1.0"


def test_what_is_said_of_one_domain_leaves_the_others(sb: CommandLine) -> None:
    uid = sb("trust", "set", "Eve", "code", "0.9").out
    assert sb("trust", "set", "Eve", "cooking", "0.2", "--evidence", "an-episode").out == uid
    shown = sb("trust", "show", "Eve", "--json").json
    assert shown["dimensions"] == {"code": {"score": 0.9}, "cooking": {"score": 0.2}}
    assert shown["evidence_episode_ids"] == ["an-episode"]


def test_it_is_shown_for_one_domain_and_what_it_rests_on(sb: CommandLine) -> None:
    sb("trust", "set", "Eve", "code", "0.9", "--evidence", "an-episode")
    lines = sb("trust", "show", "Eve", "--domain", "code").out.splitlines()
    assert lines[0] == "Eve: 0.9 in code, by assessment"
    assert lines[1].startswith("    code: 0.9 by ")
    assert lines[2:] == [
        "evidence: an-episode",
        "counts: 0.90 now; an operator gave Eve 0.9, just now",
    ]
    assert "0.5 in general, by default" in sb("trust", "show", "Eve").out


def test_the_list_is_narrowed_by_domain_and_score(sb: CommandLine) -> None:
    for name, domain, score in (("Eve", "code", "0.9"), ("Bob", "code", "0.3"), ("Ann", "cooking", "1")):
        assert sb("trust", "set", name, domain, score).code == 0

    def names(*arguments: str) -> set[str]:
        return {item["entity"] for item in sb("trust", "list", *arguments, "--json").json["items"]}

    assert names() == {"Eve", "Bob", "Ann"}
    assert names("--domain", "code") == {"Eve", "Bob"}
    assert names("--domain", "code", "--min-score", "0.5") == {"Eve"}
    assert sb("trust", "list", "--domain", "code").out.count("\n") == 3


def test_each_stack_has_its_own(sb: CommandLine) -> None:
    assert sb("stack", "create", "work").code == 0
    sb("trust", "set", "Eve", "code", "0.9", "--stack", "work")
    assert sb("trust", "show", "Eve").code == 1
    assert sb("trust", "show", "Eve", "--stack", "work").code == 0


@pytest.mark.parametrize("score", ["1.1", "nan", "much"])
def test_a_score_is_from_0_to_1(sb: CommandLine, score: str) -> None:
    assert sb("init").code == 0
    assert sb("trust", "set", "Eve", "code", score).code == 2
    assert sb("trust", "list", "--json").json == {"items": []}


def test_nothing_is_said_yet(sb: CommandLine) -> None:
    assert sb("init").code == 0
    empty = sb("trust", "list")
    assert (empty.code, empty.out, "sb trust set" in empty.err) == (0, "", True)
    missing = sb("trust", "show", "Eve", "--json")
    assert (missing.code, missing.json["error"]["kind"]) == (1, "not_found")


def test_what_others_are_called_does_nothing_to_a_terminal(sb: CommandLine) -> None:
    sb("trust", "set", HOSTILE, "code", "0.9")
    for shown in (sb("trust", "list"), sb("trust", "show", HOSTILE)):
        assert not set("\x1b\x07\u202e") & set(shown.out + shown.err)
        assert "\nmallory" not in shown.out


def test_an_agents_opinion_is_shown_and_counts_only_if_that_agent_is_trusted(sb: CommandLine) -> None:
    sb("trust", "set", "eve", "general", "1", "--agent", "eve")
    sb("trust", "set", "bob", "general", "1", "--agent", "eve")
    for name in ("eve", "bob"):
        assert sb("trust", "show", name, "--json").json["counts"] is None
        assert "counts: not at all" in sb("trust", "show", name).out
    assert sb("trust", "set", "eve", "general", "0.9", "--reason", "her reviews hold").code == 0
    counts = sb("trust", "show", "bob", "--json").json["counts"]
    assert (counts["depth"], round(counts["score"], 2)) == (1, 0.84)
    assert "an operator gave eve 0.9" in sb("trust", "show", "bob").out
    assert "her reviews hold" in sb("log", "tail", "--kind", "memory.trust_set", "--json").out


def test_hostile_text_in_every_field_stays_text(sb: CommandLine, home: Path) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.yaml").write_text(
        'memory:\n  scopes: {"project:a": {read: ["[red]eve"]}}\n', encoding="utf-8"
    )
    assert sb("trust", "set", HOSTILE, HOSTILE, "0.9", "--reason", HOSTILE, "--evidence", HOSTILE).code == 0
    shown = [
        sb("trust", "show", HOSTILE),
        sb("trust", "show", HOSTILE, "--domain", HOSTILE),
        sb("trust", "list", "--domain", HOSTILE),
        sb("memory", "access", "--agent", HOSTILE),
        sb("memory", "access"),
        sb("log", "tail", "--kind", "memory.trust_set"),
    ]
    for outcome in shown:
        assert outcome.code == 0
        assert not set("\x1b\x07\u202e") & set(outcome.out + outcome.err)
        assert "\nmallory" not in outcome.out
    assert (
        sb("memory", "access", "--scope", "project:a", "--agent", HOSTILE, "--json").json["items"][0]["value"]
        is False
    )
    assert sb("trust", "show", "mallory").code == 1
