"""Suggestions from captured texts: each text is read once, and nothing is kept by itself."""

from __future__ import annotations

import json
from typing import Any

from sb.protocols.types import RawEntry
from sb.stack import SQLiteStack
from sb.stack.components.suggestions import proposed
from tests.rows import rows

DEPLOYED = "Deployed the billing service today. It failed at first, then it worked."
BELIEVED = "I think that caches should always be warm because that is faster."


def test_raw_entries_become_suggestions(full: SQLiteStack) -> None:
    full.save_raw(RawEntry("r1", "", DEPLOYED))
    full.save_raw(RawEntry("r2", "", BELIEVED))
    full.save_raw(RawEntry("r3", "", "Ada said that the key is in the safe, remember that"))
    full.save_raw(RawEntry("r4", "", "lorem ipsum dolor sit amet"))
    full.save_raw(RawEntry("r5", "", "never"))
    done = full.maintenance()["suggestions"]
    assert done == {
        "raw_entries_processed": 5,
        "suggestions_extracted": 3,
        "deduplicated_suggestions": 0,
        "inference_available": False,
    }
    found = {tuple(suggestion.source_raw_ids): suggestion for suggestion in full.get_suggestions()}
    episode, belief, note = found["r1",], found["r2",], found["r3",]
    assert (episode.memory_type, episode.status) == ("episode", "pending")
    assert episode.content == {
        "objective": "Deployed the billing service today.",
        "outcome": "It failed at first, then it worked.",
        "outcome_type": "partial",
    }
    assert (belief.memory_type, belief.content) == ("belief", {"statement": BELIEVED})
    assert (note.memory_type, note.content["note_type"]) == ("note", "quote")
    assert all(0.4 <= suggestion.confidence <= 1 for suggestion in found.values())
    assert all(raw_entry.processed for raw_entry in full.get_raw())
    assert [*full.get_episodes(), *full.get_beliefs(), *full.get_notes()] == []


def test_a_suggestion_is_about_the_people_of_what_it_is_made_from(full: SQLiteStack) -> None:
    full.save_raw(RawEntry("r1", "", DEPLOYED, subject_ids=["grace"], consent_grants=["grace"]))
    full.maintenance()
    (suggestion,) = full.get_suggestions()
    assert (suggestion.subject_ids, suggestion.consent_grants) == (["grace"], ["grace"])


def test_without_the_component_nothing_is_suggested(full: SQLiteStack) -> None:
    full.save_raw(RawEntry("r1", "", DEPLOYED))
    full.remove_component("suggestions")
    full.maintenance()
    assert full.get_suggestions() == []


def test_nothing_is_suggested_twice_even_if_a_pass_was_interrupted(full: SQLiteStack) -> None:
    full.save_raw(RawEntry("r1", "", DEPLOYED))
    full.maintenance()
    (first,) = full.get_suggestions()
    assert full.dismiss_suggestion(first.id, "known") is True
    full.save_raw(RawEntry("r1", "", DEPLOYED))  # as it was before the pass marked it
    done = full.maintenance()["suggestions"]
    assert (done["suggestions_extracted"], done["deduplicated_suggestions"]) == (0, 1)
    assert [suggestion.status for suggestion in full.get_suggestions()] == ["dismissed"]


def test_what_was_suggested_can_be_accepted(full: SQLiteStack) -> None:
    full.save_raw(RawEntry("r1", "", DEPLOYED))
    full.on_attach("me")
    full.maintenance()
    (suggestion,) = full.get_suggestions(status="pending", source_raw_id="r1")
    accepted = full.accept_suggestion(suggestion.id)
    assert accepted is not None
    (episode,) = full.get_episodes()
    assert (episode.id, episode.outcome_type, episode.derived_from) == (accepted, "partial", ["raw:r1"])


def test_a_model_is_asked_about_what_words_say_nothing_of(full: SQLiteStack, scripted: Any) -> None:
    full.save_raw(RawEntry("r1", "", DEPLOYED))
    full.save_raw(RawEntry("r2", "", "the blue door sticks in winter"))
    reply = [
        {"number": 0, "memory_type": "belief", "content": {"statement": "Damp doors stick.", "x": 1}, "confidence": 3},
        {"number": 0, "memory_type": "value", "content": {"name": "no"}, "confidence": 1},
        {"number": 0, "memory_type": "note", "content": {"content": " "}, "confidence": 1},
        {"number": 4, "memory_type": "note", "content": {"content": "there"}, "confidence": 1},
    ]  # fmt: skip
    full.on_model_changed(scripted(json.dumps(reply)))
    assert full.maintenance()["suggestions"]["suggestions_extracted"] == 2
    (found,) = (suggestion for suggestion in full.get_suggestions() if suggestion.source_raw_ids == ["r2"])
    assert (found.memory_type, found.content, found.confidence) == (
        "belief",
        {"statement": "Damp doors stick."},
        1,
    )


@rows("text", ["", "always", "a longer text about nothing", "x" * 30_000])
def test_what_says_nothing_is_not_suggested(text: str) -> None:
    assert proposed(text) == []


def test_a_note_is_suggested_only_of_what_is_nothing_else() -> None:
    both = "I decided to note that we should always test because it is safer than not"
    assert [proposal.memory_type for proposal in proposed(both)] == ["belief"]
    assert [proposal.content["note_type"] for proposal in proposed("They agreed: remember the milk")] == [
        "decision"
    ]
