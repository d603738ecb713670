"""Check a stack's budget, tiers, sources and versions, for several controls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sb.errors import VersionConflictError
from sb.harness.probes.failures import refusal
from sb.kernel.harness_audit import Check
from sb.protocols.types import Note, Value
from sb.runtime import Runtime

SHELF = "shelf"  # a stack of its own, beside the one in which Brains keep what they remember
BUDGETS = (100, 200, 2000)
MANY = 12
PUMPS = {"strong": 0.0, "fading": 0.4, "weak": 0.7, "dormant": 0.9}  # how much strength each of them is taken


def loaded(runtime: Runtime) -> Check:
    """Of HA-03: what a stack loads. Tokens are counted here, since the stack's own count may be wrong."""
    stack = runtime.stack(SHELF)
    first = stack.save_value(Value("", "", "calm", "Never deploy on Fridays."))
    counted = "articles of stock were counted on this shelf, and all of them were there."
    texts = [f"{number} {counted}" for number in range(MANY)] + ["x" * BUDGETS[-1]]
    stack.save_notes_batch([Note("", "", text) for text in texts])
    ok, seen = True, []
    for budget in BUDGETS:
        given = stack.load(token_budget=budget)
        shown = [value["statement"] for value in given["values"]] + [
            note["content"] for note in given["notes"]
        ]
        tokens = sum(int(len(text) // 4 * 1.3) for text in shown)
        left = given["_meta"]["excluded_count"]
        ok &= 0 < tokens <= budget and left == len(texts) + 1 - len(shown)
        ok &= [value["id"] for value in given["values"]] == [first]
        seen.append(f"{tokens} of {budget} tokens and {left} left out")
    return Check("loaded", ok and left == 0, f"SQLiteStack.load: {'; '.join(seen)}")


def tiers(runtime: Runtime) -> Check:
    """Of HA-04: what comes to whom of memories that are ever less present, in a stack and to a Brain that shares it."""
    stack = runtime.stack(SHELF)
    pumps = {name: stack.save_note(Note("", "", f"The {name} pump was inspected.")) for name in PUMPS}
    for name, amount in PUMPS.items():
        stack.weaken_memory("note", pumps[name], amount)
    pumps["forgotten"] = stack.save_note(Note("", "", "The forgotten pump was inspected."))
    stack.forget_memory("note", pumps["forgotten"], "it was scrapped")
    seen = _coming(runtime, pumps)
    stack.recover_memory("note", pumps["forgotten"])
    after = _coming(runtime, pumps)
    recovered = [way for way in seen if set(after[way]) - set(seen[way]) == {"forgotten"}]
    evidence = "; ".join(f"{way} {', '.join(found)}" for way, found in seen.items())
    ok = seen == _PRESENT and recovered == _WEAK_WAYS
    return Check(
        "tiers", ok, f"SQLiteStack: {evidence}; once recovered also by {', '.join(recovered) or 'none'}"
    )


_WEAK_WAYS = ["include_weak", "search", "Brain.search"]
_PRESENT = {way: ["strong", "fading"] for way in ("load", "get_notes")} | {
    way: ["strong", "fading", "weak"] for way in _WEAK_WAYS
}


def _coming(runtime: Runtime, pumps: dict[str, str]) -> dict[str, list[str]]:
    """Way to the names of what comes by it."""
    stack, brain = runtime.stack(SHELF), runtime.brain("ada", stack=SHELF)
    ways = {
        "load": [note["id"] for note in stack.load()["notes"]],
        "get_notes": [note.id for note in stack.get_notes()],
        "include_weak": [note.id for note in stack.get_notes(include_weak=True)],
        "search": [result.memory_id for result in stack.search("Which pump was inspected?")],
        "Brain.search": [hit.id for hit in brain.search("Which pump was inspected?")],
    }
    return {way: [name for name, uid in pumps.items() if uid in found] for way, found in ways.items()}


def sourced(runtime: Runtime) -> Check:
    """Of HA-20: what a core says with what it was made from, and without."""
    entity = runtime.entity("ada", stack_id=SHELF)
    stack = entity.active_stack
    assert stack is not None  # of this home: the runtime attaches it
    episode = f"episode:{entity.episode('deploy', 'It broke.')}"
    belief = f"belief:{entity.belief('Deploys break.', derived_from=[episode])}"
    attempts: dict[str, Callable[[], str]] = {
        "from a belief": lambda: entity.value("calm", "No deploys on Fridays.", derived_from=[belief]),
        "from nothing": lambda: entity.belief("Deploys are free."),
        "from what is not here": lambda: entity.belief("Deploys are fun.", derived_from=["episode:none"]),
        "from its like": lambda: entity.belief("Deploys are calm.", derived_from=[belief]),
        "from an annotation": lambda: entity.belief("Deploys are odd.", derived_from=["context:cli"]),
        "told by another core": lambda: entity.episode("deploy", "It went well.", source="core:eve"),
        "told by no plugin": lambda: entity.episode("deploy", "It was easy.", source="plugin:none"),
    }
    refused = {how: refusal(attempt) for how, attempt in attempts.items()}
    memories = (
        [item.statement for item in stack.get_beliefs()],
        [item.outcome for item in stack.get_episodes()],
    )
    wanted = dict.fromkeys(attempts, "ProvenanceError") | {"from a belief": "nothing raised"}
    seen = "; ".join(f"{how} {error}" for how, error in refused.items())
    ok = refused == wanted and memories == (["Deploys break."], ["It broke."])
    return Check("skipped", ok, f"Entity: {seen}; {sum(map(len, memories))} kept")


def upserted(runtime: Runtime) -> Check:
    """Of HA-27: a drive and a relationship, said twice; then by two that have read the same version."""
    entity = runtime.entity("ada")
    stack = entity.active_stack
    assert stack is not None
    source = [f"episode:{entity.episode('deploy', 'It broke.')}"]
    drives = [entity.drive("growth", intensity=much, derived_from=source) for much in (0.2, 0.9)]
    bobs = [entity.relationship("Bob", trust_level=much, derived_from=source) for much in (0.5, 0.75)]
    (drive,), (bob,) = stack.get_drives(), stack.get_relationships()
    same = {*drives, *bobs} == {drive.id, bob.id}
    once = same and (drive.intensity, bob.interaction_count, bob.sentiment) == (0.9, 2, 0.5)
    mine, others = stack.get_drive("growth"), stack.get_drive("growth")
    assert mine is not None
    assert others is not None
    mine.intensity, others.intensity = 0.3, 0.7
    stack.update_drive_atomic(mine)
    conflict = _conflict(lambda: stack.update_drive_atomic(others))
    (now,) = stack.get_drives()
    ok = once and conflict == (2, 3) and (now.intensity, now.version) == (0.3, 3)
    seen = f"{bob.interaction_count} interactions in one row, {'the same ids' if same else 'other ids'}"
    outcome = "no conflict" if conflict is None else "version {} expected, {} there".format(*conflict)
    return Check("upsert", ok, f"Entity.relationship: {seen}; SQLiteStack.update_drive_atomic: {outcome}")


def _conflict(act: Callable[[], object]) -> tuple[int, int] | None:
    """The version that was expected, and the one that is there; None where nobody objects."""
    try:
        act()
    except VersionConflictError as error:
        return error.expected_version, error.actual_version
    return None


def suggested(runtime: Runtime) -> Check:
    """Of HA-37: what was captured, as a suggestion that is dismissed and as one that is accepted."""
    entity = runtime.entity("ada")
    stack: Any = entity.active_stack
    unwanted = entity.raw("I think the moon always shines because it is made of cheese.")
    wanted = entity.raw("I think deploys always break on Fridays because nobody is there.")
    stack.maintenance()
    pending = {
        suggestion.source_raw_ids[0]: suggestion.id for suggestion in stack.get_suggestions(status="pending")
    }
    before = len(stack.get_beliefs())
    stack.dismiss_suggestion(pending[unwanted], "it is not")
    made = stack.accept_suggestion(pending[wanted])
    again = [stack.accept_suggestion(item) for item in pending.values()]
    (belief,) = stack.get_beliefs()
    (origin,) = runtime.brain("ada").why(belief.id).origins
    raw, settled = stack.get_memory("raw", wanted), stack.get_suggestion(pending[wanted])
    says = (belief.id, belief.derived_from, belief.source_entity, settled.promoted_to, raw.processed_into)
    named = f"belief:{made}"
    ok = says == (made, [f"raw:{wanted}"], "sb:suggestion-promotion", named, [named])
    ok &= origin.reference == wanted and again == [None, None] and before == 0
    seen = f"{len(pending)} suggested, {before} beliefs before one was accepted and 1 since"
    source = (
        f"{belief.source_entity} from {', '.join(item.partition(':')[0] for item in belief.derived_from)}"
    )
    return Check("suggestions", ok, f"SQLiteStack.accept_suggestion: {seen}; {source}")
