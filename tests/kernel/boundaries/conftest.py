"""A home with charters, opened as every face opens one."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.config.home import Home
from sb.config.model import assemble
from sb.kernel.agent_charter.charters import Charters
from sb.kernel.authority.signing import Label
from sb.kernel.contracts import SafetyClass
from sb.runtime import Runtime, open_runtime
from sb.runtime.parts import open_charters
from tests.conftest import approve_tools

ADA = Label("ada")
# The clock of tests begins in January 2027.
CLERK = """\
agent: clerk
purpose: Refunds orders that were not shipped.
owner: ana
version: 1.0.0
review_by: 2099-01-01
intents:
  allow: [refund.*, note.read]
  deny: [refund.large]
capabilities:
  ceiling: network
namespaces: [shop]
data_scopes: [global, "project:shop*"]
"""


class Office:
    """A home, its tools, and how often they ran."""

    def __init__(self, folder: Path, clock: SteeredClock) -> None:
        self.home = Home(folder / "home")
        self.home.create()
        self.clock = clock
        self.ids = CountingIds()
        self.ran: list[str] = []

    def write(self, text: str, name: str = "clerk") -> Path:
        path = self.home.charters / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def open(self, **settings: Any) -> Runtime:
        known = {"agent_charters": "enforce"} | settings
        runtime = open_runtime(assemble(self.home, known, {}, ()), clock=self.clock, ids=self.ids)
        for name, safety_class in (
            ("shop.read", SafetyClass.READ_ONLY),
            ("shop.refund", SafetyClass.NETWORK),
            ("shop.wipe", SafetyClass.DESTRUCTIVE),
            ("mail.send", SafetyClass.READ_ONLY),
        ):
            runtime.registry.register_fn(name, name, partial(self._work, name), safety_class)
        approve_tools(runtime)
        return runtime

    def _work(self, name: str) -> str:
        self.ran.append(name)
        return "done"

    def charters(self, runtime: Runtime) -> Charters:
        return open_charters(runtime.config, runtime.log, runtime.approvals.authority)

    def approve(self, runtime: Runtime, agent: str = "clerk") -> None:
        self.charters(runtime).approve(agent, "", ADA, "reviewed")
        self.clock.sleep(2.0)


@pytest.fixture
def office(tmp_path: Path, clock: SteeredClock) -> Office:
    return Office(tmp_path, clock)
