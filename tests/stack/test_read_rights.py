"""Reads of a stack by a core: masked and checked for grants, as an agent's reads by its Brain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.memory import Brain
from sb.memory.personal_data import PersonalDataRefused
from sb.protocols.types import (
    Belief,
    Epoch,
    MemorySuggestion,
    Note,
    RawEntry,
    Relationship,
    SelfNarrative,
    Summary,
    TrustAssessment,
)
from sb.protocols.types.blocks import Privacy
from sb.runtime import Runtime, open_runtime
from sb.stack import SQLiteStack
from tests.conftest import CommandLine
from tests.stack.test_saver import Recorder

PHONE = "+49 171 5550199"
TEXT = f"Grace is called at {PHONE} about the lighthouse"
REDACTED = "Grace is called at [redacted:phone] about the lighthouse"
SETTINGS = "memory: {personal_data_readers: [ada], scopes: {'project:drop': {personal_data: drop}}}\n"


@pytest.fixture
def runtime(home: Path) -> Iterator[Runtime]:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.yaml").write_text(SETTINGS, encoding="utf-8")
    with open_runtime() as opened:
        yield opened


def stack_of(runtime: Runtime, core: str) -> SQLiteStack:
    made = SQLiteStack("default", database=runtime.database, config=runtime.config, enforce_provenance=False)
    if core:
        made.on_attach(core)
    return made


def note_of(stack: SQLiteStack, uid: str) -> Note:
    found = stack.get_memory("note", uid)
    assert isinstance(found, Note)
    return found


def everything(stack: SQLiteStack) -> str:
    """All that the reading operations of a stack give."""
    return repr(
        [
            stack.search("Grace lighthouse"),
            stack.load(),
            stack.dump(),
            stack.dump(format="json", include_forgotten=True),
            stack.get_notes(),
            stack.get_beliefs(),
            stack.get_relationships(),
            stack.get_relationship("Grace"),
            stack.get_raw(),
        ]
    )


def test_a_core_without_a_right_to_personal_data_reads_masks_on_every_way(runtime: Runtime) -> None:
    writer = stack_of(runtime, "ada")
    note = writer.save_note(Note("", "default", TEXT, tags=[PHONE]))
    writer.save_belief(Belief("", "default", TEXT))
    writer.save_relationship(Relationship("", "default", "Grace", "person", notes=TEXT))
    reader = stack_of(runtime, "bob")
    assert "5550199" not in everything(reader)
    seen = note_of(reader, note)
    assert (seen.content, seen.tags) == (REDACTED, ["[redacted:phone]"])
    assert REDACTED in {hit.content for hit in reader.search("Grace lighthouse")}
    assert TEXT in everything(writer)
    assert TEXT in everything(stack_of(runtime, ""))


def test_of_several_cores_the_one_that_may_read_least_counts(runtime: Runtime) -> None:
    stack = stack_of(runtime, "ada")
    stack.save_note(Note("", "default", TEXT))
    stack.on_attach("bob")
    assert "5550199" not in everything(stack)
    stack.on_detach("bob")
    assert "5550199" in everything(stack)


def test_a_mask_that_is_written_back_stands_for_what_it_was_put_over(runtime: Runtime) -> None:
    note = stack_of(runtime, "ada").save_note(Note("", "default", TEXT, tags=[PHONE, "sea"]))
    reader = stack_of(runtime, "bob")
    seen = note_of(reader, note)
    seen.reason, seen.content = "asked", f"{seen.content} today"
    seen.tags = [*(seen.tags or ()), "lamp"]
    assert reader.update_record("note", seen)
    again = note_of(reader, note)
    again.reason = "asked twice"
    reader.save_note(again)
    stored = note_of(stack_of(runtime, "ada"), note)
    assert (stored.content, stored.tags, stored.reason) == (
        f"{TEXT} today",
        [PHONE, "sea", "lamp"],
        "asked twice",
    )


def test_every_kind_of_a_stack_says_whom_it_is_about_and_is_forgotten_with_them(
    runtime: Runtime, sb: CommandLine
) -> None:
    stack = stack_of(runtime, "ada")

    def save_all(people: Privacy) -> set[str]:
        """One of each kind that the protocol gives no subjects."""
        about = vars(people)
        raw = stack.save_raw(RawEntry("", "default", blob="Grace lights the lamp", **about))
        content = {"statement": "Grace lights the lamp"}
        suggestion = MemorySuggestion("", "default", "belief", content, 0.7, [raw], **about)
        return {
            raw,
            stack.save_suggestion(suggestion),
            stack.save_epoch(Epoch("", "default", 1, "Grace's years", **about)),
            stack.save_summary(
                Summary("", "default", "month", "2026-03", "2026-04", "Grace's lamp", **about)
            ),
            stack.save_self_narrative(SelfNarrative("", "default", "I help Grace", **about)),
        }

    silent = save_all(Privacy(subject_ids=["grace"], consent_grants=[]))
    agreed = save_all(Privacy(subject_ids=["grace"], consent_grants=["grace"]))
    scored = {"general": {"score": 0.9}}
    trusted = stack.save_trust_assessment(
        TrustAssessment("", "default", "Grace", scored, subject_ids=["grace"])
    )
    read = {raw_entry.id for raw_entry in stack.get_raw()} | {
        suggestion.id for suggestion in stack.get_suggestions()
    }
    assert (read & silent, len(read & agreed)) == (set(), 2)
    done = sb("memory", "forget-subject", "grace", "--reason", "asked for it", "--yes", "--json")
    assert (done.code, set(done.json["ids"])) == (0, silent | agreed | {trusted}), done.err
    assert "Grace" not in everything(stack_of(runtime, ""))


def test_grants_and_consent_decide_what_a_core_finds(runtime: Runtime) -> None:
    writer = runtime.brain("ada")
    granted = writer.remember("Grace keeps the lighthouse", access_grants=["bob"])
    missing = writer.remember("Grace left the lighthouse", subject_ids=["grace"], consent_grants=[])
    bob, eve = (stack_of(runtime, name) for name in ("bob", "eve"))
    assert {result.memory_id for result in bob.search("Grace lighthouse")} == {granted}
    assert eve.search("Grace lighthouse") == []
    assert "lighthouse" in everything(bob)
    assert "lighthouse" not in everything(eve)
    assert eve.get_memory("belief", granted) is None
    assert eve.load()["_meta"]["excluded_count"] == 0
    assert eve.get_stats()["beliefs" if "beliefs" in eve.get_stats() else "belief"] == 0
    known = bob.get_memory("belief", granted)
    assert not eve.update_record("belief", known)
    assert not eve.forget_memory("belief", granted, "noise")
    assert bob.get_memory("belief", missing) is None


def test_what_a_core_changes_is_screened_too(home: Path) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.yaml").write_text(
        "memory: {scopes: {'global': {personal_data: drop}}}\n", encoding="utf-8"
    )
    stack = SQLiteStack("self", components=[])
    stack.save_note(Note("n1", "self", "Grace keeps the lighthouse"))
    note = note_of(stack, "n1")
    note.content = TEXT
    with pytest.raises(PersonalDataRefused):
        stack.update_record("note", note)
    assert note_of(stack, "n1").content == "Grace keeps the lighthouse"
    stack.close()


@pytest.mark.parametrize("rule", ["drop", "redact", "escalate"])
def test_tags_and_what_components_say_are_screened_too(home: Path, rule: str) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.yaml").write_text(
        f"memory: {{scopes: {{'global': {{personal_data: {rule}}}}}}}\n", encoding="utf-8"
    )
    stack = SQLiteStack("self", components=[Recorder("tagger", {"tags": ["lamp", PHONE]})])
    stack.save_note(Note("n1", "self", "Grace keeps the lighthouse"))
    redacted = ["lamp", "[redacted:phone]"]
    assert note_of(stack, "n1").tags == (redacted if rule == "redact" else None)
    if rule == "redact":
        assert stack.update_memory_meta("note", "n1", tags=[PHONE])
        assert note_of(stack, "n1").tags == redacted[1:]
    else:
        with pytest.raises(ValueError, match="personal data"):
            stack.update_memory_meta("note", "n1", tags=[PHONE])
    assert PHONE not in str(stack.dump(format="json"))
    stack.close()


def test_the_gate_shows_nothing_that_its_agent_may_not_read(runtime: Runtime) -> None:
    ada, bob = (runtime.brain(name) for name in ("ada", "bob"))
    rule = f"The lighthouse of Grace is called on weekdays before noon at {PHONE}."
    ada.remember(rule)
    found = bob.explain(f"The lighthouse of Grace is called before noon on weekdays at {PHONE}.")
    assert (found.admitted, "5550199" in repr(found), "[redacted:phone]" in found.content) == (
        False,
        False,
        True,
    )
    secret = ada.remember("The key of the lighthouse hangs behind the blue door.", access_grants=["eve"])
    again = bob.remember("The key of the lighthouse hangs behind the blue door.")
    assert again != secret
    assert bob.verdict is not None
    assert bob.verdict.content == ""


def test_explaining_screens_before_it_compares(runtime: Runtime) -> None:
    brain = Brain("ada", database=runtime.database, config=runtime.config, scope="project:drop")
    found = brain.explain(TEXT)
    assert (found.admitted, found.held, found.reason) == (
        False,
        "refused",
        "personal data (phone), which project:drop does not keep",
    )
