"""The policy of memory: which pattern answers a question about a scope, and what a further layer may change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from sb.config.model import BY_KEY, known_setting
from sb.config.narrowing import Narrow
from sb.config.scopes import RIGHTS, Answer, Scopes, gate_settings, scopes_of
from sb.errors import ConfigError
from tests.conftest import CommandLine
from tests.rows import rows

RULES: dict[str, dict[str, Any]] = {
    "*": {"read": ("ada", "support-*"), "write": ("ada",), "retention": {"*": 90, "event": 30}, "consent": True},
    "customer:*": {"personal_data": "redact", "retention": {"*": 60}, "includes": ("team:web",), "trust_floor": 0.6},
    "cust*r:acme": {"personal_data": "drop"},
    "*tomer:acme": {"personal_data": "keep", "read": ("ada",), "retention": {"lesson": 10, "fact": 20}},
    "customer:acme": {"consent": False, "trust_floor": 0.3},
    "*customer:acme": {"consent": True, "trust_floor": 0.9},  # longer than the name, which is before it all the same
}  # fmt: skip


@rows(
    "name, scope, part, value, patterns",
    [
        ("read", "customer:acme", (), ("ada",), ("*tomer:acme",)),
        ("read", "customer:b", (), ("ada", "support-*"), ("*",)),
        ("write", "customer:acme", (), ("ada",), ("*",)),
        ("promote", "customer:acme", (), (), ("*", "*tomer:acme")),
        ("consent", "customer:acme", (), False, ("customer:acme",)),
        ("consent", "customer:b", (), True, ("*",)),
        ("personal_data", "customer:acme", (), "drop", ("cust*r:acme", "*tomer:acme")),
        ("personal_data", "global", (), "keep", ()),
        ("includes", "customer:b", (), ("team:web",), ("customer:*",)),
        ("trust_floor", "customer:acme", (), 0.3, ("customer:acme",)),
        ("retention", "global", ("event", None), (30, "event"), ("*",)),
        ("retention", "global", ("fact", "lesson"), (90, "*"), ("*",)),
        ("retention", "customer:b", ("event", None), (60, "*"), ("customer:*",)),
        ("retention", "customer:acme", ("fact", "lesson"), (10, "lesson"), ("*tomer:acme",)),
        ("retention", "customer:acme", ("event", None), (60, "*"), ("customer:*",)),
        ("max_age", "customer:acme", (), 0, ()),
    ],
)
def test_the_longest_pattern_that_answers_counts_and_of_equals_the_strictest(
    name: str, scope: str, part: Any, value: Any, patterns: tuple[str, ...]
) -> None:
    assert scopes_of(RULES).explain(name, scope, part) == Answer(value, patterns)
    backwards = scopes_of(dict(reversed(RULES.items()))).explain(name, scope, part)
    assert (backwards.value, set(backwards.patterns)) == (value, set(patterns)), "no order of rules matters"


def test_a_scope_is_open_until_a_rule_is_about_a_right() -> None:
    free = scopes_of({"customer:*": {"retention": {"*": 1}, "purpose": "support"}})
    assert all(free.allows(right, "customer:a", agent) for right in RIGHTS for agent in ("ada", ""))
    closed = scopes_of({"customer:*": {"read": ("*",)}})
    assert [closed.allows(right, "customer:a", "ada") for right in RIGHTS] == [True, False, False, False]
    assert all(closed.allows(right, "project:a", "ada") for right in RIGHTS)


def test_of_two_patterns_of_one_length_agents_are_those_that_both_name() -> None:
    scopes = scopes_of({"a*:x": {"read": ("support-*", "eve")}, "*a:x": {"read": ("support-1", "*-lead")}})
    allowed = [
        agent for agent in ("support-1", "support-2", "eve", "a-lead") if scopes.allows("read", "aa:x", agent)
    ]
    assert allowed == ["support-1"]


def test_numbers_of_the_gate_are_each_of_the_longest_pattern_and_strictest_of_equals() -> None:
    lesson = {"threshold": 0.4, "novelty": 0.9}
    scopes = scopes_of(
        {
            "*": {"gate": {"lesson": lesson}},
            "a*:x": {"gate": {"*": {"threshold": 0.5, "floor": 0.7}}},
            "*a:x": {"gate": {"lesson": {"threshold": 0.45, "floor": 0.8}}},
        }
    )
    found = gate_settings(scopes, "aa:x", "lesson")
    assert (found.threshold, found.novelty, found.floor) == (0.5, 0.9, 0.7)
    assert gate_settings(scopes, "global", "lesson").threshold == 0.4


def narrowed(
    narrow: Narrow[Any] | None, ours: Mapping[str, Any], theirs: Mapping[str, Any]
) -> tuple[Scopes, Any]:
    assert narrow is not None
    found, refused = narrow.apply(scopes_of(ours), scopes_of(theirs))
    return found, refused


SETTING = BY_KEY["memory.scopes"]


def test_a_project_takes_rights_away_and_raises_floors_and_sets_nothing_else() -> None:
    ours = {"customer:*": {"read": ("ada", "support-*"), "trust_floor": 0.5}}
    theirs = {
        "customer:a": {"read": ("support-1", "eve"), "trust_floor": 0.3, "includes": ("team:x",)},
        "*": {"trust_floor": 0.6, "personal_data": "drop"},
    }
    found, refused = narrowed(SETTING.narrow, ours, theirs)
    wider = {"customer:a includes", "customer:a read eve", "customer:a trust_floor 0.3", "* personal_data"}
    assert set(refused) == wider
    assert found.answer("read", "customer:a") == ("support-1",)
    assert found.answer("read", "customer:b") == ("ada", "support-*")
    assert [found.answer("trust_floor", scope) for scope in ("customer:a", "customer:b", "global")] == [
        0.5,
        0.6,
        0.6,
    ]
    assert found.answer("personal_data", "customer:a") == "keep"
    assert found.answer("includes", "customer:a") == ()


def test_what_a_project_asks_for_is_narrowed_where_nothing_is_set_too() -> None:
    found, refused = narrowed(SETTING.narrow, {}, {"*": {"includes": ("team:a",), "read": ("ada",)}})
    assert refused == ("* includes",)
    assert (found.answer("includes", "global"), found.answer("read", "global")) == ((), ("ada",))


def test_a_home_is_stricter_than_its_organization_and_never_looser() -> None:
    ours = {
        "customer:*": {
            "personal_data": "redact",
            "includes": ("team:a",),
            "retention": {"*": 60},
            "max_age": 9,
        }
    }
    theirs = {
        "customer:a": {"personal_data": "keep", "retention": {"event": 90, "*": 30}, "max_age": 0},
        "project:a": {"includes": ("team:b",), "personal_data": "drop", "purpose": "building"},
    }
    found, refused = narrowed(SETTING.within, ours, theirs)
    assert found.answer("personal_data", "customer:a") == "redact"
    assert found.answer("max_age", "customer:a") == 9
    assert [found.answer("retention", "customer:a", (name,))[0] for name in ("event", "fact")] == [60, 30]
    assert found.answer("includes", "project:a") == (), "one layer alone sets what none is stricter of"
    assert (found.answer("personal_data", "project:a"), found.answer("purpose", "project:a")) == (
        "drop",
        "building",
    )
    assert {"project:a includes", "customer:a personal_data keep"} <= set(refused)
    assert narrowed(SETTING.within, ours, ours)[0] == scopes_of(ours)


def test_a_former_setting_tells_where_it_went() -> None:
    with pytest.raises(ConfigError, match=r"memory\.access: is now part of memory\.scopes") as error:
        known_setting("memory.access")
    assert "read, write, promote and share" in error.value.hint


def test_config_show_tells_of_a_former_setting_by_its_new_name(sb: CommandLine) -> None:
    done = sb("config", "show", "memory.retention")
    assert (done.code, "memory.retention is now part of memory.scopes" in done.err) == (1, True)
