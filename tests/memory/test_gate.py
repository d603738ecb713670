"""The worthiness gate: what is merged, what never is, and what happens with several processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sb.config.scopes import gate_settings
from sb.errors import UsageError
from sb.memory import Brain
from sb.memory.consent import about
from sb.memory.gate.confidence import calibrations
from sb.memory.gate.incoming import Gate, IncomingRecord
from sb.protocols.types import Fact
from sb.store.database import open_database
from sb.store.records.columns import Row
from sb.store.records.evidence import MOST_TEXTS
from sb.store.records.places import Place
from tests.memory.agents import DAY, Agents, agents

__all__ = ["agents"]

RULE = "Deploys go out on Tuesdays, after the tests have passed."
AGAIN = "After the tests have passed, deploys go out on Tuesdays."
LETTERS = str.maketrans("0123456789", "bcdfghjklm")


def row(agents: Agents, record: str) -> Row:
    found = agents.brain().space.records.find(record)
    assert found is not None
    return found


def facts(agents: Agents) -> int:
    return int(agents.rows("SELECT count(*) FROM records WHERE kind = 'fact' AND state = 'active'")[0][0])


def test_restatement_is_merged_and_leaves_evidence(agents: Agents) -> None:
    first = agents.brain().remember(RULE)
    before = row(agents, first)
    brain = agents.brain("tester")
    assert brain.remember(AGAIN) == first
    assert brain.verdict is not None
    assert not brain.verdict.admitted
    after = row(agents, first)
    assert after["text"] == RULE
    assert after["confidence"] > before["confidence"]
    assert after["evidence_n"] > before["evidence_n"]
    [evidence] = brain.space.evidence.of(after["id"])
    assert (evidence.agent, evidence.source_type, evidence.kind) == ("tester", "agent-written", "restated")
    assert evidence.at == after["updated_at"]
    assert brain.space.reads.stats([after["id"]])[after["id"]][0] == 1
    assert facts(agents) == 1


def test_explanation_says_that_an_untrusted_source_is_quarantined_and_not_merged(agents: Agents) -> None:
    brain = agents.brain()
    first = brain.remember(RULE)
    assert brain.explain(AGAIN, source_type="tool-output").held == "quarantined"
    assert brain.remember(AGAIN, source_type="tool-output") != first
    assert row(agents, first)["evidence_n"] == 2.0


def test_new_fact_is_admitted(agents: Agents) -> None:
    brain = agents.brain()
    assert brain.remember(RULE) != brain.remember("The logo is blue.")
    assert brain.verdict is not None
    assert brain.verdict.reason == "nothing says the same"


@pytest.mark.parametrize(
    ("memory", "other"),
    [
        ("Backups run before the migration.", "Backups run during the migration."),
        ("The lock is held until the commit.", "The lock is held after the commit."),
        ("Send logs to the proxy.", "Send logs from the proxy."),
        ("Only the owner deploys.", "The owner deploys."),
        ("Agents can deploy alone.", "Agents should deploy alone."),
        ("Deploys happen most weeks.", "Deploys happen few weeks."),
        ("Build takes about 5 minutes.", "Build takes at most 5 minutes."),
    ],
)
def test_small_word_that_changes_what_holds_is_never_merged(agents: Agents, memory: str, other: str) -> None:
    brain = agents.brain()
    assert brain.remember(memory) != brain.remember(other)
    assert brain.verdict is not None
    assert [item.changed for item in brain.verdict.others] == ["negation"]


@pytest.mark.parametrize(
    ("other", "changed"),
    [
        ("Deploys go out on Mondays, after the tests have passed.", "date"),
        ("Deploys go out on Tuesdays, before the tests have passed.", "negation"),
        ("Deploys do not go out on Tuesdays, after the tests have passed.", "negation"),
        ("Deploys go out on Tuesdays, after 3 tests have passed.", "number"),
        ("Deploys go out on Tuesdays, after the tests of Anna have passed.", "name"),
        ("Deploys to `eu-west-1` go out on Tuesdays, after the tests have passed.", "name"),
    ],
)
def test_changed_value_is_never_merged(agents: Agents, other: str, changed: str) -> None:
    brain = agents.brain()
    first = brain.remember(RULE, "convention")
    second = brain.remember(other, "convention")
    assert second != first
    assert brain.verdict is not None
    assert [item.changed for item in brain.verdict.others] == [changed]


def test_counts_over_time_are_neighbours_and_values_of_a_setting_are_rivals(agents: Agents) -> None:
    brain = agents.brain()
    brain.remember("3 articles of stock were counted.")
    brain.remember("4 articles of stock were counted.")
    assert brain.verdict is not None
    assert [other.relation for other in brain.verdict.others] == ["neighbour"]
    brain.remember("The test database listens on port 5433.", "environment")
    brain.remember("The test database listens on port 5434.", "environment")
    assert [other.relation for other in brain.verdict.others] == ["rival"]
    assert facts(agents) == 4


def test_forced_fact_is_saved_as_it_is(agents: Agents) -> None:
    brain = agents.brain()
    assert brain.remember(RULE) != brain.remember(RULE, force=True)


def test_restatement_is_merged_however_old_the_memory_is(agents: Agents) -> None:
    first = agents.brain().remember(RULE)
    agents.clock.time += 2000 * DAY
    assert agents.brain().remember(RULE) == first


def test_other_scope_speaker_or_reader_is_a_memory_of_its_own(agents: Agents) -> None:
    brain = agents.brain()
    first = brain.remember(RULE)
    elsewhere = brain.remember(RULE, scope="project:shop")
    private = brain.remember(RULE, private=True)
    spoken = brain.remember(RULE, speaker="Ana")
    assert len({first, elsewhere, private, spoken}) == 4


@pytest.mark.parametrize(
    ("first", "second", "changed"),
    [
        ({}, {"subject_ids": ["grace"]}, "subject"),
        ({"subject_ids": ["hal"]}, {"subject_ids": ["grace", "hal"]}, "subject"),
        ({}, {"access_grants": ["hr"]}, "reader"),
        ({"access_grants": ["hr"]}, {}, "reader"),
        ({"subject_ids": ["hal"], "consent_grants": ["hal"]}, {"subject_ids": ["hal"]}, "reader"),
        ({"subject_ids": ["grace", "hal"]}, {"subject_ids": ["grace"]}, ""),
        ({"access_grants": ["hr", "it"]}, {"access_grants": ["it", "hr"]}, ""),
    ],
)
def test_restatement_keeps_whom_it_is_about_and_who_may_read_it(
    agents: Agents, first: dict[str, Any], second: dict[str, Any], changed: str
) -> None:
    brain = agents.brain()
    memory = brain.remember(RULE, **first)
    restated = brain.remember(AGAIN, **second)
    assert brain.verdict is not None
    assert [other.changed for other in brain.verdict.others] == ([changed] if changed else [])
    assert (restated == memory) is not bool(changed)
    assert all(restated in about(brain.database, person) for person in second.get("subject_ids", ()))


def test_forgotten_memory_takes_nothing_in(agents: Agents) -> None:
    brain = agents.brain()
    first = brain.remember(RULE)
    brain.forget(first, "no longer so")
    assert brain.remember(RULE) != first


def test_less_trusted_source_changes_nothing_and_is_flagged(agents: Agents) -> None:
    first = agents.person().remember(RULE, source_type="user-written")
    before = row(agents, first)
    assert (before["confidence"], before["evidence_n"]) == (0.75, 4.0)
    brain = agents.brain()
    assert brain.remember(AGAIN, source_type="inference") == first
    assert brain.verdict is not None
    assert brain.verdict.downgraded
    after = row(agents, first)
    assert (after["confidence"], after["version"]) == (before["confidence"], before["version"])
    assert [evidence.weight for evidence in brain.space.evidence.of(after["id"])] == [0.0]


def test_flood_of_restatements_moves_confidence_little_and_leaves_one_record(agents: Agents) -> None:
    brain = agents.brain()
    first = brain.remember(RULE, confidence=0.5)
    for _ in range(60):
        assert brain.remember(RULE) == first
    after = row(agents, first)
    assert after["evidence_n"] < 3.0
    assert after["confidence"] < 0.67
    assert after["version"] <= 11


def test_flood_of_near_duplicates_changes_no_text_and_moves_confidence_little(agents: Agents) -> None:
    brain = agents.brain()
    first = brain.remember(RULE, confidence=0.5)
    begun = ("", "Note: ", "As agreed, ", "Remember that ", "In short: ")
    ended = ("", " now", " again", " here", " as well", " of course")
    flood = [f"{start}{text.rstrip('.')}{end}." for start in begun for end in ended for text in (RULE, AGAIN)]
    into = [brain.remember(text) for text in flood]
    assert into.count(first) > len(flood) / 3
    after = row(agents, first)
    assert (after["text"], after["version"] <= 11) == (RULE, True)
    assert after["evidence_n"] < 3.0
    assert after["confidence"] < 0.67
    assert facts(agents) == len(set(into))


def test_what_was_written_after_the_look_is_compared_before_the_write(agents: Agents) -> None:
    brain, other = agents.brain(), agents.brain("tester")  # one connection, as threads have
    brain.remember("The logo is blue.")
    place = Place(brain.stack, brain.scope)
    with closing(open_database(agents.home / "brain.db")) as elsewhere:  # another, as another process has
        apart = Brain("elsewhere", database=elsewhere, config=agents.config)
        for number, writes in enumerate((None, other, apart)):
            fact = Fact(f"Deploys of team {'ABC'[number]} go out on Tuesdays.")
            [(new, _)] = brain.writer.record_writer.pairs([fact])
            incoming = brain.gate.look(new, fact, place)
            first = writes.remember(fact.content) if writes is not None else ""
            with agents.database.write():
                assert incoming.merges() == (writes is not None)
            assert incoming.verdict.nearest == first


def test_equal_text_is_merged_among_many_that_differ_in_one_number(agents: Agents) -> None:
    brain = agents.brain()
    written = ("Deploys of team {} go out on Tuesdays.", "The import of {} rows took one hour.")
    texts = [text.format(number) for number in range(100, 250) for text in written]
    ids = {text: brain.remember(text, force=True) for text in texts}
    assert [text for text in texts[::4] if brain.explain(text).nearest != ids[text]] == []
    assert brain.remember(texts[0], speaker="ada") != ids[texts[0]]


def test_long_text_is_merged_only_if_it_is_equal(agents: Agents) -> None:
    brain = agents.brain()
    long = "The import reads one row after the other. " * 100
    first = brain.remember(long)
    assert brain.remember(long + "Then it stops.") != first
    assert brain.remember(long) == first


def test_explain_saves_nothing(agents: Agents) -> None:
    brain = agents.brain()
    first = brain.remember(RULE)
    verdict = brain.explain(AGAIN)
    assert (verdict.admitted, verdict.nearest) == (False, first)
    assert verdict.worth < verdict.threshold
    assert facts(agents) == 1
    assert brain.space.evidence.of(row(agents, first)["id"]) == []


def test_gate_can_be_turned_off_for_a_scope(agents: Agents) -> None:
    (agents.home / "config.yaml").write_text(
        'memory:\n  scopes:\n    "project:notes":\n      gate: {"*": {threshold: 0}}\n', "utf-8"
    )
    brain = agents.brain()
    notes = {brain.remember(RULE, scope="project:notes") for _ in range(3)}
    assert len(notes) == 3
    assert brain.remember(RULE) == brain.remember(RULE)


def test_longer_pattern_of_scopes_changes_what_a_shorter_one_set(agents: Agents) -> None:
    (agents.home / "config.yaml").write_text(
        "memory:\n  scopes:\n    'project:shop*': {gate: {'*': {threshold: 0}}}\n"
        "    '*': {gate: {'*': {threshold: 0.4, prior: 0.1}}}\n    'project:*': {gate: {'*': {prior: 0.2}}}\n"
        "    project:shop-1: {gate: {'*': {threshold: 0.5}}}\n"
    )
    policy = agents.config.memory.scopes
    scopes = ("global", "project:a", "project:shop-2", "project:shop-1")
    found = [gate_settings(policy, scope, "project") for scope in scopes]
    assert [(settings.threshold, settings.prior) for settings in found] == [
        (0.4, 0.1),
        (0.4, 0.2),
        (0.0, 0.2),
        (0.5, 0.2),
    ]


def test_nothing_below_the_floor_is_merged_whatever_it_is_worth(agents: Agents) -> None:
    likeness = 0.0
    for floor in (0.6, 0.95):
        rules = f'{{"*": {{gate: {{"*": {{threshold: 0.85, floor: {floor}}}}}}}}}'
        (agents.home / "config.yaml").write_text(f"memory:\n  scopes: {rules}\n", "utf-8")
        brain = agents.brain()
        first = brain.remember(RULE)
        verdict = brain.explain("Deploys really go out on Tuesdays, currently, after the tests have passed.")
        assert verdict.admitted is (floor > 0.9)
        assert (verdict.nearest == first) is not verdict.admitted
        likeness = max(likeness, verdict.likeness)
    assert 0.6 < likeness < 0.95


def test_settings_that_would_admit_a_repeated_fact_are_refused(agents: Agents) -> None:
    (agents.home / "config.yaml").write_text(
        'memory:\n  scopes:\n    "*":\n      gate: {lesson: {threshold: 0.1}}\n', "utf-8"
    )
    with pytest.raises(UsageError, match="surprise and importance"):
        agents.brain().remember(RULE, "lesson")


def test_erased_memory_leaves_no_evidence(agents: Agents) -> None:
    brain = agents.brain()
    number = row(agents, brain.remember(RULE))["id"]
    brain.remember(RULE)
    with agents.database.write() as execute:
        brain.space.records.erase(execute, [number], actor="ada", reason="asked to be deleted")
    assert brain.space.evidence.of(number) == []


def test_outcomes_move_confidence_and_are_scored(agents: Agents) -> None:
    brain = agents.brain()
    person = agents.person()
    records = [person.remember(f"Team {name} sits on floor {floor}.", "user", source_type="user-written")
               for floor, name in enumerate("BCDEFGHJKL")]  # fmt: skip
    for number, record in enumerate(records):
        (brain.confirm if number < 9 else brain.refute)(record, "seen")
    assert brain.get(records[0]).confidence == pytest.approx(0.8)
    assert brain.get(records[9]).confidence == pytest.approx(0.6)
    assert brain.history(records[9])[-1].operation == "refuted"
    [found] = calibrations(brain.space.evidence.outcomes())
    assert (found.category, found.outcomes, found.confirmed, found.mean) == ("user", 10, 0.9, 0.75)
    assert found.brier == pytest.approx((9 * 0.25**2 + 0.75**2) / 10)
    assert found.proposed == 0.83
    assert records[9] not in [hit.id for hit in brain.search("floor", k=20, min_confidence=0.7)]


WRITER = """
import sys
from sb.memory import Brain
from sb.memory.gate.incoming import Gate
looked = Gate.look
def look(*arguments):
    incoming = looked(*arguments)
    print("looked", flush=True)
    sys.stdin.readline()
    return incoming
Gate.look = look
brain = Brain(sys.argv[2], path=sys.argv[1])
for team in "ABCDE":
    brain.remember("Deploys of team %s go out on Tuesdays." % team)
brain.database.close()
"""


def test_processes_that_look_at_once_never_both_admit(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    env = {**os.environ, "SB_HOME": str(tmp_path)}
    with Brain("first", path=path) as brain:
        brain.remember("The logo is blue.")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), f"agent {number}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env,
        )
        for number in range(3)
    ]  # fmt: skip
    for _ in "ABCDE":
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"looked\n"
        for writer in writers:  # none has written what all have looked for
            assert writer.stdin is not None
            writer.stdin.write(b"go\n")
            writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=120)
        assert writer.returncode == 0
    with Brain("first", path=path) as brain:
        texts = [text for (text,) in brain.database.query("SELECT text FROM records WHERE kind = 'fact'")]
        merged = brain.database.query("SELECT count(*) FROM record_evidence")[0][0]
    assert len(texts) == len(set(texts)) == 6
    assert merged == 10


RESTATER = WRITER.replace(
    """for team in "ABCDE":
    brain.remember("Deploys of team %s go out on Tuesdays." % team)
""",
    """for word in sys.argv[3:]:
    brain.remember("Deploys go out on Tuesdays, after the tests have passed, %s." % word)
""",
)


def test_processes_that_merge_into_one_memory_at_once_keep_every_text_and_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    env = {**os.environ, "SB_HOME": str(tmp_path)}
    with Brain("first", path=path) as brain:
        memory = brain.remember(RULE)
        for number in range(MOST_TEXTS - 2):  # two more fit
            assert brain.remember(f"{RULE[:-1]}, zanza{number}ly.".translate(LETTERS)) == memory
    endings = ["quickly", "silently", "happily"]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", RESTATER, str(path), f"agent {word}", word],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env,
        )
        for word in endings
    ]  # fmt: skip
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"looked\n"
    for writer in writers:
        writer.communicate(b"go\n", timeout=120)
        assert writer.returncode == 0
    with Brain("first", path=path) as brain:
        found: dict[str, str] = dict(brain.database.query("SELECT text, state FROM records"))
        new = [found[f"{RULE[:-1]}, {word}."] for word in endings]
        assert sorted(new) == ["active", "superseded", "superseded"]
        number = brain.space.records.known([memory])[memory]["id"]
        assert len(brain.space.evidence.texts([number])) == MOST_TEXTS


class InterruptedGate(Gate):
    """A gate of an agent that is interrupted between looking and writing.

    Args:
        meanwhile: what another agent does then.
    """

    def __init__(self, brain: Brain, meanwhile: Callable[[], object]) -> None:
        super().__init__(brain.space, brain.writer.record_writer)
        self._meanwhile = meanwhile

    def look(self, row: Row, record: Any, place: Place) -> IncomingRecord:
        incoming = super().look(row, record, place)
        self._meanwhile()
        return incoming


def test_what_others_changed_since_the_gate_looked_counts_when_it_writes(agents: Agents) -> None:
    place = Place("default", "global")
    brain, other = agents.brain(), agents.brain("other")
    first: list[str] = []
    gate = InterruptedGate(brain, lambda: first.append(other.remember(RULE)))
    assert brain.writer.keep(Fact(AGAIN, "project"), place, gate=gate) == first[0]
    assert facts(agents) == 1

    gate = InterruptedGate(brain, lambda: other.forget(first[0]))
    assert brain.writer.keep(Fact(AGAIN, "project"), place, gate=gate) != first[0]
    assert facts(agents) == 1


KILLED = """
import os, signal, sys
from sb.memory import Brain
from sb.memory.gate.incoming import Gate
brain = Brain("killed", path=sys.argv[1])
looked = Gate.look
def look(*arguments):
    looked(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
Gate.look = look
brain.remember(sys.argv[2])
"""


def test_process_killed_between_gate_and_write_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    env = {**os.environ, "SB_HOME": str(tmp_path)}
    with Brain("first", path=path) as brain:
        first = brain.remember(RULE)
    for text in (AGAIN, "The logo is blue."):
        done = subprocess.run([sys.executable, "-c", KILLED, str(path), text], env=env, check=False)
        assert done.returncode == -signal.SIGKILL
    with Brain("second", path=path) as brain:
        assert brain.database.query("SELECT count(*) FROM records WHERE kind = 'fact'") == [(1,)]
        assert brain.database.query("SELECT count(*) FROM record_evidence") == [(0,)]
        assert brain.remember(AGAIN) == first
