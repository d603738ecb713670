"""Probes of the memory controls."""

from __future__ import annotations

from collections.abc import Iterator

from sb.config.scopes import scopes_of
from sb.errors import DeniedError
from sb.harness.harness import Harness
from sb.harness.probes.failures import refusal
from sb.harness.probes.quarantine import quarantined
from sb.harness.probes.reach import EVERY_WAY, plant, ways, ways_text
from sb.harness.probes.stacks import loaded, sourced, tiers
from sb.kernel.authority.signing import Label
from sb.kernel.harness_audit import Check
from sb.kernel.memory import MemoryBundle
from sb.kernel.memory_read_policy import denied_reads
from sb.memory import Brain
from sb.memory.personal_data import detections
from sb.memory.trust.deciding import TrustDesk
from sb.runtime import Runtime
from sb.runtime.parts import open_authority

TTL_S = 60.0
LOW, FLOOR = 0.1, 0.5
SMALL = 200
BUDGETS = (100, SMALL, 2000)
MANY = 12


def budget(h: Harness) -> Iterator[Check]:
    """HA-03."""
    with h.open() as runtime:
        brain = runtime.brain("ada", scope="project:a")
        first = brain.remember("Never deploy on Fridays.")
        brain.protect(first)
        roomy = brain.orient(token_budget=BUDGETS[-1])
        for number in range(MANY):
            brain.remember(f"{number} articles of stock were counted.")
            brain.decide(f"count shelf {number}", "customers asked for it")
        brain.remember("x" * 10 * BUDGETS[-1])
        packages = {
            budget: runtime.brain("ada", scope="project:a").orient(token_budget=budget) for budget in BUDGETS
        }

        ids = [memory.id for memory in packages[SMALL].memories]
        seen = f"{len(ids)} of {MANY + 2} memories in {SMALL} tokens, {'with' if first in ids else 'without'} the protected one"
        yield Check("priority", first in ids, f"Brain.orient: {seen}")

        # A quarter of the characters, and 30 % for safety; counted here, since the package's own count may be wrong.
        taken = {budget: int(len(package.as_text()) // 4 * 1.3) for budget, package in packages.items()}
        within = all(0 < tokens <= budget for budget, tokens in taken.items())
        yield Check("total", within, f"ContextPackage.as_text: {_pairs(taken)} tokens")

        notes = {budget: package.notes for budget, package in packages.items()}
        has_notes = (
            all(any("than fits" in note for note in some) for some in notes.values()) and not roomy.notes
        )
        seen = f"{notes[SMALL][-1:]} where something was, {list(roomy.notes)} where nothing was"
        yield Check("dropped", has_notes, f"ContextPackage.notes: {seen}")

        before = _broadcasts(runtime)
        refused = refusal(lambda: brain.orient(token_budget=0))
        ok = refused == "ValueError" and _broadcasts(runtime) == before
        yield Check("zero", ok, f"Brain.orient: {refused}; {_broadcasts(runtime) - before} shown")
        yield loaded(runtime)


def _pairs(taken: dict[int, int]) -> str:
    return ", ".join(f"{tokens} of {budget}" for budget, tokens in taken.items())


def _broadcasts(runtime: Runtime) -> int:
    return int(runtime.database.query("SELECT count(*) FROM broadcasts")[0][0])


_STALE_S = 30 * 86_400


def read_policy(h: Harness) -> Iterator[Check]:
    """HA-04."""
    with h.open() as runtime:
        planted = plant(runtime.brain("ada", scope="project:a"), private=True)
        own = ways(runtime.brain("ada", scope="project:a"), planted)
        others = ways(runtime.brain("carol", scope="project:a"), planted)
        seen = f"its agent by {ways_text(own)}; another one in the same scope by {ways_text(others)}"
        yield Check("private", own == EVERY_WAY and not others, f"Brain: {seen}")
        yield tiers(runtime)
    yield from _reading_rules(h)


def _reading_rules(h: Harness) -> Iterator[Check]:
    """HA-04: purpose, consent and freshness, in the log of what was read and of what was not."""
    support = ("support-*",)
    rule = {"read": support, "write": support, "purpose": "support", "consent": True, "max_age": _STALE_S}
    with h.open({"memory.scopes": scopes_of({"customer:a": rule})}) as runtime:
        writer = runtime.brain("support-1", scope="customer:a")
        old = writer.remember("The lamp of the lighthouse is white.")
        h.clock.sleep(_STALE_S + 1)
        fresh = writer.remember("The lamp of the harbor is green.")
        agreed = writer.remember("Grace wants a green lamp.", subject_ids=["grace"], consent_grants=["grace"])
        silent = writer.remember("Henry wants a red lamp.", subject_ids=["henry"])
        found = {hit.id for hit in writer.search("which lamp")}
        other = _refused(runtime.brain("sales-1", scope="customer:a"), "which lamp")
        log = runtime.database.query(
            "SELECT b.agent, b.purpose, count(a.record) FROM broadcasts b JOIN access_log a ON a.broadcast = b.id"
            " WHERE b.operation = 'search' AND b.agent = 'support-1' GROUP BY b.id"
        )
        reasons = {(read.agent, read.reason): read.memories for read in denied_reads(runtime.database)}
    ok = found == {fresh, agreed} and [tuple(row) for row in log] == [("support-1", "support", 2)]
    yield Check("consented", ok, f"Brain.search: {len(found)} of 2 found; log {[tuple(row) for row in log]}")
    withheld = reasons.get(("support-1", "somebody whom it is about has not agreed"), 0)
    others = reasons.get(("sales-1", "its scope is read for support only"), 0)
    ok = silent not in found and withheld == 1 and other and others == 4
    yield Check(
        "consent", ok, f"Brain.search: {withheld} withheld without consent, {others} from another purpose"
    )
    stale = sum(count for (who, why), count in reasons.items() if who == "support-1" and "older" in why)
    yield Check("stale", old not in found and stale == 1, f"Brain.search: {stale} withheld as stale")


def _refused(brain: Brain, query: str) -> bool:
    try:
        brain.search(query)
    except DeniedError:
        return True
    return False


def write_policy(h: Harness) -> Iterator[Check]:
    """HA-05."""
    with h.open() as runtime:
        yield from _gate(runtime)
        bundle = _bundle(h, runtime)
        bundle.working.put("draft", "half")
        bundle.durable.put("lasting", "kept")
        bundle.durable.put("passing", "kept", ttl_s=TTL_S)
    with h.open() as runtime:
        bundle = _bundle(h, runtime)
        draft = bundle.working.get("draft")
        before = [bundle.durable.get(key) for key in ("lasting", "passing")]
        h.clock.sleep(TTL_S)
        after = [bundle.durable.get(key) for key in ("lasting", "passing")]
    ok = draft is None and before == ["kept", "kept"] and after == ["kept", None]
    seen = f"working {draft}, durable {before} after a restart, {after} after {TTL_S:g} s"
    yield Check("tiers", ok, f"MemoryBundle: {seen}")
    with h.open() as runtime:
        record = runtime.brain("ada").remember("Quixote reads his letters at quixote@posteo.de.")
        hits = [(item.record, item.label, item.action) for item in detections(runtime.database)]
        yield Check("pii", hits == [(record, "email", "keep")], f"personal_data.met: {hits}")
        yield from quarantined(runtime)


def _gate(runtime: Runtime) -> Iterator[Check]:
    brain = runtime.brain("ada", scope="project:gate")
    rule = brain.remember("Deploys go out on Tuesdays.")
    other = brain.remember("Deploys go out on Mondays.")
    yield Check("novel", other != rule, f"Brain.remember: {rule}, {other} for two different days")
    row = brain.space.records.find(rule)
    assert row is not None
    number = row["id"]
    again = brain.remember("On Tuesdays deploys go out.")
    uses = brain.space.reads.stats([number]).get(number, (0, 0.0))[0]
    yield Check("repeat", again == rule and uses == 1, f"Brain.remember: {again} again, used {uses} times")
    before = brain.get(rule)
    low = brain.remember("Deploys go out on Tuesdays, always.", source_type="derived")
    after = brain.get(rule)
    ok = low == rule and (after.content, after.confidence) == (before.content, before.confidence)
    yield Check(
        "supersede",
        ok,
        f"a derived restatement: confidence {before.confidence:.2f}, then {after.confidence:.2f}",
    )


def _bundle(h: Harness, runtime: Runtime) -> MemoryBundle:
    return MemoryBundle.create(memory_store=runtime.memory_store("ada"), clock=h.clock)


def grounding(h: Harness) -> Iterator[Check]:
    """HA-20."""
    with h.open() as runtime:
        brain = runtime.brain("ada")
        text = "The contract says: 30 days."
        source = brain.remember(text, source_type="ingested-document")
        between = brain.remember(
            "Payment is due after 30 days.", source_type="derived", derived_from=[source]
        )
        conclusion = brain.decide("Remind after 31 days", "The term is 30 days.", derived_from=[between])
        chain = [brain.get(conclusion)]
        while parents := chain[-1].details.get("derived_from"):
            chain.append(brain.get(parents[0]))
        ok = [item.id for item in chain] == [conclusion, between, source]
        seen = " from ".join(f"{item.kind} ({item.source_type})" for item in chain)
        yield Check("parents", ok and chain[-1].source_type == "ingested-document", f"Brain.get: {seen}")

        reasons = [brain.why(conclusion)]
        while reasons[-1].origins:
            reasons.append(reasons[-1].origins[0])
        texts = [reason.memory.content for reason in reasons if reason.memory is not None]
        yield Check("why", len(reasons) == 3 and texts[-1] == text, f"Brain.why: {' because '.join(texts)}")
        yield sourced(runtime)
        yield _floored(runtime)


def _floored(runtime: Runtime) -> Check:
    """Of HA-20: of two conclusions the one whose source is trusted less than the floor is left out, however it is asked for."""
    desk = TrustDesk(runtime.brain("ada").space, runtime.log, open_authority(runtime.config, runtime.log))
    eve, ada = (runtime.brain(name, scope="project:floor") for name in ("eve", "ada"))
    rumor = eve.remember("The vendor said that the lamp is broken.")
    finding = ada.remember("The lamp on the desk is lit.")
    near = ada.remember("So a lamp has to be replaced.", derived_from=[rumor])
    far = ada.decide("Order a lamp", "The lamp has to be replaced.", derived_from=[near])
    safe = ada.decide("Keep the lamp", "The lamp is lit.", derived_from=[finding])
    desk.assess("default", "eve", "general", LOW, by=Label("operator"), reason="it invents things")
    eve_says = eve.space.trust.score_of("default", "eve")
    runtime.entity("eve").trust_set("eve", "general", 1.0)
    raised = eve.space.trust.score_of("default", "eve") != eve_says
    every = {hit.id for hit in ada.search("lamp")}
    found = {hit.id for hit in ada.search("lamp", min_trust=FLOOR)}
    ok = every == {rumor, finding, near, far, safe} and found == {finding, safe} and not raised
    seen = f"{len(every)} without a floor, {len(found)} of 2 with {FLOOR:g}; raised by itself: {raised}"
    return Check("floor", ok, f"Brain.search: {seen}")
