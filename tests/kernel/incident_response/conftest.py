"""Fixtures of kills and incidents: an executor over a real file, and other processes beside it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import SteeredClock
from sb.errors import SBError
from sb.kernel import KillSwitch, RunBudget, RunContext, SafetyClass, ToolExecutor, ToolRegistry, ToolResult
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.enrolment import Enrolment, decider
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Decider, Label
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.store.anchor import Anchor
from sb.store.database import open_database

ADA = Label("ada")


class Plant:
    """An executor over a file, with one tool of each kind; `calls` counts what really ran.

    Args:
        home: a folder for what a home holds outside the database; None for a log without a home.
        database: the file's name.
    """

    def __init__(
        self,
        folder: Path,
        clock: SteeredClock,
        *,
        home: Path | None = None,
        database: str = "brain.db",
        **executor: Any,
    ) -> None:
        self.folder = folder
        self.clock = clock
        self.calls: list[str] = []
        anchor = Anchor(home / "anchors.jsonl") if home else None
        self.log = EventLog(open_database(folder / database, clock=clock), anchor=anchor, clock=clock)
        self.authority = Authority(folder / "operators.json", self.log)
        self.registry = ToolRegistry()
        self.kill = KillSwitch(self.log, self.authority)
        with contextlib.suppress(SBError):  # as a runtime does
            self.kill.adopt()
        self.executor = ToolExecutor(
            self.registry,
            event_log=self.log,
            authority=self.authority,
            kill_switch=self.kill,
            clock=clock,
            **executor,
        )
        self.add("plant.read", SafetyClass.READ_ONLY)
        self.add("plant.write", SafetyClass.LOCAL_WRITE)
        self.add("plant.send", SafetyClass.NETWORK)
        self.add("plant.drop", SafetyClass.DESTRUCTIVE)

    def add(
        self,
        tool_id: str,
        safety_class: SafetyClass,
        work: Callable[[], object] = lambda: None,
        **contract: Any,
    ) -> None:
        def fn() -> str:
            self.calls.append(tool_id)
            work()
            return "done"

        self.registry.register_fn(tool_id, tool_id, fn, safety_class, **contract)

    def context(self, agent: str = "clerk") -> RunContext:
        return RunContext.create(agent, budget=RunBudget(max_tool_calls=10**6, max_latency_ms=10**9))

    def call(self, tool_id: str = "plant.write", agent: str = "clerk", **how: Any) -> ToolResult:
        return self.executor.execute(self.context(agent), tool_id, {}, **how)

    def enrol(self, *names: str) -> dict[str, Decider]:
        """Make these the operators."""
        keys = KeyFolder(self.folder / "keys")
        enrolment = Enrolment(self.authority, keys)
        enrolment.init(names[0], None)
        first = decider(self.authority, keys, names[0], str)
        for name in names[1:]:
            enrolment.add(name, "", first, "also decides")
        return {name: decider(self.authority, keys, name, str) for name in names}

    def other_process(self) -> KillSwitch:
        """A switch that shares nothing with this one but the file."""
        log = EventLog(open_database(self.folder / "brain.db", clock=self.clock), clock=self.clock)
        return KillSwitch(log, Authority(self.folder / "operators.json", log))

    def facts(self) -> dict[str, Any]:
        """The payload of the last event of a call."""
        events = self.log.events(newest_first=True)
        return next(event.payload or {} for event in events if event.subject.tool_id)

    def forge(self, kind: str, signed: Any) -> None:
        """Put an event on the log as whoever can write the database can."""
        self.log.append(kind, {}, Subject(call_id="kill"), {"signed": signed})


@pytest.fixture
def plant(tmp_path: Path, clock: SteeredClock) -> Plant:
    return Plant(tmp_path, clock)
