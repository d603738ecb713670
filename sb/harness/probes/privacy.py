"""Probe of the "policy-governed" control about personal data."""

from __future__ import annotations

from collections.abc import Iterator

from sb.harness.harness import Harness
from sb.kernel.harness_audit import Check
from sb.memory.erasure import MEMORY_ERASED, erase
from sb.runtime import Runtime

NAME, NUMBER = "Quixotrope", "0171-5550199"
QUESTION = "How can Quixotrope be called?"
PARTS = (b"quixotrop", b"5550199")  # the stem in the index, and what else is told apart


def privacy(h: Harness) -> Iterator[Check]:
    """HA-09."""
    with h.open() as runtime:
        yield _erased(h, runtime)


def _erased(h: Harness, runtime: Runtime) -> Check:
    """Out of what is found and out of the bytes of all files: its former text too, and the question that found it."""
    brain = runtime.brain("ada", scope="project:a")
    record = brain.entity(NAME, "person", observations=[f"called from {NUMBER}"])
    brain.entity(NAME, "person", observations=["moved away"])
    neighbour = brain.remember("They want to be called about the garden.")
    asked = [hit.id for hit in brain.search(QUESTION)]
    before = _parts(h), _vectors(runtime)
    erase(brain.space, runtime.log, [record], actor="grace", reason="the person asked for it")
    after = _parts(h), _vectors(runtime)  # before it is asked for again, which is on record as well
    found = [hit.id for hit in brain.search(QUESTION)]
    tombstone = brain.space.records.find(record)
    left = tombstone is not None and (tombstone["state"], tombstone["text"]) == ("erased", "")
    by = [(event.payload or {}).get("by") for event in runtime.log.events(kind=MEMORY_ERASED)]
    held = (before, after) == ((len(PARTS), 2), (0, 1)) and left and by == ["grace"]
    held = held and record in asked and record not in found and neighbour in found
    seen = f"{before[0]} of its words in the files before and {after[0]} after, {before[1]} vectors and {after[1]}"
    found_again = "found" if record in found else "not found"
    seen += f"; {found_again}; {'a tombstone' if left else 'no tombstone'}, by {', '.join(map(str, by))}"
    return Check("erased", held, f"erase: {seen}")


def _parts(h: Harness) -> int:
    """How many of the words are in any file of the home."""
    files = [path.read_bytes().lower() for path in h.folder.rglob("*") if path.is_file()]
    return sum(any(part in content for content in files) for part in PARTS)


def _vectors(runtime: Runtime) -> int:
    return int(runtime.database.query("SELECT count(*) FROM vectors")[0][0])
