"""No resurrection: what was corrected is in no default read unmarked, however it might come back."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.errors import NotFoundError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Label
from sb.memory import Brain
from sb.memory.bundle_import import load
from sb.memory.bundles import export
from sb.memory.housekeeping import tidy
from sb.memory.markdown import markdown
from sb.memory.operator_view import Overseer
from sb.memory.quarantine.review import Quarantine
from sb.memory.views import Memory
from sb.protocols.types import Belief, Note, RawEntry
from sb.stack import SQLiteStack
from tests.memory.desk import Desk
from tests.memory.test_quarantine import BY

WORD = "zanzibar"
OLD, NEW = "Zanzibar is the staging host of the shop", "Quetta is the staging host of the shop"
SCOPE = "global"
QUESTION = "which is the staging host? Zanzibar?"


@dataclass
class Corrected:
    """A home in which a fact was corrected, with a bundle and a copy from before.

    Args:
        part: a summary that rests on the old fact and on another one.
    """

    desk: Desk
    folder: Path
    old: str
    new: str
    part: str

    def brain(self, agent: str, **more: str) -> Brain:
        return self.desk.brain(agent, scope=SCOPE, **more)

    def stack(self) -> SQLiteStack:
        return SQLiteStack(
            "default",
            database=self.desk.database,
            config=self.desk.config,
            components=[],
            enforce_provenance=False,
            remote=self.folder / "older.db",
            clock=self.desk.clock,
        )


def corrected(folder: Path) -> Corrected:
    desk = Desk(folder / "home")
    with_session = desk.brain("ada", scope=SCOPE, session="ses_one")
    raw = with_session.log(OLD)
    old = with_session.remember(OLD, derived_from=[raw])
    with_session.remember("deploys go to Zanzibar first", derived_from=[old])
    bears = with_session.remember("deploys go out on Tuesdays")
    part = with_session.remember("Zanzibar takes deploys on Tuesdays", derived_from=[old, bears])
    with_session.remember("open: Zanzibar needs to be patched", derived_from=[old])
    desk.brain("bob", scope=SCOPE).remember("zanzibar is staging host of the shop.", private=True)
    export(desk.space, desk.log, folder / "older.memory", by=BY, stack="default")
    desk.database.query("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(desk.config.database, folder / "older.db")
    other = desk.brain("ada", scope=SCOPE)
    return Corrected(desk, folder, old, other.correct(old, NEW, "moved"), part)


def reads(at: Corrected) -> Iterator[tuple[str, object]]:
    """Every default read, with the memories or the text that it gives."""
    desk, places = at.desk, {"stack": "default"}
    for agent in ("ada", "bob", "carol"):
        brain = at.brain(agent)
        yield f"search of {agent}", brain.search(QUESTION, 50, context=2)
        yield f"search of {agent} by rank", brain.search(QUESTION, 50, fusion=True, benchmark=True)
        yield f"think of {agent}", brain.think(QUESTION)
        yield f"orient of {agent}", at.brain(agent).orient(query=QUESTION, token_budget=5_000)
        yield f"orient of {agent} without a question", at.brain(agent).orient(token_budget=5_000).as_text()
    yield (
        "operator's search",
        Overseer(database=desk.database, config=desk.config, clock=desk.clock).search(QUESTION, 50),
    )
    yield "wrap up", str(at.brain("ada", session="ses_one").wrap_up("done"))
    yield "markdown", "".join(markdown(desk.space, **places))
    stack = at.stack()
    yield "stack search", str([hit.content for hit in stack.search(QUESTION, limit=50)])
    yield "stack load", str(stack.load())
    yield "beliefs", str(stack.get_beliefs(include_weak=True, include_forgotten=True))
    yield "notes", str(stack.get_notes(include_forgotten=True))
    yield "episodes", str(stack.get_episodes(include_forgotten=True))
    yield "raw", str(stack.get_raw())
    yield "dump", stack.dump()
    yield "dump in JSON", stack.dump(format="json")
    whole = json.loads(stack.dump(format="json", include_forgotten=True))
    yield "whole dump", [item for name in whole if isinstance(whole[name], list) for item in whole[name]]


def unmarked(at: Corrected, given: Any) -> list[str]:
    """The texts with the old word that a read gives as if they held."""
    if isinstance(given, str):  # a text has no room for marks but that of orient
        return [line for line in given.splitlines() if WORD in plainly(at, line).lower()]
    if isinstance(given, dict):
        fallen = not given.get("is_active", True)
        return [] if fallen or given["id"] == at.part else [str(given)] * (WORD in str(given).lower())
    if isinstance(given, Memory):
        around = [*getattr(given, "before", ()), *getattr(given, "after", ())]
        marked = given.superseded_by or given.corrected_by
        own = [given.content] if WORD in given.content.lower() and not marked else []
        return own + [text for item in around for text in unmarked(at, item)]
    parts = (*given.decisions, *given.memories) if hasattr(given, "memories") else given
    return [text for item in parts for text in unmarked(at, item)]


def plainly(at: Corrected, line: str) -> str:
    """A line of a text without what stands, since it rests on something else too."""
    if "partly corrected by" in line:
        return ""
    return line.replace("Zanzibar takes deploys on Tuesdays", "")


def echo(agent: str, text: str = OLD, **more: Any) -> Callable[[Corrected], object]:
    return lambda at: at.brain(agent).remember(text, **more)


def imports_a_bundle(at: Corrected) -> None:
    authority = Authority(at.desk.config.operators.file, at.desk.log)
    load(at.desk.space, at.desk.log, at.folder / "older.memory", authority, actor="ada")


def imports_a_strangers_bundle(at: Corrected) -> None:
    """Another home says the same under other ids."""
    home = Path(tempfile.mkdtemp(dir=at.folder))
    other = Desk(home / "other")
    other.brain("dan", scope=SCOPE).remember(OLD)
    export(other.space, other.log, home / "other.memory", by=BY, stack="default")
    other.close()
    authority = Authority(at.desk.config.operators.file, at.desk.log)
    load(at.desk.space, at.desk.log, home / "other.memory", authority, actor="ada")


def updates(at: Corrected) -> None:
    stack = at.stack()
    belief = stack.get_memory("belief", at.old)
    assert isinstance(belief, Belief)
    assert (belief.is_active, belief.superseded_by) == (False, at.new)
    belief.confidence = 0.9
    assert stack.update_record("belief", belief)


def quarantines(at: Corrected) -> None:
    desk = at.desk
    review = Quarantine(desk.space, desk.log, Authority(desk.config.operators.file, desk.log))
    review.add([at.old], by=BY, reason="looked at")
    review.release(review.items(), by=Label("grace"), reason="harmless")  # what was derived from it, too


def recovers(at: Corrected) -> None:
    with pytest.raises(NotFoundError, match=f"superseded by {at.new}"):
        at.brain("ada").recover(at.old)
    with suppress(NotFoundError):
        at.stack().recover_memory("belief", at.old)
    at.stack().verify_memory("belief", at.old)
    at.stack().record_access("belief", at.old)


REVIVALS: dict[str, Callable[[Corrected], object]] = {
    "same agent": echo("ada"),
    "another agent": echo("bob"),
    "privately": echo("carol", private=True),
    "other case": echo("bob", "zanzibar is the STAGING host of a shop!"),
    "forced": echo("carol", force=True),
    "housekeeping": lambda at: tidy(at.desk.space),
    "forgetting": lambda at: at.stack().apply_forgetting(),
    "older bundle": imports_a_bundle,
    "stranger's bundle": imports_a_strangers_bundle,
    "older copy": lambda at: at.stack().sync(),
    "saved as belief": lambda at: at.stack().save_belief(Belief("", "default", OLD)),
    "saved as note": lambda at: at.stack().save_note(Note("", "default", OLD)),
    "captured": lambda at: at.stack().save_raw(RawEntry("", "default", OLD)),
    "updated": updates,
    "quarantined and released": quarantines,
    "recovered": recovers,
    "years later": lambda at: at.desk.clock.sleep(3e8),
}  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(sorted(REVIVALS)), max_size=5, unique=True))
def test_what_was_corrected_comes_back_by_no_way(ways: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        at = corrected(Path(folder))
        try:
            for way in ways:
                REVIVALS[way](at)
            found = {name: unmarked(at, given) for name, given in reads(at)}
            assert {name: texts for name, texts in found.items() if texts} == {}
            assert any(hit.id == at.new for hit in at.brain("carol").search(QUESTION, 50))
            past = [hit for hit in at.brain("ada").search(QUESTION, 50, history=True) if hit.superseded_by]
            assert at.old in [hit.id for hit in past]
        finally:
            at.desk.close()


@pytest.mark.parametrize("way", sorted(REVIVALS))
def test_each_way_by_itself(tmp_path: Path, way: str) -> None:
    at = corrected(tmp_path)
    REVIVALS[way](at)
    assert {name: texts for name, given in reads(at) if (texts := unmarked(at, given))} == {}
    at.desk.close()


def test_the_reads_show_the_old_text_before_it_is_corrected(tmp_path: Path) -> None:
    """Or else the tests above could not fail."""
    at = corrected(tmp_path)
    at.brain("ada").revert(at.brain("ada").collapses(1)[0].id)
    silent = {name for name, given in reads(at) if not unmarked(at, given)}
    assert silent == {"notes", "raw"}  # where nobody has said it
    at.desk.close()


def test_orient_marks_what_partly_rests_on_what_was_corrected(tmp_path: Path) -> None:
    at = corrected(tmp_path)
    (line,) = (line for line in at.brain("ada").orient().as_text().splitlines() if at.part in line)
    assert f"partly corrected by {at.new}" in line
    at.desk.close()


def test_what_happens_after_a_correction_stands_and_is_marked(tmp_path: Path) -> None:
    """An event of the same words may be another one; whoever finds it is told."""
    at = corrected(tmp_path)
    later = at.brain("bob").log(OLD)
    (hit,) = (hit for hit in at.brain("ada").search(QUESTION, 50) if hit.id == later)
    assert (hit.superseded_by, hit.corrected_by) == ("", at.new)
    at.desk.close()


def test_what_says_so_in_a_wider_scope_stands_and_is_marked(home: Path) -> None:
    """Others read it there who do not see what corrected it."""
    desk = Desk(home)
    before = desk.brain("bob").remember(OLD)
    old = desk.brain("ada", scope="project:shop").remember(OLD)
    new = desk.brain("ada", scope="project:shop").correct(old, NEW)
    after = desk.brain("bob").remember(OLD, force=True)
    marks = {hit.id: hit.corrected_by for hit in desk.brain("carol", scope="project:shop").search(QUESTION)}
    assert marks == {before: new, after: new, new: ""}
    desk.close()


def test_history_comes_last_and_says_what_replaced_it(tmp_path: Path) -> None:
    at = corrected(tmp_path)
    hits = at.brain("ada").search(QUESTION, 10, history=True)
    marks = [hit.superseded_by for hit in hits]
    assert marks == sorted(marks)
    assert set(filter(None, marks)) == {at.new}
    at.desk.close()
