"""An approval counts once, at its place; what is shown is what the fingerprint says; a change cannot talk harm down."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.errors import StoreCorrupt
from sb.kernel import RunContext, SafetyClass, ToolExecutor, ToolRegistry
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Decider, Label
from sb.kernel.baselines.store import BaselineStatus, ContractBaselineStore
from sb.log.event_log import EventLog
from sb.log.kinds import BASELINE_CHANGED
from sb.store import driver
from sb.store.database import open_database

ADA = Label("ada")


class Process:
    """One of several processes over the same file, each with its own contract of the same tool."""

    def __init__(
        self,
        folder: Path,
        description: str = "Move money.",
        safety_class: SafetyClass = SafetyClass.LOCAL_WRITE,
    ) -> None:
        registry = ToolRegistry()
        self.spec = registry.register_fn(
            "shop.pay", "Pay", lambda: "paid", safety_class, description=description
        )
        self.log = EventLog(open_database(folder / "brain.db"))
        self.authority = Authority(folder / "operators.json", self.log)
        self.store = ContractBaselineStore(self.log, self.authority)
        self.executor = ToolExecutor(
            registry, None, self.log, contract_enforcement="enforce", contract_baseline_store=self.store
        )

    def runs(self) -> bool:
        return self.executor.execute(RunContext.create("clerk"), "shop.pay", {}).success

    def approve(self, by: Decider = ADA) -> None:
        self.runs()
        self.store.approve({"shop.pay": self.spec.contract_fingerprint()}, by)


def test_a_superseded_approval_cannot_be_put_on_the_log_again(tmp_path: Path) -> None:
    first = Process(tmp_path)
    keys = KeyFolder(tmp_path / "keys")
    made = Enrolment(first.authority, keys).init("ada", None)
    assert made is not None
    ada = keys.enrolled("ada", made.public_key).unlock("")
    first.approve(ada)
    assert first.runs()
    later = Process(tmp_path, "Move money to us alone.")
    later.approve(ada)
    assert (later.runs(), first.runs()) == (True, False)
    event = next(first.log.events(kind=BASELINE_CHANGED))
    assert event.payload is not None
    first.log.append(BASELINE_CHANGED, {"by": "ada"}, event.subject, {"signed": event.payload["signed"]})
    assert (first.runs(), later.runs()) == (False, False)
    later.approve(ada)
    assert (later.runs(), first.runs()) == (True, False), "approving again mends it"


def test_a_contract_that_claims_to_be_harmless_now_is_still_not_the_approved_one(tmp_path: Path) -> None:
    Process(tmp_path).approve()
    assert not Process(tmp_path, safety_class=SafetyClass.READ_ONLY).runs()


def test_a_change_of_a_contract_that_was_harmless_and_still_is_runs(tmp_path: Path) -> None:
    Process(tmp_path, safety_class=SafetyClass.READ_ONLY).approve()
    assert Process(tmp_path, "other", SafetyClass.READ_ONLY).runs()


def test_a_stored_contract_that_was_edited_is_neither_shown_nor_approved(tmp_path: Path) -> None:
    evil = Process(tmp_path, "Send everything away.")
    assert not evil.runs()
    connection = driver.connect(tmp_path / "brain.db")
    connection.execute("UPDATE contracts_seen SET document = replace(document, 'Send', 'Keep')")
    connection.close()
    entry = evil.store.entry("shop.pay")
    assert (entry.status, list(entry.live_document)) == (BaselineStatus.NEW, ["damaged"])
    with pytest.raises(StoreCorrupt, match="not what its fingerprint says"):
        evil.store.approve({"shop.pay": entry.live_fingerprint}, ADA)
    assert not evil.runs()
