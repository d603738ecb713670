"""Claims: the forms of sentences, what an update supersedes, and what only competes."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from sb.config import load_config
from sb.errors import DeniedError, NotFoundError
from sb.memory import Brain
from sb.memory.beliefs.claims import claims_of, given_claim
from sb.memory.bundle_import import load
from sb.memory.bundles import export
from sb.memory.erasure import erase
from tests.memory.agents import Agents, agents  # noqa: F401 (a fixture)
from tests.memory.desk import Desk
from tests.memory.test_corrections import GRACE, authority, review
from tests.rows import rows

UPDATES = [
    ("Alice is the CTO of Acme", "Bob is the CTO of Acme now"),
    ("Alice is the CTO", "Alice left the company"),
    ("Alice works at Acme", "Alice no longer works at Acme"),
    ("Ben lives in Rome", "Ben moved to Oslo"),
    ("The staging port is 8080", "The port of staging changed from 8080 to 9090"),
    ("staging's port is 8080", "The staging port is now 9090"),
    ("The retry limit is 3", "The retry limit was raised to 5"),
    ("The deploy window is on Monday", "The deploy window moved from Monday to Friday"),
    ("The standup is at 9:30", "Carol moved the standup to 10:30"),
    ("We use Jest", "We switched from Jest to Vitest"),
    ("We use Jest for unit tests", "We now use Vitest for unit tests"),
    ("The billing service runs on Heroku", "The billing service was migrated to Fly"),
    ("I live in Seattle", "Actually, I live in San Francisco"),
    ("The cache is enabled", "The cache is disabled now"),
    ("My favorite editor is Vim", "My favorite editor is now Helix"),
]  # fmt: skip
STAND = [  # both are true, whatever the second says of now
    ("We use Postgres", "We now use Redis"),
    ("Alice likes tea", "Alice likes coffee now"),
    ("Alice is the CTO of Acme", "Bob is the CTO of Beta now"),
    ("The staging port is 8080", "The production port is now 9090"),
    ("Alice reports to Bob", "Bob reports to Carol now"),
    ("We use Postgres for billing", "We now use Redis for sessions"),
    ("The office is in Bonn", "The office in Rome is closed now"),
    ("Alice and Bob are engineers", "Carol is an engineer now"),
    ("Paris is the capital of France", "Rome is the capital of Italy now"),
    ("Ben lives in Rome", "Ben might move to Oslo now"),
    ("The port is 80", "If the port is now 90, restart"),
    ("Ben lives in Rome", "Does Ben live in Oslo now?"),
    ("The limit is 100", "The limit is now 100"),
    ("Alice left Acme", "Alice left early"),
]
COMPETE = [
    ("The staging port is 8080", "The staging port is 9090"),
    ("The chief executive officer of Apple is Ann", "The chief executive officer of Apple is Bob"),
    ("Ben lives in Rome", "Ben lives in Oslo"),
    ("The API allows 100 requests per minute", "The API allows 200 requests per minute"),
    ("The build is green", "The build is not green"),
]
SHARED = [
    ("Alice is CEO", "Bob is CEO"),
    ("Alice and Bob are CEO", "Carol is CEO"),
    ("Ann's child is Ben", "Ann's child is Cy"),
    ("We use Postgres", "We use Redis"),
    ("Ben lives in Oslo", "Ben lives in Oslo, Norway"),
    ("Alice speaks at the meetup", "Bob speaks at the meetup"),
    ("Version 3 is stable", "Version 4 is not stable"),
]


def hits(brain: Brain, text: str) -> list[str]:
    return [hit.content for hit in brain.search(text, 20)]


def conflicts(agents: Agents, status: str = "open") -> int:  # noqa: F811
    return int(agents.rows("SELECT count(*) FROM contradictions WHERE status = ?", status)[0][0])


@rows("old, new", UPDATES)
def test_an_update_supersedes_and_can_be_reverted(old: str, new: str, agents: Agents) -> None:  # noqa: F811
    with agents.brain(scope=f"project:{agents.ids.token(3)}") as brain:
        loser = brain.remember(old)
        winner = brain.remember(new)
        assert hits(brain, old) == [new]
        (event, *more) = brain.collapses()
        assert (event.loser, event.winner, event.reason.startswith("claim: ")) == (loser, winner, True)
        assert not more
        brain.revert(event.id)
        assert {*hits(brain, old)} == {old, new}
        assert [conflict.about for conflict in brain.conflicts()]  # nobody has decided now


@rows("old, new", STAND)
def test_other_things_stand_beside_an_update(old: str, new: str, agents: Agents) -> None:  # noqa: F811
    with agents.brain(scope=f"project:{agents.ids.token(3)}") as brain:
        brain.remember(old, force=True)
        brain.remember(new, force=True)
        assert {*hits(brain, f"{old} {new}")} == {old, new}
        assert not brain.collapses()


@rows("old, new", COMPETE)
def test_without_a_cue_both_stand_and_are_marked(old: str, new: str, agents: Agents) -> None:  # noqa: F811
    with agents.brain(scope=f"project:{agents.ids.token(3)}") as brain:
        ids = [brain.remember(old), brain.remember(new)]
        (conflict,) = {brain.get(uid).conflict for uid in ids}
        assert conflict.startswith("cfl_")
        assert not brain.collapses()
        brain.forget(ids[1])
        assert not brain.get(ids[0]).conflict
        brain.recover(ids[1])
        assert brain.get(ids[0]).conflict == conflict


@rows("old, new", SHARED)
def test_what_several_may_be_or_have_is_no_conflict(old: str, new: str, agents: Agents) -> None:  # noqa: F811
    with agents.brain(scope=f"project:{agents.ids.token(3)}") as brain:
        brain.remember(old, force=True)
        brain.remember(new, force=True)
        assert not conflicts(agents)


def test_a_given_key_lets_the_newer_of_one_source_win(agents: Agents) -> None:  # noqa: F811
    with agents.brain() as brain, agents.brain("other") as other:
        brain.remember("Dan signs the invoices", claim="acme · invoices")
        second = brain.remember("it is Eve who signs them", claim="Acme: invoices")
        assert hits(brain, "who signs invoices") == ["it is Eve who signs them"]
        third = other.remember("Fay signs", claim="acme | invoices")
        assert brain.get(second).conflict == brain.get(third).conflict != ""
        corrected = brain.correct(second, "Gil signs them")
        assert brain.get(corrected).details["claim"] == "Acme: invoices"


@rows("key", ["", "port", "a · b · c · d", "· port", "x" * 130 + " · y", "--- · !!!"])
def test_a_key_needs_an_entity_and_an_attribute(key: str) -> None:
    with pytest.raises(ValueError, match="claim key"):
        given_claim(key, "text")


def test_an_older_statement_does_not_displace_a_newer_one(agents: Agents) -> None:  # noqa: F811
    from datetime import UTC, datetime

    with agents.brain() as brain:
        new = brain.remember("Ben lives in Oslo")
        brain.remember("Ben now lives in Rome", happened_at=datetime(2001, 1, 1, tzinfo=UTC))
        assert not brain.collapses()
        assert brain.get(new).conflict


def test_others_at_equal_trust_only_open_a_conflict(agents: Agents) -> None:  # noqa: F811
    with agents.brain("ann") as ann, agents.brain("ben") as ben:
        ann.remember("The staging port is 8080")
        ben.remember("The staging port is now 9090")
        assert not ben.collapses()
        assert conflicts(agents) == 1


def test_an_agent_does_not_displace_what_a_user_wrote(agents: Agents) -> None:  # noqa: F811
    with agents.person() as person, agents.brain() as brain:
        person.remember("The staging port is 8080", source_type="user-written", scope="global")
        brain.remember("The staging port is now 9090")
        assert not brain.collapses()
        assert conflicts(agents) == 1


def test_a_flood_of_contradictions_opens_a_few_conflicts_and_hides_nothing(agents: Agents) -> None:  # noqa: F811
    with agents.brain("ann") as ann, agents.brain("flood") as flood:
        for number in range(30):
            ann.remember(f"The port of service {number} is 80", force=True)
        for number in range(60):
            flood.remember(f"The port of service {number % 30} is now {900 + number}", force=True)
        assert not [event for event in ann.collapses() if event.loser_content.endswith("is 80")]
        assert conflicts(agents) == 20
        assert conflicts(agents, "marked") == 10
        ann.remember("The port of service 3 is now 81")
        assert "The port of service 3 is 80" not in hits(ann, "port of service 3")


def test_private_quarantined_and_protected_memories(agents: Agents) -> None:  # noqa: F811
    with agents.brain("ann") as ann, agents.brain("ben") as ben:
        ann.remember("The staging port is 8080", private=True)
        ben.remember("The staging port is 9090")
        assert not conflicts(agents)
        protected = ann.remember("The live port is 1")
        ann.protect(protected)
        ann.remember("The live port is now 2")
        assert "The live port is 1" in hits(ann, "live port")
        assert conflicts(agents) == 1
        ann.remember("The test port is 1")
        waiting = ann.remember("The test port is now 2", source_type="tool-output")
        assert waiting in ann.quarantined
        assert "The test port is 1" in hits(ann, "test port")
        assert not agents.rows(
            "SELECT 1 FROM claims AS k JOIN records AS r ON r.id = k.record WHERE r.uid = ?", waiting
        )


def test_hostile_texts_claim_little_and_fast() -> None:
    texts = [
        "is " * 130, "'s " * 130, "a's b's is " * 30, "The · port · of · x is 5", "x" * 400 + " is 5", "\0 is \0",
        "The port is now now now now now " * 12, "[](){}*+? is 5", "from to from to changed from to to",
    ]  # fmt: skip
    for text in texts:
        for claim in claims_of(text):
            assert len(claim.key) <= 120
            assert "\0" not in claim.key


def test_nothing_of_an_erased_memory_stays_in_its_claims(home: Path) -> None:
    desk = Desk(home)
    brain = desk.brain("ann")
    uid = brain.remember("The port of zanzibar is 8080")
    other = brain.remember("The port of zanzibar is 9090")
    assert brain.get(other).conflict
    erase(desk.space, desk.log, [uid], actor="grace", reason="asked for")
    query = desk.space.database.query
    assert query("SELECT count(*) FROM claims WHERE key LIKE '%zanzibar%'") == [(1,)]
    assert query("SELECT status, key FROM contradictions") == [("dismissed", "")]
    assert not brain.get(other).conflict
    desk.close()


def test_a_bundle_brings_its_claims_and_supersedes_nothing(tmp_path: Path, home: Path) -> None:
    desk, other = Desk(home), Desk(tmp_path / "other")
    desk.brain("ann").remember("The staging port is now 9090")
    here = other.brain("ann").remember("The staging port is 8080")
    export(desk.space, desk.log, tmp_path / "bundle", by=GRACE, stack="default")
    load(other.space, other.log, tmp_path / "bundle", authority(other), actor="grace")
    assert not other.brain("ann").collapses()
    assert other.brain("ann").get(here).conflict
    for each in (desk, other):
        each.close()


def _update(path: str, number: int) -> None:
    home = Path(path)
    config = load_config(env={"SB_HOME": path, "HOME": path}, cwd=home, flags={})
    with Brain("ann", path=home / "brain.db", config=config) as brain:
        brain.remember(f"The staging port is now {number}")


def test_of_two_processes_that_update_one_claim_one_stands(home: Path) -> None:
    home.mkdir(mode=0o700)
    config = load_config(env={"SB_HOME": str(home), "HOME": str(home)}, cwd=home, flags={})
    with Brain("ann", path=home / "brain.db", config=config) as brain:
        brain.remember("The staging port is 1")
        spawn: Any = multiprocessing.get_context("spawn")
        jobs = [spawn.Process(target=_update, args=(str(home), number)) for number in (2, 3)]
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
        assert len(hits(brain, "staging port")) == 1


def test_what_was_released_from_quarantine_opens_a_conflict(home: Path) -> None:
    desk = Desk(home)
    brain = desk.brain("ann")
    first = brain.remember("The staging port is 8080")
    second = brain.remember("The staging port is now 9090", source_type="tool-output")
    assert not brain.get(first).conflict
    review(desk).release([review(desk).show(second)], by=GRACE, reason="it is harmless")
    assert brain.get(first).conflict == brain.get(second).conflict != ""
    assert not brain.collapses()
    desk.close()


def test_a_judgement_of_somebody_opens_a_conflict_and_supersedes_nothing(agents: Agents) -> None:  # noqa: F811
    with agents.brain("ann") as ann, agents.brain("ben") as ben:
        first = ann.remember("The vendor answers within a day.")
        second = ann.remember("Nobody has heard of the vendor for weeks.")
        conflict = ben.report_conflict(first, second)
        assert {side.id for side in conflict.sides} == {first, second}
        assert ann.get(first).conflict == conflict.id
        with pytest.raises(DeniedError, match="not trusted more"):
            ben.resolve_conflict(conflict.id, second, "it sounds newer")
        assert ann.resolve_conflict(conflict.id, second, "I asked").winner == second
        assert first not in [hit.id for hit in ann.search("vendor")]
        assert ann.revert_conflict(conflict.id, "they answered").status == "open"
        assert first in [hit.id for hit in ann.search("vendor")]
        with pytest.raises(ValueError, match="one scope"):
            ann.report_conflict(first, ann.remember("The vendor is late.", private=True))


def test_a_private_conflict_is_shown_to_nobody_else(agents: Agents) -> None:  # noqa: F811
    with agents.brain("ann") as ann, agents.brain("ben") as ben:
        ann.remember("The staging port is 8080", private=True)
        ann.remember("The staging port is 9090", private=True)
        (conflict,) = ann.conflicts()
        assert not ben.conflicts()
        with pytest.raises(NotFoundError):
            ben.resolve_conflict(conflict.id, "both", "whatever")


def test_what_others_rest_on_is_left_to_a_person(agents: Agents) -> None:  # noqa: F811
    with agents.brain() as brain, agents.person() as person:
        source = brain.remember("The retry limit is 3")
        rule = brain.remember("Alert on the fourth attempt.", derived_from=[source])
        newer = brain.remember("The retry limit is now 5")
        assert not brain.collapses()
        (conflict,) = person.conflicts()
        person.resolve_conflict(conflict.id, newer, "asked")
        assert {source, rule}.isdisjoint(hit.id for hit in brain.search("retry limit alert attempt"))


def test_contradicting_hits_come_newest_first(agents: Agents) -> None:  # noqa: F811
    with agents.brain() as brain:
        older = brain.remember("The staging port is 8080 on the staging port machine")
        agents.clock.time += 60
        newer = brain.remember("The staging port is 9090")
        found = [(hit.id, hit.score) for hit in brain.search("staging port machine")]
        assert [uid for uid, _ in found] in ([newer, older], [older, newer])
        if brain.get(older).conflict:
            assert found[0][0] == newer
        assert found[0][1] >= found[1][1]


def test_texts_that_deny_each_other_are_marked_and_wait_for_nobody(agents: Agents) -> None:  # noqa: F811
    with agents.brain() as brain:
        first = brain.remember("A man in a red hat plays the guitar on the stage")
        second = brain.remember("A man in a red hat never plays the guitar on the stage")
        assert brain.get(first).conflict == brain.get(second).conflict != ""
        assert not brain.conflicts()
        assert [conflict.status for conflict in brain.conflicts("marked")] == ["marked"]


def test_who_saves_an_update_is_told_what_it_did(agents: Agents) -> None:  # noqa: F811
    with agents.brain("ann") as ann, agents.brain("ben") as ben:
        old = ann.remember("The staging port is 8080")
        assert ann.consequences(old) == []
        (line,) = ann.consequences(ann.remember("The staging port is now 9090"))
        assert line.startswith(f"{old} is superseded: sb memory revert col_")
        (line,) = ben.consequences(ben.remember("The staging port is 7070"))
        assert "contradicts it: sb memory conflicts show cfl_" in line
