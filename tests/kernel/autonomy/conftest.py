"""Fixtures of persisted autonomy: a home with keys, an executor that is held to the levels, and other processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import SteeredClock
from sb.kernel import RunBudget, RunContext, SafetyClass, ToolExecutor, ToolPolicy, ToolRegistry, ToolResult
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.enrolment import Enrolment, decider
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Decider
from sb.kernel.autonomy.judging import Autonomy
from sb.kernel.autonomy.levels import Levels
from sb.kernel.autonomy.proposals import LEAST, Proposal, Proposals
from sb.log.event_log import EventLog
from sb.store.anchor import Anchor
from sb.store.database import open_database

SEND, WRITE, READ, DROP = "shop.send", "shop.write", "shop.read", "shop.drop"
TOOLS = {
    READ: SafetyClass.READ_ONLY,
    WRITE: SafetyClass.LOCAL_WRITE,
    SEND: SafetyClass.NETWORK,
    DROP: SafetyClass.DESTRUCTIVE,
}


class Shop:
    """A process of a home: an executor with one tool of each class; `calls` names those that really ran."""

    def __init__(self, folder: Path, clock: SteeredClock, *, enforced: bool = True, **executor: Any) -> None:
        self.folder = folder
        self.clock = clock
        self.calls: list[str] = []
        database = open_database(folder / "brain.db", clock=clock)
        self.log = EventLog(database, anchor=Anchor(folder / "anchors.jsonl"), clock=clock)
        self.authority = Authority(folder / "operators.json", self.log)
        self.levels = Levels(self.log, self.authority)
        self.proposals = Proposals(self.levels)
        self.registry = ToolRegistry()
        for tool_id, of in TOOLS.items():
            self.registry.register_fn(tool_id, tool_id, self._tool(tool_id), of)
        self.executor = ToolExecutor(
            self.registry,
            executor.pop("policy", ToolPolicy.normal()),
            self.log,
            authority=self.authority,
            autonomy=executor.pop("autonomy", Autonomy(self.levels, enforced=enforced)),
            clock=clock,
            **executor,
        )

    def _tool(self, tool_id: str) -> Any:
        def fn(n: int = 0) -> str:
            self.calls.append(tool_id)
            if n < 0:
                raise ValueError("a negative number")
            return "done"

        return fn

    def beside(self, **how: Any) -> Shop:
        """Another process, with nothing but the files."""
        return Shop(self.folder, self.clock, **how)

    def enrol(self, name: str = "ada") -> Decider:
        """Make this person the operator."""
        keys = KeyFolder(self.folder / "keys")
        Enrolment(self.authority, keys).init(name, None)
        return decider(self.authority, keys, name, str)

    def call(
        self, tool_id: str = WRITE, n: int = 0, *, agent: str = "clerk", intent: str = "", **how: Any
    ) -> ToolResult:
        ctx = RunContext.create(agent, budget=RunBudget(max_tool_calls=10**6, max_latency_ms=10**9))
        return self.executor.execute(ctx, tool_id, {"n": n}, intent=intent, **how)

    def approved(self, by: Decider, tool_id: str = WRITE, n: int = 0, **how: Any) -> ToolResult:
        """A call that a person was asked about, and approved."""
        asked = self.call(tool_id, n, **how)
        assert asked.data, asked.error_message
        self.executor.approvals.approve(asked.data["approval_id"], by, "looks right")
        return self.call(tool_id, n, **how)

    def denied(self, by: Decider, tool_id: str = SEND, n: int = 99, **how: Any) -> None:
        """A call that a person was asked about, and denied."""
        asked = self.call(tool_id, n, **how)
        assert asked.data, asked.error_message
        self.executor.approvals.deny(asked.data["approval_id"], by, "not that")

    def earn(
        self, by: Decider, tool_id: str = WRITE, *, first: int = 1, evaluated: float = 0.95, **how: Any
    ) -> None:
        """All the evidence that a promotion needs."""
        self.denied(by, SEND if tool_id != SEND else DROP, first + 90, **how)
        for n in range(first, first + LEAST):
            assert self.approved(by, tool_id, n, **how).success
        self.levels.evaluate("clerk", evaluated, by, "the suite of CI")

    def promote(self, by: Decider, tool_id: str = WRITE, **how: Any) -> Proposal:
        """Earn and sign AUTO_EXECUTE."""
        self.earn(by, tool_id, **how)
        found = next(it for it in self.proposals.all() if it.tool_id == tool_id)
        return self.proposals.sign(found.id, by, "routine")

    def mode(self, tool_id: str = WRITE, *, agent: str = "clerk", intent: str = "unstated") -> str:
        tool = self.registry.tool(tool_id)
        assert tool is not None
        return str(self.levels.current().mode(agent, intent, tool_id, tool.current_fingerprint()))


@pytest.fixture
def shop(tmp_path: Path, clock: SteeredClock) -> Shop:
    return Shop(tmp_path, clock)


@pytest.fixture
def ada(shop: Shop) -> Decider:
    return shop.enrol()
