"""Corrections of what bears others: held back, on record, pending until a person decides, and without effect till then."""

from __future__ import annotations

import tempfile
from math import log2
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.config.memory_gate import GateSettings
from sb.errors import DeniedError, NotFoundError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Label
from sb.memory import Brain
from sb.memory.gate.worth import importance, worth
from sb.memory.operator_view import Overseer
from sb.memory.quarantine.review import Quarantine
from sb.memory.salience import bearing
from sb.present.needs import review_need
from sb.stack.review_queue import ReviewQueue
from tests.conftest import CommandLine
from tests.memory.desk import Desk, desk  # noqa: F401 (a fixture)
from tests.rounds import rounds

DAY = 86_400.0
GRACE = Label("grace")
OLD, NEW, MADE = "the limit is 100 requests", "the limit is 200 requests", "wait a second for each batch"


def review(desk: Desk) -> Quarantine:  # noqa: F811
    return Quarantine(desk.space, desk.log, Authority(desk.config.operators.file, desk.log))


def state(desk: Desk, uid: str) -> str:  # noqa: F811
    return str(desk.row(uid)["state"])


def recalled(brain: Brain, uid: str, times: int) -> None:
    for _ in range(times):
        brain.get(uid)


def important(desk: Desk, uid: str) -> float:  # noqa: F811
    number = desk.row(uid)["id"]
    found: float = desk.space.reads.importance([number]).get(number, 0.0)
    return found


def test_importance_is_recalls_times_the_steps_of_what_was_made_of_it(desk: Desk) -> None:  # noqa: F811
    brain = desk.brain()
    first = brain.remember(OLD)
    recalled(brain, first, 20)
    assert important(desk, first) == 0  # nothing was made of it
    second = brain.remember(MADE, derived_from=[first])
    third = brain.remember("batches are sent one by one", derived_from=[second, first])
    assert (important(desk, first), important(desk, second)) == (40, 0)
    recalled(brain, second, 3)
    assert important(desk, second) == 3
    with desk.database.write() as execute:
        desk.space.reads.fold(execute)
    stored = "SELECT ewc_importance FROM record_stats JOIN records ON id = record WHERE uid = ?"
    assert desk.database.query(stored, (first,)) == [(40.0,)]
    brain.forget(third)
    assert important(desk, first) == 20
    edges = "INSERT INTO edges (source, relation, target, place, agent, created_at) VALUES (?, 'derived_from', ?, 1, '', 0)"
    with desk.database.write() as execute:  # a circle is as deep as counts, not endless
        execute(edges, (desk.row(first)["id"], desk.row(second)["id"]))
    assert important(desk, first) == 20 * 8


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1e6), st.floats(0, 1e6))
def test_what_would_displace_a_bearing_memory_is_worth_less(
    likeness: float, recent: float, trust: float, one: float, other: float
) -> None:
    less, more = sorted((bearing(one), bearing(other)))
    assert 0 <= less <= more <= 1
    known = GateSettings()
    assert importance(known, trust, more) <= importance(known, trust, less) <= importance(known, trust)
    assert worth(known, likeness, recent, trust, more) <= worth(known, likeness, recent, trust, less)


def test_an_important_memory_is_not_displaced_by_an_agent_alone(desk: Desk) -> None:  # noqa: F811
    brain = desk.brain()
    old = brain.remember(OLD)
    brain.remember(MADE, derived_from=[old])
    recalled(brain, old, 33)
    new = brain.correct(old, NEW)
    assert (state(desk, old), brain.quarantined) == ("active", (new,))
    (waiting,) = brain.collapses(status="pending")
    assert waiting.held.endswith(f"{old} is important (33: recalls times steps that rest on it)")
    operator = Overseer(database=desk.database, config=desk.config, clock=desk.clock)
    assert state(desk, operator.correct(old, "there is no limit of requests")) == "active"
    assert state(desk, old) == "superseded"


def used(desk: Desk, times: int, *more: str) -> tuple[Brain, str, str]:  # noqa: F811
    """A memory, and one that was made of it and recalled so often."""
    brain = desk.brain()
    old = brain.remember(OLD)
    made = brain.remember(MADE, derived_from=[old, *more])
    recalled(brain, made, times)
    return brain, old, made


def test_a_correction_that_takes_the_support_of_what_is_in_use_waits_and_is_on_record(desk: Desk) -> None:  # noqa: F811
    brain, old, made = used(desk, 4)
    new = brain.correct(old, NEW, "so I heard")
    assert [state(desk, uid) for uid in (old, made, new)] == ["active", "active", "quarantined"]
    (waiting,) = brain.collapses(status="pending")
    (refusal,) = waiting.interference
    assert (refusal["id"], refusal["remaining"], refusal["threshold"]) == (made, 0, 3)
    assert refusal["former"] == pytest.approx(4, abs=0.01)
    assert f"{made}, which is in use, would lose its support (4.0 to 0.0, least 3)" in waiting.held
    assert desk.database.query("SELECT count(*) FROM pii_audit") == [(1,)]
    review(desk).release([review(desk).show(new)], by=GRACE, reason="checked")
    assert [state(desk, uid) for uid in (old, made, new)] == ["superseded", "superseded", "active"]
    assert brain.collapses(1)[0].status == "standing"


def test_what_is_hardly_used_or_was_used_long_ago_falls(desk: Desk) -> None:  # noqa: F811
    brain, old, made = used(desk, 2)
    assert state(desk, brain.correct(old, NEW)) == "active"
    assert state(desk, made) == "superseded"
    old = brain.remember("the vendor answers on Fridays")
    made = brain.remember("mail the vendor on Thursdays", derived_from=[old])
    recalled(brain, made, 5)
    desk.clock.time += 60 * DAY  # a half-life
    assert state(desk, brain.correct(old, "the vendor answers on Mondays")) == "active"
    assert state(desk, made) == "superseded"


def test_a_source_that_stands_counts_by_its_age(desk: Desk) -> None:  # noqa: F811
    other = desk.brain().remember("the vendor counts requests by the second")
    brain, old, made = used(desk, 7, other)
    assert state(desk, brain.correct(old, NEW)) == "active"  # half of seven is enough
    assert state(desk, made) == "active"
    desk.clock.time += 60 * DAY
    old = desk.brain().remember("the limit is 300 requests", force=True)
    made = desk.brain().remember("batches are sent one by one", derived_from=[old, other])
    recalled(brain, made, 7)
    assert state(desk, brain.correct(old, "the limit is 400 requests")) == "quarantined"  # a third of it


def test_at_zero_the_gate_holds_nothing_back(home: Path) -> None:
    desk = Desk(home, memory="interference: 0")  # noqa: F811
    brain, old, made = used(desk, 9)
    assert state(desk, brain.correct(old, NEW)) == "active"
    assert state(desk, made) == "superseded"
    desk.close()


def test_a_dismissed_correction_changes_nothing_and_is_decided(desk: Desk) -> None:  # noqa: F811
    brain, old, made = used(desk, 4)
    new = brain.correct(old, NEW)
    item = review(desk).show(new)
    assert item.replaces == {old: OLD}
    with pytest.raises(DeniedError, match="cannot release it"):
        review(desk).release([item], by=Label(brain.agent_id), reason="mine")
    assert review(desk).dismiss([item], by=GRACE, reason="a rumour").verdict == "dismissed"
    assert [state(desk, uid) for uid in (old, made, new)] == ["active", "active", "quarantined"]
    assert brain.collapses(1)[0].status == "dismissed"
    assert review(desk).items() == []
    assert ReviewQueue(desk.database).waiting() == []
    assert new not in [hit.id for hit in brain.search("limit requests", history=True)]
    (gone,) = review(desk).items(purged=True)
    assert (gone.verdict, gone.replaces) == ("dismissed", {})
    for decide in (review(desk).release, review(desk).purge, review(desk).dismiss):
        with pytest.raises(NotFoundError, match="was dismissed"):
            decide([gone], by=GRACE, reason="again")
    assert [event.kind for event in desk.log.events(kind="memory.dismissed")] == ["memory.dismissed"]


def test_a_purged_correction_waits_no_longer_and_what_corrects_nothing_is_not_dismissed(desk: Desk) -> None:  # noqa: F811
    brain, old, _ = used(desk, 4)
    new = brain.correct(old, NEW)
    review(desk).purge([review(desk).show(new)], by=GRACE, reason="an attack")
    assert brain.collapses(status="pending") == []
    page = brain.remember("the vendor closes on Fridays", source_type="web-page")
    with pytest.raises(NotFoundError, match="corrects nothing"):
        review(desk).dismiss([review(desk).show(page)], by=GRACE, reason="no")


def test_a_pending_correction_waits_once_and_says_what_it_replaces(desk: Desk) -> None:  # noqa: F811
    brain, old, _ = used(desk, 4)
    new = brain.correct(old, NEW)
    (item,) = ReviewQueue(desk.database).items()
    assert (item.reference, item.held) == (new, brain.collapses(1)[0].held)
    need = review_need(item, 0)
    assert (need.command, "would lose its support" in need.why) == (f"sb memory pending show {new}", True)


def test_pending_corrections_by_command(
    desk: Desk,  # noqa: F811
    sb: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SB_HOME", str(desk.home))
    brain, old, made = used(desk, 4)
    new = brain.correct(old, NEW)
    (listed,) = sb("memory", "pending", "list", "--json").json["items"]
    assert (listed["winner"], listed["status"], listed["interference"][0]["id"]) == (new, "pending", made)
    assert "in use" in sb("memory", "pending", "show", listed["id"][:-2]).out
    assert sb("memory", "pending", "show", new, "--json").json == listed
    assert (
        sb("memory", "pending", "list", "--agent", "bob", "--json").json["items"][0]["winner_content"] != NEW
    )
    for verb in ("accept", "dismiss"):
        assert sb("memory", "pending", verb, "col_none", "--reason", "r", "--yes").code == 1
        assert sb("memory", "pending", verb, listed["id"], "--yes").code == 2  # no reason
    own = sb("memory", "pending", "accept", new, "--reason", "r", "--yes", "--as", brain.agent_id)
    assert own.code != 0
    assert state(desk, old) == "active"
    done = sb("memory", "pending", "accept", "--all", "--reason", "checked", "--yes", "--json")
    assert done.json["verdict"] == "safe", done.err
    assert (state(desk, old), state(desk, new)) == ("superseded", "active")
    assert sb("memory", "pending", "dismiss", "--all", "--reason", "r", "--yes").code == 1
    assert "no correction is pending" in sb("memory", "pending", "list").err


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    """Memories, each made of former ones, with their uses and ages; one of them is corrected."""
    size = draw(st.integers(1, 6))
    made = [draw(st.lists(st.integers(0, number - 1), max_size=2, unique=True)) if number else []
            for number in range(size)]  # fmt: skip
    return {
        "made": made,
        "uses": draw(st.lists(st.integers(0, 5), min_size=size, max_size=size)),
        "gaps": draw(st.lists(st.sampled_from((0, 5, 60, 200)), min_size=size, max_size=size)),
        "protected": draw(st.sets(st.integers(0, size - 1), max_size=1)),
        "old": draw(st.integers(0, size - 1)),
    }


def reads(desk: Desk) -> list[list[str]]:  # noqa: F811
    """The ids of all that an agent reads by default; in no order, since each read is a recall that moves others."""
    brain = desk.brain("reader")
    found = [[hit.id for hit in brain.search(query, 20)] for query in ("claim number", "what holds instead")]
    shown = brain.orient(repeat=True)
    listed = [[item.id for item in part] for part in (shown.decisions, shown.memories)]
    return [sorted(part) for part in (*found, *listed, [item.id for item in brain.think("claim number")])]


def expected(graph: dict[str, Any], uses: list[int], at: list[float], last: list[float], now: float) -> bool:
    """True if an agent's correction has to wait, by a second reading of the rules."""
    made, old = graph["made"], graph["old"]
    below, gone = {old}, {old}
    for _ in made:
        below |= {number for number, sources in enumerate(made) if set(sources) & below}
        gone |= {number for number, sources in enumerate(made) if sources and set(sources) <= gone}
    if gone & graph["protected"]:
        return True

    def steps(number: int) -> int:
        return max((1 + steps(other) for other, sources in enumerate(made) if number in sources), default=0)

    if 0.5 * min(1.0, log2(1 + uses[old] * steps(old)) / 10) > 0.25:
        return True
    for number in below - {old}:
        score = round(uses[number] * 0.5 ** ((now - last[number]) / DAY / 60), 2)
        weights = {source: 0.5 ** ((now - at[source]) / DAY / 60) for source in made[number]}
        left = sum(weight for source, weight in weights.items() if source not in gone) / sum(weights.values())
        if score >= 3 and score * left < 3:
            return True
    return False


@pytest.mark.prove
@settings(max_examples=rounds(15), deadline=None)
@given(graphs())
def test_only_an_admitted_correction_succeeds_and_a_pending_one_changes_no_read(
    graph: dict[str, Any],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder) / "home")
        writer, uids, at = desk.brain("ada"), list[str](), list[float]()
        for number, sources in enumerate(graph["made"]):
            desk.clock.time += graph["gaps"][number] * DAY
            text = f"claim number {'abcdef'[number] * 3} of the shop"
            uids.append(writer.remember(text, force=True, derived_from=[uids[source] for source in sources]))
            at.append(desk.clock.time)
        for number, times in enumerate(graph["uses"]):
            recalled(writer, uids[number], times)
        for number in graph["protected"]:
            writer.protect(uids[number])
            at[number] = desk.clock.time
        before, loser = reads(desk), uids[graph["old"]]
        recalls = desk.space.recalls([desk.row(uid)["id"] for uid in uids])
        found = [recalls.get(desk.row(uid)["id"], (0, 0.0)) for uid in uids]
        uses, last = [times for times, _ in found], [moment for _, moment in found]
        waits = expected(graph, uses, at, last, desk.clock.time)
        new = writer.correct(loser, "what holds instead of a claim")
        assert (state(desk, new) == "quarantined") == waits
        if waits:
            assert reads(desk) == before
            assert state(desk, loser) == "active"
        else:
            assert new in reads(desk)[1]
            assert all(loser not in part for part in reads(desk))
        desk.close()
