"""Charter files: what they say, and each mistake with its file and line."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.errors import ConfigError, ContractError, NotFoundError
from sb.kernel.agent_charter import GRACE_DAYS, AgentCharter
from sb.kernel.agent_charter.charter_files import CharterFiles
from sb.kernel.contracts import SafetyClass
from tests.kernel.boundaries.conftest import CLERK

TODAY = date(2026, 11, 23)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shared").mkdir()
    return tmp_path


def load(folder: Path, text: str = CLERK, **parts: str) -> AgentCharter:
    (folder / "clerk.yaml").write_text(text, encoding="utf-8")
    for name, part in parts.items():
        (folder / "shared" / f"{name}.yaml").write_text(part, encoding="utf-8")
    return CharterFiles(folder).load("clerk", TODAY)


def test_a_charter_says_what_its_file_says(folder: Path) -> None:
    charter = load(folder)
    assert (charter.agent, charter.owner, charter.ceiling) == ("clerk", "ana", SafetyClass.NETWORK)
    assert charter.permits("refund.issue")
    assert charter.permits("note.read")
    assert not charter.permits("refund.large")
    assert not charter.permits("wipe.everything")
    assert charter.review_by == date(2099, 1, 1)


def test_what_is_shared_is_united_with_the_agents_own(folder: Path) -> None:
    text = CLERK + "include: [support.yaml]\n"
    shared = "intents: {allow: [ticket.read], deny: [refund.odd]}\ninclude: [packs.yaml]\n"
    charter = load(folder, text, support=shared, packs="capabilities: {required_packs: [tone]}\n")
    assert charter.permits("ticket.read")
    assert not charter.permits("refund.odd")
    assert charter.required_packs == ("tone",)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("owner: ana\n", ""), "clerk.yaml:1: owner: is missing"),
        (("owner: ana", "owner: ''"), "clerk.yaml:3: owner: must not be empty"),
        (("purpose:", "porpoise:"), "clerk.yaml:2: porpoise: unknown key (did you mean"),
        (("agent: clerk", "agent: boss"), "clerk.yaml:1: agent: is boss, but the file is clerk's"),
        (
            ("deny: [refund.large]", "deny: [refund.*]"),
            "clerk.yaml:8: intents.deny: refund.* is allowed and denied",
        ),
        (("2099-01-01", "2020-01-01"), "clerk.yaml:5: review_by: 2020-01-01 is 2518 days past"),
        (("2099-01-01", "2099-02-31"), "clerk.yaml:5: review_by: 2099-02-31 is no day of the calendar"),
        (("namespaces: [shop]", "namespaces: []"), "clerk.yaml:11: namespaces: an empty list would mean any"),
        (("  allow: [refund.*, note.read]\n", ""), "intents.allow: is missing: the agent could do nothing"),
        (("ceiling: network", "ceiling: high"), "clerk.yaml:10: capabilities.ceiling: must be"),
        (("namespaces: [shop]", "namespaces: {a: b}"), "clerk.yaml:11: namespaces: must be a list"),
    ],
)
def test_each_mistake_is_one_line_with_file_and_line(
    folder: Path, change: tuple[str, str], problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(folder, CLERK.replace(*change))
    assert problem in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        (
            {"a": "include: [b.yaml]\n", "b": "\ninclude: [a.yaml]\n"},
            "b.yaml:2: include: goes in a circle: a.yaml",
        ),
        ({"a": "include: [a.yaml]\n"}, "a.yaml:1: include: goes in a circle: a.yaml includes a.yaml"),
        ({"a": "owner: mallory\n"}, "a.yaml:1: owner: belongs into the agent's own file"),
        ({}, "a.yaml: does not exist"),
        ({"a": "intents: {default: x.y}\n"}, "a.yaml:1: intents.default: belongs"),
    ],
)
def test_a_wrong_shared_part_is_named(folder: Path, parts: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(folder, CLERK + "include: [a.yaml]\n", **parts)
    assert problem in caught.value.message


def test_a_part_outside_of_the_folder_cannot_be_included(folder: Path) -> None:
    with pytest.raises(ConfigError, match="the name of a file"):
        load(folder, CLERK + "include: [../clerk.yaml]\n")


def test_an_edit_of_a_shared_part_counts_at_once(folder: Path) -> None:
    files = CharterFiles(folder)
    (folder / "clerk.yaml").write_text(CLERK + "include: [a.yaml]\n", encoding="utf-8")
    part = folder / "shared" / "a.yaml"
    part.write_text("intents: {deny: [note.rea?]}\n", encoding="utf-8")
    before = files.load("clerk", TODAY)
    part.write_text("intents: {deny: [note.rea]}\n", encoding="utf-8")
    after = files.load("clerk", TODAY)
    assert (before.permits("note.read"), after.permits("note.read")) == (False, True)
    assert before.fingerprint != after.fingerprint


def test_a_review_that_is_a_little_late_still_counts(folder: Path) -> None:
    late = (TODAY - timedelta(days=GRACE_DAYS)).isoformat()
    assert load(folder, CLERK.replace("2099-01-01", late)).permits("refund.issue")
    later = (TODAY - timedelta(days=GRACE_DAYS + 1)).isoformat()
    with pytest.raises(ConfigError, match="days past"):
        load(folder, CLERK.replace("2099-01-01", later))


@pytest.mark.parametrize("agent", ["../clerk", "", "a/b", ".hidden", "shared/a"])
def test_a_name_never_leads_out_of_the_folder(folder: Path, agent: str) -> None:
    with pytest.raises(NotFoundError):
        CharterFiles(folder).load(agent, TODAY)


@pytest.mark.parametrize("field", ["agent", "purpose", "owner"])
def test_a_charter_without_owner_or_purpose_cannot_be_made(field: str) -> None:
    blank: dict[str, Any] = {field: " "}
    with pytest.raises(ContractError, match=f"no {field}"):
        replace(AgentCharter("agent", "purpose", "owner"), **blank)


WORDS = st.sampled_from(["a", "b", "a.b", "a.c", "b.c", "a.*", "*", "b.*", "?.b"])


@given(
    st.lists(WORDS, max_size=4), st.lists(WORDS, max_size=4), st.sampled_from(["a", "b", "a.b", "b.c", "d"])
)
def test_deny_wins_and_more_denials_never_permit_more(allow: list[str], deny: list[str], intent: str) -> None:
    charter = AgentCharter("clerk", "p", "o", tuple(allow), tuple(deny))
    assert charter.permits(intent) == (charter.intent_refusal(intent) == "")
    only_allowed = AgentCharter("clerk", "p", "o", tuple(allow))
    only_denied = AgentCharter("clerk", "p", "o", (intent,), tuple(deny))
    assert charter.permits(intent) == (only_allowed.permits(intent) and only_denied.permits(intent))
    assert not AgentCharter("clerk", "p", "o", (intent,), (*deny, intent)).permits(intent)
    assert not AgentCharter("clerk", "p", "o", (), tuple(deny)).permits(intent)
