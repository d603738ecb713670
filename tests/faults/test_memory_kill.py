"""A memory whose writer is killed, at any statement of any way of writing, stays whole.

The process is a fork that kills itself with SIGKILL when SQLite begins the n-th statement of one operation.
"""

from __future__ import annotations

import os
import signal
import sqlite3  # noqa: TID251 (what another program reads the file with)
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sb.config import Config, load_config
from sb.errors import CheckFailed, NotFoundError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Label
from sb.log.event_log import EventLog
from sb.memory import Brain
from sb.memory.bundle_import import load
from sb.memory.bundles import export
from sb.memory.checks import check
from sb.memory.erasure import erase
from sb.memory.housekeeping import tidy
from sb.memory.quarantine.review import Quarantine
from sb.memory.trust.deciding import TrustDesk
from sb.store import driver
from sb.store.database import Database
from sb.store.embedding.selection import choose

KILLS = 6  # of each operation, spread over its statements
SHOP = "project:shop"


@dataclass
class Home:
    """A home with a few memories, which is copied for each kill.

    Args:
        known: ids by name. content: what its database begins with.
    """

    config: Config
    bundle: Path
    known: dict[str, str]
    content: bytes = b""

    def restore(self) -> None:
        file = self.config.database
        for path in file.parent.glob(f"{file.name}*"):
            path.unlink()
        file.write_bytes(self.content)

    def brain(self) -> Brain:
        return Brain("ada", config=self.config, scope=SHOP, session="monday")

    def brain_of(self, database: Database) -> Brain:
        return Brain("ada", config=self.config, database=database, scope=SHOP, session="monday")

    def log(self, brain: Brain) -> EventLog:
        return EventLog(brain.database)


def imports(home: Home, brain: Brain) -> None:
    log = home.log(brain)
    load(
        brain.space,
        log,
        home.bundle,
        Authority(home.config.operators.file, log),
        actor="ada",
        into="team:web",
        embed=True,
    )


def erases(home: Home, brain: Brain) -> None:
    erase(brain.space, home.log(brain), [home.known["told"]], actor="ada", reason="why", with_handoffs=True)


def recovers(home: Home, brain: Brain) -> None:
    for change in (brain.forget, brain.recover):
        with suppress(NotFoundError):  # it was done before the kill
            change(home.known["told"], "why")


def splits(home: Home, brain: Brain) -> None:
    """Restate a memory in another text, take that out, and merge it again."""
    OPERATIONS["restate"](home, brain)
    known = brain.space.records.known([home.known["told"]])[home.known["told"]]
    for row in list(brain.space.records.rows(brain.space.evidence.texts([known["id"]]))):
        brain.split(row["uid"], "why")
        brain.split(row["uid"], "why", revert=True)


def assesses(home: Home, brain: Brain) -> None:
    log = home.log(brain)
    trust = TrustDesk(brain.space, log, Authority(home.config.operators.file, log))
    trust.assess("default", "bob", "general", 0.2, by=Label("grace"), reason="why")


def corrects(home: Home, brain: Brain) -> None:
    with suppress(NotFoundError):  # it was done before the kill
        brain.correct(home.known["told"], "the limit is 200 requests in 15 seconds", "raised")


def reverts(home: Home, brain: Brain) -> None:
    with suppress(CheckFailed):
        brain.revert(home.known["collapse"], "it was a rumour")


def decides(verb: str, home: Home, brain: Brain) -> None:
    log = home.log(brain)
    quarantine = Quarantine(brain.space, log, Authority(home.config.operators.file, log))
    with suppress(NotFoundError):  # it was decided before the kill
        getattr(quarantine, verb)([quarantine.show(home.known["pending"])], by=Label("grace"), reason="why")


OPERATIONS: dict[str, Callable[[Home, Brain], object]] = {
    "remember": lambda home, brain: brain.remember("new words", speaker="Bob", derived_from=[home.known["told"]]),
    "private": lambda home, brain: brain.remember("new words", private=True),
    "restate": lambda home, brain: brain.remember("In 15 seconds the limit is 100 requests.", speaker="Ann"),
    "split": splits,
    "refute": lambda home, brain: brain.refute(home.known["told"]),
    "assess": assesses,
    "entity": lambda home, brain: brain.entity("orders", "service", observations=["new words"]),
    "relate": lambda home, brain: brain.relate("orders", "needs", home.known["told"]),
    "wrap_up": lambda home, brain: brain.wrap_up("new words"),
    "resume": lambda home, brain: brain.resume(),
    "search": lambda home, brain: brain.search("limit"),
    "recover": recovers,
    "correct": corrects,
    "revert": reverts,
    "accept": partial(decides, "release"),
    "dismiss": partial(decides, "dismiss"),
    "erase": erases,
    "import": imports,
    "tidy": lambda home, brain: tidy(brain.space),
}  # fmt: skip


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """The home that every operation begins with, made once."""
    place = tmp_path_factory.mktemp("shop")

    def configured(folder: Path) -> Config:
        folder.mkdir(mode=0o700)
        return load_config(env={"SB_HOME": str(folder), "HOME": str(folder)}, cwd=folder, flags={})

    elsewhere = configured(place / "elsewhere")
    choose(elsewhere.memory)  # loaded before the forks
    with Brain("bob", config=elsewhere, scope=SHOP) as brain:
        for number in range(3):
            brain.entity(f"part {number}", "concept", observations=["it came from elsewhere"])
        brain.relate("part 1", "before", "part 2")
        log = EventLog(brain.database)
        export(brain.space, log, place / "bundle", by=Label("bob"), stack="default")
    made = Home(configured(place / "home"), place / "bundle", {})
    with made.brain() as brain:
        brain.log("ship the fetcher", "task_update")
        made.known["told"] = brain.remember("the limit is 100 requests in 15 seconds", speaker="Ann")
        brain.entity("orders", "service", observations=["answers 429"])
        brain.log("pagination is not yet there", "warning")
        brain.relate("orders", "has", made.known["told"])
        brain.remember("wait a while for the limit", derived_from=[made.known["told"]])
        wrong = brain.remember("the shop opens at nine")
        brain.remember("be there at nine", derived_from=[wrong])
        brain.correct(wrong, "the shop opens at ten")
        made.known["collapse"] = brain.collapses()[0].id
        rule = brain.remember("deploys go out on Tuesdays")
        brain.protect(rule)
        made.known["pending"] = brain.correct(rule, "deploys go out on Mondays")
        brain.handoff("the limit is 100 requests in 15 seconds", "it works", [], "go on")
        brain.search("limit")
        for number in range(60):
            brain.remember(f"fact {number} of the shop")
    with closing(sqlite3.connect(made.config.database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    made.content = made.config.database.read_bytes()
    return made


def died(home: Home, operation: str, at: int) -> bool:
    """True if the operation was killed at its statement of that number, in a process of its own."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _die_at(at, partial(OPERATIONS[operation], home), home)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def _die_at(at: int, operation: Callable[[Brain], object], home: Home) -> None:
    begun = 0

    def trace(statement: str) -> None:
        nonlocal begun
        begun += 1
        if begun == at:
            os.kill(os.getpid(), signal.SIGKILL)

    brain = home.brain()
    brain.database._normal.set_trace_callback(trace)
    operation(brain)


def statements(home: Home, operation: str) -> Iterator[int]:
    """Some of an operation's statements, by number: the first, the last ones, and some in between."""
    counted = 0

    def count(statement: str) -> None:
        nonlocal counted
        counted += 1

    with closing(home.brain().database) as database:
        brain = home.brain_of(database)
        database._normal.set_trace_callback(count)
        OPERATIONS[operation](home, brain)
    step = max(1, counted // KILLS)
    yield from range(counted, 0, -step)


def unsound(home: Home) -> list[Any]:
    """Faults of the file: there are none."""
    with closing(home.brain().database) as database:
        brain = Brain("ada", config=home.config, database=database)
        database.use_vectors()
        found: list[Any] = [finding for finding in check(brain.space) if finding.status != "ok"]
        found += database.query("PRAGMA foreign_key_check")
        found += database.query(
            "SELECT 'vector', v.record FROM vectors AS v JOIN records AS r ON r.id = v.record WHERE r.state <> 'active'"
            " UNION ALL SELECT 'bits', b.record FROM record_bits AS b LEFT JOIN records AS r ON r.id = b.record"
            " WHERE r.state IS NOT 'active' OR r.place <> b.place"
            " UNION ALL SELECT 'no bits', v.record FROM vectors AS v WHERE v.record NOT IN (SELECT record FROM record_bits)"
        )
        model = brain.space.usable_embedder
        assert model is not None
        found += brain.space.vectors.stale(model.model, 100)
        found += database.query(
            "SELECT name, value FROM index_state WHERE name = 'records'"
            " AND value <> (SELECT count(*) FROM records WHERE state <> 'erased')"
        )
        found += database.query(  # what the gate merged is merged whole: evidence, and the confidence that follows
            "SELECT 'evidence', e.record FROM record_evidence AS e WHERE e.weight > 0 GROUP BY e.record HAVING count(*) <>"
            " (SELECT sum(CASE h.operation WHEN 'split' THEN -1 ELSE 1 END) FROM record_history AS h WHERE h.record = e.record"
            " AND h.former LIKE '%\"confidence\"%')"
        )
        found += database.query(  # what fell did so with its event, and with what replaced it
            "SELECT 'collapse', c.uid FROM belief_collapse_events AS c JOIN records AS l ON l.id = c.loser"
            " JOIN records AS w ON w.id = c.winner WHERE c.status = 'standing' AND (l.state <> 'superseded' OR w.state <> 'active'"
            " OR NOT EXISTS (SELECT 1 FROM belief_collapse_items AS i WHERE (i.collapse, i.record) = (c.id, c.loser))"
            " OR NOT EXISTS (SELECT 1 FROM edges AS e WHERE (e.source, e.relation, e.target) = (c.winner, 'supersedes', c.loser)))"
            " UNION ALL SELECT 'fell', r.uid FROM records AS r WHERE r.state = 'superseded' AND NOT EXISTS (SELECT 1"
            " FROM belief_collapse_items AS i WHERE i.record = r.id AND i.restored = 0)"
            " AND r.id NOT IN (SELECT source FROM edges WHERE relation = 'merged_into')"  # unless it is a restatement
        )
    with closing(sqlite3.connect(home.config.database)) as other:  # the standard library's SQLite
        other.execute("INSERT INTO record_index (record_index, rank) VALUES ('integrity-check', 1)")
    return found


@pytest.mark.skipif(not driver.EXTENSIONS, reason="this SQLite loads no extensions")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_process_that_is_killed_while_it_writes_leaves_a_sound_memory(shop: Home, operation: str) -> None:
    shop.restore()
    for at in list(statements(shop, operation)):
        shop.restore()
        assert died(shop, operation, at), at
        assert unsound(shop) == [], at
        with closing(shop.brain().database) as database:  # it can be done again
            OPERATIONS[operation](shop, shop.brain_of(database))
        assert unsound(shop) == [], at
