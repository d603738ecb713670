"""Personal data in memories: kept, redacted, refused or held back by scope, masked for readers, listed and erased."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.base.sources import SteeredClock
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Label
from sb.memory import Brain
from sb.memory.consent import about
from sb.memory.operator_view import Overseer
from sb.memory.personal_data import PersonalDataRefused, detections
from sb.memory.quarantine.review import Quarantine
from sb.memory.retention import overdue
from sb.protocols.types import Note
from sb.runtime import Runtime, open_runtime
from sb.stack.sqlite_stack import SQLiteStack
from tests.conftest import CommandLine

PHONE = "+49 171 5550199"
TEXT = f"Grace is called at {PHONE} about the lighthouse"
REDACTED = "Grace is called at [redacted:phone] about the lighthouse"
DAY = 86_400
SETTINGS = """
memory:
  personal_data_readers: [ada]
  scopes:
    "project:*": {retention: 30d}
    "project:red": {personal_data: redact}
    "project:drop": {personal_data: drop}
    "project:wait": {personal_data: escalate}
    "project:a": {retention: {event: 2d}}
    "team:*": {personal_data: redact, retention: {lesson: 3d}}
"""


@pytest.fixture
def clock() -> SteeredClock:
    return SteeredClock()


@pytest.fixture
def runtime(home: Path, clock: SteeredClock) -> Iterator[Runtime]:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.yaml").write_text(SETTINGS, encoding="utf-8")
    with open_runtime(clock=clock) as opened:
        yield opened


def contents(brain: Brain, query: str = "Grace lighthouse") -> list[str]:
    return [hit.content for hit in brain.search(query)]


def test_personal_data_is_kept_where_no_rule_says_otherwise_and_the_write_is_logged(runtime: Runtime) -> None:
    brain = runtime.brain("ada", scope="project:a")
    record = brain.remember(TEXT)
    brain.remember("the lighthouse has 12 windows and 3 doors")
    assert TEXT in contents(brain)
    (logged,) = detections(runtime.database)
    assert (logged.record, logged.label, logged.action) == (record, "phone", "keep")
    assert (logged.agent, logged.scope) == ("ada", "project:a")


@pytest.mark.parametrize("scope", ["project:red", "team:web"])
def test_redacted_value_reaches_no_file(scope: str, runtime: Runtime, home: Path) -> None:
    brain = runtime.brain("ada", scope=scope)
    brain.remember(TEXT, tags=[PHONE])
    brain.decide("call Grace", TEXT)
    brain.entity("Grace", "person", observations=[TEXT], properties={"phone": PHONE})
    assert brain.masked == ("phone",)
    brain.handoff(TEXT, TEXT, [TEXT], TEXT)
    brain.search(f"who has {PHONE}")
    brain.forget(brain.remember("a word"), f"asked by {PHONE}")
    brain.wrap_up(TEXT, goal=TEXT)
    assert f"call Grace: {REDACTED}" in contents(brain)
    assert b"5550199" not in b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert {item.action for item in detections(runtime.database)} == {"redact"}


def test_scope_that_drops_refuses_the_write_and_logs_it_without_a_record(runtime: Runtime) -> None:
    brain = runtime.brain("ada", scope="project:drop")
    with pytest.raises(PersonalDataRefused, match="not saved: it holds personal data \\(phone\\)"):
        brain.remember(TEXT)
    assert contents(brain) == []
    assert [(item.record, item.action) for item in detections(runtime.database)] == [("", "drop")]


def test_escalated_memory_is_found_once_it_is_released(runtime: Runtime) -> None:
    brain = runtime.brain("ada", scope="project:wait")
    record = brain.remember(TEXT)
    assert contents(brain) == []
    authority = Authority(runtime.config.operators.file, runtime.log)
    quarantine = Quarantine(brain.space, runtime.log, authority)
    [item] = quarantine.items()
    assert (item.id, item.reason) == (record, "personal data (phone)")
    quarantine.release([item], by=Label("ana"), reason="the customer agreed")
    assert contents(brain) == [TEXT]


def test_what_is_added_to_an_entity_is_escalated_too(runtime: Runtime) -> None:
    brain = runtime.brain("ada", scope="project:wait")
    brain.entity("Grace", "person", observations=["keeps the lighthouse"])
    before = contents(brain)
    brain.entity("Grace", "person", observations=[TEXT])
    assert contents(brain) == before


def test_reader_without_a_right_to_it_sees_masks_on_every_way(runtime: Runtime) -> None:
    writer, reader = (runtime.brain(name, scope="project:a") for name in ("ada", "bob"))
    record = writer.remember(TEXT, tags=[PHONE])
    writer.entity("Grace", "person", observations=["old"])
    writer.entity("Grace", "person", observations=[TEXT])
    ways = [
        reader.search("Grace lighthouse"), reader.get(record), reader.look_up("Grace"), reader.history("Grace"),
        reader.think("Grace lighthouse"), reader.why(record), reader.graph(record), reader.orient(query="Grace lighthouse"),
    ]  # fmt: skip
    assert all("5550199" not in repr(collection) for collection in ways)
    assert reader.get(record).content == REDACTED
    assert writer.get(record).content == TEXT
    assert Overseer(database=runtime.database, config=runtime.config).get(record).content == TEXT


def test_a_text_too_long_to_be_searched_is_not_kept_where_values_are_redacted(runtime: Runtime) -> None:
    with pytest.raises(PersonalDataRefused, match="too_long"):
        runtime.brain("ada", scope="project:red").remember("a1b2@ " * 200_000)


def test_access_grants_and_consent_decide_who_reads(runtime: Runtime) -> None:
    writer, bob, eve = (runtime.brain(name, scope="project:a") for name in ("ada", "bob", "eve"))
    granted = writer.remember("Grace keeps the lighthouse", access_grants=["bob"])
    agreed = writer.remember("Grace likes the lighthouse", subject_ids=["grace"], consent_grants=["grace"])
    missing = writer.log("Grace left the lighthouse", subject_ids=["grace", "hal"], consent_grants=["grace"])
    assert {hit.id for hit in bob.search("Grace lighthouse")} == {granted, agreed}
    assert {hit.id for hit in eve.search("Grace lighthouse")} == {agreed}
    assert eve.get(granted).content == "withheld: access was not granted to you"
    assert eve.get(missing).content == "withheld: somebody whom it is about has not agreed"
    assert about(writer.database, "grace") == [agreed, missing]
    assert about(writer.database, "hal") == [missing]


def test_retention_names_what_is_past_it_by_the_longest_rule(runtime: Runtime, clock: SteeredClock) -> None:
    brain = runtime.brain("ada", scope="project:a")
    event, fact = brain.log("the lamp went out"), brain.remember("the lamp is white")
    brain.remember("the sea is wide", scope="global")
    protected = brain.log("the lamp was lit")
    brain.protect(protected)

    def due() -> list[tuple[str, str, bool]]:
        found = overdue(brain.space, runtime.config.memory, clock.now())
        return [(item.id, item.rule, item.protected) for item in found]

    clock.time += 2 * DAY - 1
    assert due() == []
    clock.time += 2
    assert due() == [(event, "project:a/event", False), (protected, "project:a/event", True)]
    clock.time += 28 * DAY
    assert (fact, "project:*", False) in due()


def test_retention_of_a_category_takes_no_other(runtime: Runtime, clock: SteeredClock) -> None:
    brain = runtime.brain("ada", scope="team:web")
    lesson = brain.remember("Restart the queue before the workers", "lesson")
    brain.remember("The queue is in Oslo", "environment")
    clock.time += 5 * DAY
    assert [(item.id, item.rule) for item in overdue(brain.space, runtime.config.memory, clock.now())] == [
        (lesson, "team:*/lesson")
    ]


def test_commands_list_and_erase(runtime: Runtime, sb: CommandLine) -> None:
    active = runtime.brain("ada", scope="project:a").remember(TEXT, subject_ids=["grace"])
    saved = sb("memory", "remember", TEXT, "--scope", "project:wait", "--agent", "ada")
    quarantined = saved.out.strip()
    assert "quarantined: no agent finds it until a person releases it" in saved.err
    assert "personal data (phone)" in sb("quarantine", "list").out
    listed = sb("memory", "pii", "list", "--json").json["items"]
    assert [(item["record"], item["action"]) for item in listed] == [
        (quarantined, "escalate"),
        (active, "keep"),
    ]
    assert PHONE not in sb("memory", "pii", "list").out
    done = sb("memory", "forget-subject", "grace", "--reason", "asked for it", "--yes", "--json")
    assert (done.code, done.json["ids"]) == (0, [active]), done.err
    done = sb("memory", "pii", "erase", "--label", "phone", "--reason", "not needed", "--yes", "--json")
    assert (done.code, done.json["ids"]) == (0, [quarantined]), done.err
    assert sb("memory", "pii", "list", "--json").json == {"items": []}


def test_retention_command_erases_only_when_told(
    runtime: Runtime, clock: SteeredClock, sb: CommandLine
) -> None:
    clock.time = 1_600_000_000.0
    old = runtime.brain("ada", scope="project:a").log("the lamp went out")
    assert [item["id"] for item in sb("memory", "retention", "--json").json["items"]] == [old]
    done = sb("memory", "retention", "--apply", "--yes", "--json")
    assert (done.code, done.json["ids"]) == (0, [old]), done.err
    assert sb("memory", "retention", "--json").json == {"items": []}


def test_what_a_stack_saves_follows_the_rule_of_its_scope(home: Path) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    rule = 'memory: {scopes: {"*": {personal_data: redact}}}\n'
    (home / "config.yaml").write_text(rule, encoding="utf-8")
    stack = SQLiteStack("self", components=[])
    note = stack.save_note(Note("n1", "self", TEXT))
    stored = stack.get_memory("note", note)
    assert stored is not None
    assert stored.content == REDACTED
