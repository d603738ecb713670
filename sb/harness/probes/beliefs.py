"""Probes of beliefs: claims that contradict each other, and confidence."""

from __future__ import annotations

from collections.abc import Iterator

from sb.harness.harness import Harness
from sb.kernel.contradiction_ledger import ContradictionLedger, LedgerClaim
from sb.kernel.harness_audit import Check
from sb.memory import Brain
from sb.memory.operator_view import Overseer
from sb.runtime import Runtime

_OLD, _NEW = "The staging port is 8080", "The staging port changed from 8080 to 9090"
_AT = 1_000_000.0


def contradictions(h: Harness) -> Iterator[Check]:
    """HA-38."""
    with h.open() as runtime:
        ada = runtime.brain("ada", scope="project:claims")
        loser = ada.remember(_OLD)
        winner = ada.remember(_NEW)
        ledger = ContradictionLedger(runtime.database, clock=h.clock)
        ledger.record(LedgerClaim("acme", "head office", "Bonn", "crm", at=_AT))
        moved = ledger.record(LedgerClaim("acme", "head office", "Rome", "crm", at=_AT + 1))
        events = [(event.loser, event.winner, bool(event.reason)) for event in ada.collapses()]
        recorded = moved is not None and (moved.status, moved.winner, moved.earlier.value) == (
            "superseded",
            "later",
            "Bonn",
        )
        seen = f"{len(events)} collapse with a reason, the ledger keeps {moved.earlier.value if moved else 'nothing'}"
        yield Check("newer", recorded and events == [(loser, winner, True)], f"Brain.remember: {seen}")

        hits = _texts(ada)
        yield Check("hidden", _NEW in hits and _OLD not in hits, f"Brain.search: {len(hits)} found")

        (settled,) = ada.conflicts("superseded")
        ada.revert_conflict(settled.id, "the change was called off")
        back = _texts(ada)
        yield Check("revert", {_OLD, _NEW} <= {*back}, f"Brain.revert_conflict: {len(back)} found")
        yield _tie(runtime, ledger)
        yield _bearing(runtime)


def _texts(brain: Brain) -> list[str]:
    return [hit.content for hit in brain.search("staging port", 20)]


def _tie(runtime: Runtime, ledger: ContradictionLedger) -> Check:
    """Two sources that are trusted alike, at one moment."""
    for source, value in (("crm", "Ann"), ("wiki", "Ben")):
        ledger.record(LedgerClaim("acme", "chair", value, source, at=_AT))
    values = sorted(claim.value for claim in ledger.current("acme", "chair"))
    scope = "project:tie"
    memories = {
        name: runtime.brain(name, scope=scope).remember(f"The deadline is now in {day}")
        for name, day in (("ada", "May"), ("eve", "June"))
    }
    reader = runtime.brain("carol", scope=scope)
    marked = {reader.get(uid).conflict for uid in memories.values()}
    statuses = [conflict.status for conflict in reader.conflicts()]
    ok = values == ["Ann", "Ben"] and statuses == ["open"] and len(marked) == 1 and "" not in marked
    return Check(
        "tie", ok, f"ContradictionLedger.current, Brain.conflicts: {len(values)} stand, {', '.join(statuses)}"
    )


def _bearing(runtime: Runtime) -> Check:
    """An update of what another memory was derived from."""
    ada = runtime.brain("ada", scope="project:bearing")
    source = ada.remember("The retry limit is 3")
    rule = ada.remember("Alert on the fourth attempt.", derived_from=[source])
    newer = ada.remember("The retry limit is now 5")
    stands = {source, rule} <= {hit.id for hit in ada.search("retry limit alert attempt", 20)}
    waiting = [conflict.id for conflict in ada.conflicts()]
    person = Overseer(database=runtime.database, config=runtime.config)
    done = [person.resolve_conflict(uid, newer, "asked the team").status for uid in waiting]
    gone = not {source, rule} & {hit.id for hit in ada.search("retry limit alert attempt", 20)}
    seen = f"{'stands' if stands else 'is gone'}, {len(waiting)} open; a person {', '.join(done)}"
    return Check("bearing", stands and done == ["resolved"] and gone, f"Brain.resolve_conflict: it {seen}")


def confidence(runtime: Runtime) -> Check:
    """Of HA-37: a memory that proves right and then wrong, twice."""
    brain = runtime.brain("ada", scope="project:confidence")
    fact = brain.remember("The vendor answers within a day.")
    seen = [brain.get(fact).confidence or 0.0]
    for report in (brain.confirm, brain.refute, brain.refute):
        report(fact, "it was looked at")
        seen.append(brain.get(fact).confidence or 0.0)
    ok = seen[1] > seen[0] and seen[1] > seen[2] > seen[3]
    return Check("confidence", ok, f"Brain.confirm, refute: {', '.join(f'{value:.2f}' for value in seen)}")
