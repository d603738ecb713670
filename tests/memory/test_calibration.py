"""Calibration by outcomes: fitted on half of the memories, judged on the other, and written only when asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.reading import Report
from sb.config import load_config
from sb.config.document import parse_document
from sb.config.editing import with_values
from sb.errors import UsageError
from sb.memory.calibration import Outcome, is_fitted_on, proposals, ranking
from tests.config.test_organization import managed
from tests.conftest import CommandLine
from tests.memory.desk import Desk

NAMES = [f"mem_{number}" for number in range(200)]


def outcomes(good: int, of: int = 10, *, number: int = 100, trust: float = 0.7) -> list[Outcome]:
    """One outcome of each of so many memories, of which `good` in `of` are confirmed."""
    return [Outcome(name, "lesson", 0.8, trust, at % of < good) for at, name in enumerate(NAMES[:number])]


def test_a_category_that_proves_wrong_is_proposed_less_confidence_and_judged_elsewhere() -> None:
    found = {item.setting: item for item in proposals(outcomes(3), lambda category: (0.8, 0.6, 0.6))}
    assert found["confidence"].before == 0.8
    assert 0.1 <= found["confidence"].after <= 0.5
    assert found["prior"].after < 0.6
    for proposal in found.values():
        assert proposal.brier_after < proposal.brier_before
        assert proposal.fitted + proposal.judged == 100


def test_what_is_right_already_and_what_has_few_outcomes_proposes_nothing() -> None:
    assert [
        proposal
        for proposal in proposals(outcomes(8), lambda _: (0.8, 0.8, 0.8))
        if abs(proposal.after - proposal.before) > 0.15
    ] == []
    assert proposals(outcomes(3, number=12), lambda _: (0.8, 0.6, 0.6)) == []
    assert proposals([], lambda _: (0.8, 0.6, 0.6)) == []


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.booleans()), min_size=30, max_size=120), st.floats(0, 1))
def test_nothing_is_proposed_that_does_worse_where_it_was_not_fitted(
    some: list[tuple[str, bool]], now: float
) -> None:
    given_outcomes = [Outcome(name, "lesson", 0.8, 0.7, good) for name, good in some]
    for proposal in proposals(given_outcomes, lambda _: (now, now, 0.6)):
        assert proposal.brier_after < proposal.brier_before
        assert 0 <= proposal.after <= 1
        assert proposal.judged == sum(not is_fitted_on(name) for name, _ in some)


def test_trust_that_tells_right_from_wrong_is_proposed_more_weight() -> None:
    mixed = [
        Outcome(name, "lesson", 0.8 if at % 3 else 0.4, 0.9 if at % 2 else 0.4, bool(at % 2))
        for at, name in enumerate(NAMES)
    ]
    found = ranking(mixed, {"confidence": 10.0, "trust": 0.0})
    assert found is not None
    assert found.weights["trust"] > found.weights["confidence"]
    assert found.after > found.before
    assert ranking(mixed[:20], {}) is None


KEYS = st.sampled_from(["gate", "salience", "embedder"])
VALUES = st.sampled_from([{"*": {"lesson": {"confidence": 0.4}}}, {"trust": 2.0}, "none", "a: b #c"])


@given(
    st.lists(st.tuples(KEYS, st.sampled_from(["1", "'x'", "\n    a: 1  # one\n    b: 2"])), max_size=3, unique_by=lambda item: item[0]),
    st.sampled_from(["", "# first\ndurability: power\n", "files:\n  roots: []\n"]),
    st.sampled_from(["", "# last\nsafety_mode: safe\n"]),
    st.dictionaries(KEYS, VALUES, min_size=1),
)  # fmt: skip
def test_editing_changes_what_it_names_and_no_other_line(
    inside: list[tuple[str, str]], before: str, behind: str, values: dict[str, Any]
) -> None:
    body = "".join(f"  # about {key}\n  {key}: {written}\n" for key, written in inside)
    text = f"{before}{'memory:' + chr(10) + body if inside else ''}{behind}"
    after = with_values(text, ["memory"], values)
    read, former = _read(after), _read(text)
    assert {key: value for key, value in read.items() if key != "memory"} == {
        key: value for key, value in former.items() if key != "memory"
    }
    assert set(read["memory"]) == {key for key, _ in inside} | set(values)
    assert with_values(after, ["memory"], values) == after
    for line in (*before.splitlines(), *behind.splitlines(), *(f"  # about {key}" for key, _ in inside)):
        assert line in after.splitlines()


def test_a_group_on_one_line_is_left_to_people() -> None:
    with pytest.raises(UsageError, match="on one line"):
        with_values("memory: {embedder: none}\n", ["memory"], {"gate": {}})


def _read(text: str) -> dict[str, Any]:
    report = Report("x")
    document = parse_document(text.encode(), report)
    report.require_none()
    return {
        key: ({*value} if isinstance(value, dict) else str(value)) if key == "memory" else repr(value)
        for key, value in document.items()
    }


def judged_lessons(desk: Desk) -> None:
    """Sixty lessons, of which most proved wrong."""
    brain = desk.brain("ada")
    for at in range(60):
        uid = brain.remember(f"bed {at} grows", "lesson", force=True)
        (brain.confirm if at % 10 < 2 else brain.refute)(uid)
    desk.close()


@pytest.mark.parametrize(
    ("theirs", "own"),
    [
        ("'*': {trust_floor: 0.1}", ""),
        ("'*': {trust_floor: 0.1}", "'*':\n      gate: {user: {prior: 0.3}}\n    customer:*: {gate: {user: {prior: 0.2}}}"),
        ("'customer:*': {read: [ada]}", "'*':\n      trust_floor: 0.2\n      gate: {user: {prior: 0.3}}"),
    ],
)  # fmt: skip
def test_under_an_organization_the_files_own_gate_is_calibrated(
    sb: CommandLine, home: Path, tmp_path: Path, theirs: str, own: str
) -> None:
    with managed(tmp_path / "etc") as system:
        judged_lessons(Desk(home))
        scopes = own and f"  scopes:\n    {own}\n"
        (home / "config.yaml").write_text(f"memory:\n  embedder: none\n{scopes}", encoding="utf-8")
        system.install(f"memory:\n  scopes: {{{theirs}}}")
        done = sb("memory", "calibrate", "--apply", "--yes", "--json")
        assert (done.code, done.json["applied"]) == (0, True)
        rule = load_config(env={"SB_HOME": str(home)}, cwd=home, flags={}).memory.scopes.layers[-1]["*"]
        assert rule["gate"]["lesson"]["confidence"] < 0.5
        assert rule["gate"].get("user", {"prior": 0.3}) == {"prior": 0.3}
        assert ("user" in rule["gate"]) == ("user" in own)
        assert rule.get("trust_floor", 0.2) == 0.2


def test_an_organizations_gate_is_not_calibrated(sb: CommandLine, home: Path, tmp_path: Path) -> None:
    with managed(tmp_path / "etc") as system:
        judged_lessons(Desk(home, scopes="{'customer:*': {trust_floor: 0.2}}"))
        system.install("memory:\n  scopes: {'*': {gate: {lesson: {prior: 0.5}}}}")
        before = (home / "config.yaml").read_text(encoding="utf-8")
        done = sb("memory", "calibrate", "--apply", "--yes")
        assert (done.code, "memory.scopes is set in" in done.err) == (2, True)
        assert (home / "config.yaml").read_text(encoding="utf-8") == before


def test_calibration_is_shown_applied_and_taken_back(sb: CommandLine, home: Path) -> None:
    judged_lessons(Desk(home))
    path = home / "config.yaml"
    before = path.read_text(encoding="utf-8") if path.exists() else None
    shown = sb("memory", "calibrate", "--json").json
    assert {proposal["setting"] for proposal in shown["proposals"]} >= {"confidence"}
    assert "+" in shown["diff"]
    assert not shown["applied"]
    assert (path.read_text(encoding="utf-8") if path.exists() else None) == before, (
        "nothing is written unless told"
    )
    assert sb("memory", "calibrate", "--apply").code == 2, "not without a terminal or --yes"
    assert sb("memory", "calibrate", "--apply", "--yes").code == 0
    assert sb("memory", "calibrate", "--json").json["proposals"] == [], "the same outcomes move nothing twice"
    new = sb(
        "memory", "remember", "the greenhouse is glazed", "--category", "lesson", "--agent", "ada", "--json"
    ).json["id"]
    known = sb("memory", "show", new, "--json").json
    assert known["memory"]["confidence"] < 0.6
    assert sb("memory", "calibrate", "--revert", "--yes").code == 0
    assert (path.read_text(encoding="utf-8") if path.exists() else None) == before
    assert sb("memory", "calibrate", "--revert", "--yes").code == 1
    sb("memory", "calibrate", "--apply", "--yes")
    path.write_text(path.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    assert "changed since" in sb("memory", "calibrate", "--revert", "--yes").err
