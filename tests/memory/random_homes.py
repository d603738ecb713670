"""Random homes: agents, scopes, settings and memories, and what each way to memory shows of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson

from sb.base.sources import SteeredClock
from sb.config import Config
from sb.config.home import Home
from sb.config.model import BY_KEY, assemble
from sb.config.scopes import scopes_of
from sb.errors import DeniedError, NotFoundError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Label
from sb.log.event_log import EventLog
from sb.mcp.memory_tools import MemoryTools
from sb.memory import Brain, tables
from sb.memory.bundles import export
from sb.memory.markdown import markdown
from sb.memory.operator_view import Overseer
from sb.memory.personal_data import PersonalDataRefused
from sb.memory.space import Space
from sb.memory.trust.deciding import TrustDesk
from sb.protocols.types import Note
from sb.stack import SQLiteStack
from sb.store.database import open_database
from tests.memory.access_model import DAY_S, RIGHTS, Model, ModelRow

AGENTS = ("ada", "support-1", "support-2", "eve")
SCOPES = ("global", "customer:a", "customer:ab", "project:x", "team:t")
# Two of them are as long, and one is longer than the scope that it means.
PATTERNS = (*SCOPES, "*", "customer:*", "*er:a*", "cu*:a*", "customer:ab*", "project:*")
AGENT_PATTERNS = ("ada", "eve", "support-1", "support-*", "*")
PEOPLE = ("grace", "henry")
PHONE = "+49 171 5550199"
PLANTED = 8  # memories of a home


class Charters:
    """Charters that refuse some scopes to some agents."""

    def __init__(self, refused: frozenset[tuple[str, str]]) -> None:
        self._refused = refused

    def __call__(self, agent: str, scope: str) -> str:
        return f"the charter of {agent} has no {scope}" if (agent, scope) in self._refused else ""

    def rules(self, agent: str) -> str:
        return repr(sorted(pair for pair in self._refused if pair[0] == agent))


def settings(seed: random.Random) -> dict[str, Any]:
    """Random settings of memory, as plain values."""

    def some(names: tuple[str, ...], most: int) -> list[str]:
        return seed.sample(names, seed.randint(0, most))

    kinds: dict[str, Callable[[], Any]] = {
        "consent": lambda: seed.random() < 0.7,
        "max_age": lambda: seed.choice((0, 30 * DAY_S)),
        "purpose": lambda: "support",
        "personal_data": lambda: seed.choice(("keep", "redact", "drop", "escalate")),
        "includes": lambda: tuple(some(SCOPES, 2)),
        "trust_floor": lambda: seed.choice((0.0, 0.45, 0.6)),
        **dict.fromkeys(RIGHTS, lambda: tuple(some(AGENT_PATTERNS, 3))),
    }

    def rules(names: tuple[str, ...], most: int) -> dict[str, dict[str, Any]]:
        return {pattern: {name: kinds[name]() for name in some(names, 4)} for pattern in some(PATTERNS, most)}

    narrowing = rules((*RIGHTS, "trust_floor"), 2) if seed.random() < 0.3 else {}
    return {
        "layers": [rules(tuple(kinds), 5), narrowing],  # of a home, and of a project that nobody trusts
        "readers": some(AGENT_PATTERNS, 2) if seed.random() < 0.4 else ["*"],
        "sync_scopes": some(PATTERNS, 3) if seed.random() < 0.3 else ["*"],
    }


def configured(where: Home, given: Mapping[str, Any]) -> Config:
    """The configuration of such settings."""
    home, project = map(scopes_of, given["layers"])
    narrow = BY_KEY["memory.scopes"].narrow
    assert narrow is not None
    values = {
        "memory.embedder": "none",
        "memory.scopes": narrow.apply(home, project)[0],
        "memory.personal_data_readers": tuple(given["readers"]),
        "memory.sync_scopes": tuple(given["sync_scopes"]),
    }
    return assemble(where, values, {}, ())


class RandomHome:
    """One database with random memories, looked at under random settings."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.clock = SteeredClock()
        self.home = Home(folder / "home")
        self.plain = assemble(self.home, {"memory.embedder": "none"}, {}, ())  # nothing is limited in it
        self.database = open_database(folder / "brain.db", clock=self.clock)
        self.log = EventLog(self.database, clock=self.clock)
        self.planter = Overseer(database=self.database, config=self.plain, clock=self.clock)
        self._copies = 0
        self._plant()
        self.standings = self._assess()
        self.change()

    def change(self) -> None:
        """Other settings for the same memories."""
        self.given = settings(self.random)
        pairs = [(agent, scope) for agent in AGENTS for scope in SCOPES if scope != "global"]
        self.refused = frozenset(self.random.sample(pairs, self.random.choice((0, 0, 2, 4))))
        self.config = configured(self.home, self.given)
        self.model = self._model()

    def close(self) -> None:
        self.database.close()

    def _plant(self) -> None:
        chance, uids = self.random, list[str]()
        for number in range(PLANTED):
            scope = chance.choice(SCOPES)
            brain = Brain(
                chance.choice(AGENTS), database=self.database, config=self.plain, clock=self.clock, scope=scope,
            )  # fmt: skip
            word = f"lamp w{number}q"
            text = f"{word} is white, {PHONE}" if chance.random() < 0.3 else f"{word} is white"
            kind = chance.choice(("fact", "fact", "fact", "decision", "handoff"))
            if kind == "handoff":
                brain.handoff(text, "as it is", [], "wait", recipient=chance.choice(("", *AGENTS)))
                continue
            more: dict[str, Any] = {"private": chance.random() < 0.2, **self._people()}
            if uids and chance.random() < 0.3:
                more["derived_from"] = [chance.choice(uids)]
            sources = ("agent-written", "agent-written", "derived", "ingested-document", "web-page")
            if kind == "fact":
                uid = brain.remember(text, force=True, source_type=chance.choice(sources), **more)
            else:
                uid = brain.decide(text, "since it is", **more)
            if uid not in brain.quarantined:
                uids.append(uid)
                if chance.random() < 0.15:
                    self.planter.forget(uid, "gone")  # agents change nothing that they may not read
            self.clock.time += chance.choice((1, 1, 20 * DAY_S))

    def _people(self) -> dict[str, Any]:
        chance = self.random
        found: dict[str, Any] = {}
        if chance.random() < 0.4:
            found["subject_ids"] = chance.sample(PEOPLE, chance.randint(1, 2))
        if chance.random() < 0.3:
            found["consent_grants"] = chance.sample(PEOPLE, chance.randint(0, 2))
        if chance.random() < 0.25:
            found["access_grants"] = chance.sample(AGENTS, chance.randint(0, 2))
        return found

    def _assess(self) -> dict[str, float]:
        desk = TrustDesk(
            Space(self.database, self.plain.memory, clock=self.clock),
            self.log,
            Authority(self.plain.operators.file, self.log),
        )
        found = {}
        for agent in self.random.sample(AGENTS, self.random.randint(0, 2)):
            found[agent] = self.random.choice((0.1, 0.3, 0.5))
            desk.assess("default", agent, "general", found[agent], by=Label("ann"), reason="tried")
        return found

    def _model(self) -> Model:
        model = Model(
            **self.given,
            refused=self.refused,
            standings=self.standings,
            now=self.clock.now(),
        )
        up: dict[int, set[int]] = {}
        sql = "SELECT source, target FROM edges WHERE relation = 'derived_from' ORDER BY source"
        for source, target in self.database.query(sql):  # a source is older, so its own are known
            up.setdefault(source, set()).update({target, *up.get(target, ())})
        rows = self.database.query(
            "SELECT r.id, r.uid, r.text, r.kind, r.state, p.scope, p.owner, r.agent, r.source_type, r.updated_at, r.fields"
            " FROM records AS r JOIN places AS p ON p.id = r.place WHERE r.text LIKE 'lamp w%'"
        )
        for number, uid, text, kind, state, scope, owner, agent, source, at, fields in rows:
            model.rows[number] = ModelRow(
                number, uid, text.split()[1], kind, state, scope, owner, agent, source, at, orjson.loads(fields),
                frozenset(up.get(number, ())),
            )  # fmt: skip
        return model

    # What each way shows

    def brain(self, agent: str, scope: str) -> Brain:
        return Brain(
            agent, database=self.database, config=self.config, clock=self.clock, scope=scope,
            scope_refusal=Charters(self.refused),
        )  # fmt: skip

    def stack(self, agent: str, scope: str) -> SQLiteStack:
        made = SQLiteStack(
            "default", database=self.database, config=self.config, clock=self.clock, components=[],
            enforce_provenance=False, scope_refusal=Charters(self.refused),
        )  # fmt: skip
        made.view_as(agent, scope)
        return made

    def space(self) -> Space:
        """As commands of an operator have it."""
        return Space(
            self.database, self.config.memory, clock=self.clock, scope_refusal=Charters(self.refused)
        )

    def overseer(self) -> Overseer:
        return Overseer(database=self.database, config=self.config, clock=self.clock)

    def file(self) -> Path:
        self._copies += 1
        return self.folder / f"out{self._copies}"

    def each(self, ask: Callable[[str], Any]) -> str:
        """The answers about each memory by its id, without refusals."""
        found = []
        for row in self.model.rows.values():
            try:
                found.append(repr(ask(row.uid)))
            except (NotFoundError, DeniedError):
                continue
        return "\n".join(found)


def words_in(home: RandomHome, answer: str) -> set[str]:
    """The words of the memories that an answer holds."""
    return {row.word for row in home.model.rows.values() if f"{row.word} " in answer}


def _got(home: RandomHome, agent: str, scope: str) -> str:
    stack = home.stack(agent, scope)
    return home.each(lambda uid: [stack.get_memory(kind, uid) for kind in ("belief", "note")])


def _dumped(home: RandomHome, agent: str, scope: str) -> str:
    return home.stack(agent, scope).dump(format="json", include_forgotten=True)


def _exported(home: RandomHome, agent: str, scope: str) -> str:
    path = home.file()
    home.stack(agent, scope).export_stack(path)
    copy = open_database(path)
    try:
        return repr(copy.query("SELECT text FROM records"))
    finally:
        copy.close()


def _of_agent(write: Callable[[RandomHome, str], str]) -> Callable[[RandomHome, str, str], str]:
    """An export of an agent, which is of no scope in particular; "" where nothing may leave."""

    def written(home: RandomHome, agent: str, scope: str) -> str:
        try:
            return write(home, agent)
        except NotFoundError:
            return ""

    return written


def _bundle(home: RandomHome, agent: str) -> str:
    path = home.file()
    export(home.space(), home.log, path, by=Label("ann"), stack="default", agent=agent)
    return path.read_text(encoding="utf-8")


def _table(home: RandomHome, agent: str) -> str:
    path = home.file()
    tables.write(home.space(), path, "json", stack="default", agent=agent)
    return path.read_text(encoding="utf-8")


def _tools(home: RandomHome, agent: str, scope: str) -> MemoryTools:
    brain = home.brain(agent, scope)
    desk: Any = SimpleNamespace(memory=lambda: nullcontext(brain), oriented=True)
    return MemoryTools(lambda: desk)


Way = Callable[[RandomHome, str, str], str]
WAYS: Mapping[str, Way] = {
    "brain get": lambda home, agent, scope: home.each(home.brain(agent, scope).get),
    "brain search": lambda home, agent, scope: repr(home.brain(agent, scope).search("lamp white", 100)),
    "brain think": lambda home, agent, scope: repr(home.brain(agent, scope).think("lamp white", k=100)),
    "brain orient": lambda home, agent, scope: repr(
        home.brain(agent, scope).orient(scope=scope, query="lamp white", token_budget=10_000)
    ),
    "brain knows": lambda home, agent, scope: repr(
        [home.brain(agent, scope).knows(whom, "lamp white", 100) for whom in AGENTS]
    ),
    "brain why": lambda home, agent, scope: home.each(home.brain(agent, scope).why),
    "brain history": lambda home, agent, scope: home.each(home.brain(agent, scope).history),
    "brain graph": lambda home, agent, scope: home.each(home.brain(agent, scope).graph),
    "mcp get": lambda home, agent, scope: home.each(_tools(home, agent, scope).get_memory),
    "mcp search": lambda home, agent, scope: repr(_tools(home, agent, scope).search("lamp white", 50)),
    "stack get": _got,
    "stack lists": lambda home, agent, scope: repr(
        [
            read(limit=1_000, include_forgotten=True)
            for stack in (home.stack(agent, scope),)
            for read in (stack.get_beliefs, stack.get_notes)
        ]
    ),
    "stack search": lambda home, agent, scope: repr(home.stack(agent, scope).search("lamp white", limit=100)),
    "stack load": lambda home, agent, scope: repr(home.stack(agent, scope).load(token_budget=20_000)),
    "stack dump": _dumped,
    "sync": _exported,
    "bundle": _of_agent(_bundle),
    "table": _of_agent(_table),
    "markdown": _of_agent(lambda home, agent: "".join(markdown(home.space(), stack="default", agent=agent))),
    "console": lambda home, agent, scope: repr(home.overseer().search("lamp white", 100)),
}


def changed(home: RandomHome, agent: str, scope: str) -> set[str]:
    """The words of the memories that an agent may protect from a scope."""
    found = set()
    for row in home.model.rows.values():
        try:
            home.brain(agent, scope).protect(row.uid)
        except (NotFoundError, DeniedError):
            continue
        found.add(row.word)
    return found


def written(home: RandomHome, agent: str, scope: str) -> Iterator[tuple[str, str, str]]:
    """Each way to write, the scope that it writes in, and what became of a text with personal data."""

    def by_brain() -> str:
        return home.brain(agent, scope).remember(f"Call {PHONE}", force=True)

    def by_stack() -> str:
        return home.stack(agent, scope).save_note(Note("", "default", f"Call {PHONE}"))

    for name, place, write in (("brain", scope, by_brain), ("stack", "global", by_stack)):
        try:
            row = home.space().records.find(write())
            assert row is not None
            action = "keep" if PHONE in row["text"] else "redact"
            yield name, place, "escalate" if row["state"] == "quarantined" else action
        except DeniedError:
            yield name, place, "denied"
        except PersonalDataRefused:
            yield name, place, "drop"


def observed(home: RandomHome, agent: str, scope: str) -> Iterator[tuple[str, str]]:
    """The memories that each way shows an agent from a scope."""
    for name, way in WAYS.items():
        try:
            yield name, way(home, agent, scope)
        except DeniedError:
            yield name, ""
