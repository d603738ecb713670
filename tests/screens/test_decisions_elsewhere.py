"""Decisions in a browser tab: made by the process that holds the key, from its own reading, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sb.screens.signing_agent import SOCKET_VARIABLE, SigningAgent

from sb.config import current_config
from sb.errors import DeniedError, NotFoundError, SBError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Label
from sb.kernel.baselines.store import BaselineStatus
from sb.kernel.decision_desk import FIELDS, DecisionDesk
from sb.log.event_log import EventLog
from sb.runtime.parts import open_log
from sb.store.database import open_database
from tests.kernel.baselines.test_seeding import enrolled, first_version, statuses
from tests.screens import shop
from tests.screens.conftest import Agents
from tests.screens.shop import Bank
from tests.screens.steps import done, escalate
from tests.screens.test_autonomy import fallen
from tests.screens.test_recovery import in_doubt

DECIDE = """
import json, os, sys
from sb.config import current_config
from sb.errors import SBError
from sb.kernel.recovery_loop.settling import Settling, Settlement
from sb.screens.state.records import Records
from sb.screens.state.signer import Signer
said = json.loads(sys.stdin.readline())
records = Records(current_config())
by = Signer(records).decider(lambda prompt: "")
approvals = records.approvals()
approvals.approve(said["approve"], by, "it is right", displayed=said["shown"])
approvals.deny(said["deny"], by, "it is wrong")
approvals.revoke(said["approve"], by, "or is it")
records.baselines("write", "kernel").approve({"bank.look": said["contract"]}, by, "read it")
records.kill_switch("write").throw("agent", "clerk", Signer(records).anybody(), "stop")
switch = records.kill_switch("write")
switch.lift("agent", "clerk", by, "go on", number=switch.in_force()["agent:clerk"].number)
recovery = records.runtime().recovery
recovery.dismiss(said["dismiss"], by, "leave it")
Settling(recovery).settle(said["settle"], Settlement.DONE, by, "the bank says so")
try:
    by.sign(b"anything at all")
except SBError as error:
    print(error.message)
"""

SIGN_ADDED = """
import sys
from sb.config import current_config
from sb.kernel.baselines.seeding import sign_added
from sb.kernel.baselines.seen import SURFACES
from sb.runtime.parts import shipped_registry
from sb.screens.state.records import Records
from sb.screens.state.signer import Signer
sys.stdin.readline()
records = Records(current_config())
by = Signer(records).decider(lambda prompt: "")
stores = [records.baselines("write", surface) for surface in SURFACES]
print(sign_added(stores, by, lambda: shipped_registry(records.config)))
"""


@pytest.fixture
def settings(tmp_path: Path) -> str:
    return 'database: brain.db\nfiles: {roots: []}\ntools: ["tests.screens.shop:register"]\n'


@pytest.fixture(autouse=True)
def bank() -> None:
    """Before its tools are registered."""
    shop.bank = Bank()


@pytest.fixture
def desk(agents: Agents) -> DecisionDesk:
    """The desk of ada, the operator, in a process with the system's clock."""
    agents.clock.time = time.time()
    config = current_config()
    authority = Authority(config.operators.file, agents.runtime.log)
    ada = Enrolment(authority, KeyFolder(config.home.keys)).init("ada", "correct horse battery")
    assert ada is not None
    agents.runtime.baselines.approve(agents.contracts(), ada)
    return DecisionDesk(partial(open_log, config), config.operators.file, ada)


def cases(agents: Agents) -> dict[str, dict[str, Any]]:
    """A request of each kind, that can be decided; of what `revoke` takes back the first one is the approval."""
    agents.clock.time = time.time()  # the desk has a clock of its own
    agents.change_contract()
    live = {
        contract_entry.tool_id: contract_entry.live_fingerprint
        for contract_entry in agents.runtime.baselines.entries()
    }
    kill = agents.runtime.kill.throw("agent", "mallory", Label("watchman"), "stop").kill
    first = agents.pay("bob")
    approvals = agents.runtime.approvals
    shown = approvals.disclose(approvals.get(first)).digest
    return {
        "approve": {"approval": first, "reason": "right", "shown": shown},
        "revoke": {"reference": first, "reason": "or not"},
        "deny": {"approval": agents.pay("eve"), "reason": "wrong"},
        "approve_contracts": {
            "surface": "kernel",
            "contracts": {"bank.look": live["bank.look"]},
            "reason": "read",
        },
        "lift": {"scope": "agent", "target": "mallory", "number": str(kill.number), "reason": "go on"},
        "raise": {"proposal": fallen(agents).all()[0].id, "reason": "the rule was wrong"},
        "dismiss": {"escalation": escalate(agents, done(agents)), "reason": "leave it"},
        "settle": {"call": in_doubt(agents, shop.bank), "verdict": "done", "reason": "the bank says so"},
    }


def signed_by(log: EventLog) -> list[tuple[str, str]]:
    """Decisions made with a key, in the order of the log: action and name."""
    found = [(event.payload or {}).get("signed") or {} for event in log.events()]
    statements = [item["statement"] for item in found if isinstance(item, dict) and item.get("signature")]
    return [(str(statement["action"]), str(statement["by"])) for statement in statements]


def test_each_kind_of_decision_is_made_from_the_desks_own_reading(agents: Agents, desk: DecisionDesk) -> None:
    requests = cases(agents)
    assert set(requests) == set(FIELDS)
    before = len(signed_by(agents.runtime.log))
    for kind, request in requests.items():
        answer = desk.decide({"decision": kind, **request})
        if kind in ("dismiss", "settle"):  # what the other process records, which has the tools
            statement = answer["signed"]["statement"]
            assert (statement["action"], statement["by"], statement["reason"]) == (
                kind,
                "ada",
                request["reason"],
            )
            assert (
                Authority(current_config().operators.file, agents.runtime.log).verify(answer["signed"])
                == "ada"
            )
        else:
            assert answer == {}
        with pytest.raises(SBError):  # it is settled, or what was said of it is not true any more
            desk.decide({"decision": kind, **request, "reason": ""})
    assert [action for action, _ in signed_by(agents.runtime.log)][before:] == [
        "approve", "revoke", "deny", "approve_contracts", "kill.lifted", "autonomy.raised",
    ]  # fmt: skip


def test_nothing_is_signed_that_the_desk_did_not_build(agents: Agents, desk: DecisionDesk) -> None:
    approval = agents.pay()
    statement = {"action": "approve", "binding": "0" * 64, "reason": "r", "at": "2026-01-01T00:00:00Z"}
    before = len(signed_by(agents.runtime.log))
    requests: tuple[Any, ...] = (
        statement,
        {"decision": "sign", "data": "00"},
        {"decision": "enrol", "name": "mallory"},
        {"decision": "grant", "approval": approval, "reason": "r"},
        {"decision": ["approve"]},
        {"decision": "approve", "approval": approval, "reason": "r"},
        {"decision": "approve", "approval": approval, "reason": "r", "shown": "", "binding": "0" * 64},
        {"decision": "approve", "approval": {"id": approval}, "reason": "r", "shown": ""},
        {"decision": "approve", "approval": approval, "reason": "r", "shown": ""},
        {"decision": "approve", "approval": approval, "reason": "r", "shown": "0" * 64},
        {"decision": "approve_contracts", "surface": "kernel", "contracts": {"bank.pay": ""}, "reason": "r"},
        {"decision": "approve_contracts", "surface": "kernel", "contracts": {"bank.pay": "0" * 64}, "reason": "r"},
        {"decision": "approve_contracts", "surface": "made up", "contracts": {}, "reason": "r"},
        {"decision": "approve_contracts", "surface": "kernel", "contracts": ["bank.pay"], "reason": "r"},
        *({"decision": "lift", "scope": "agent", "target": "clerk", "number": number, "reason": "r"} for number in ("", "0", "-1", "x")),
        [], "approve", 7, None,
    )  # fmt: skip
    for request in requests:
        with pytest.raises(DeniedError):
            desk.decide(request)
    for nowhere in (
        {"decision": "approve", "approval": "apr_none", "reason": "r", "shown": "0" * 64},
        {"decision": "dismiss", "escalation": "esc_none", "reason": "r"},
        {"decision": "settle", "call": "call_none", "verdict": "done", "reason": "r"},
        {"decision": "lift", "scope": "agent", "target": "clerk", "number": "7", "reason": "r"},
    ):
        with pytest.raises(NotFoundError):
            desk.decide(nowhere)
    assert len(signed_by(agents.runtime.log)) == before
    assert agents.runtime.approvals.get(approval).state == "waiting"


def test_a_tab_decides_everything_that_the_console_signs_without_having_the_key(
    agents: Agents, desk: DecisionDesk, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = cases(agents)
    targets = {
        "approve": requests["approve"]["approval"],
        "shown": requests["approve"]["shown"],
        "deny": requests["deny"]["approval"],
        "contract": requests["approve_contracts"]["contracts"]["bank.look"],
        "dismiss": requests["dismiss"]["escalation"],
        "settle": requests["settle"]["call"],
    }
    before = len(signed_by(agents.runtime.log))
    with SigningAgent(desk, home) as agent:
        monkeypatch.setenv(SOCKET_VARIABLE, str(agent.path))
        tab = subprocess.Popen(
            [sys.executable, "-c", DECIDE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        agent.started.add(tab.pid)
        out, err = tab.communicate(json.dumps(targets) + "\n", timeout=60)
    assert (tab.returncode, err) == (0, "")
    assert out == "this cannot be decided in a browser\n"
    made = signed_by(agents.runtime.log)[before:]
    assert [action for action, by in made if by == "ada"] == [
        "approve", "deny", "revoke", "approve_contracts", "kill.lifted", "deny", "dismiss", "settle",
    ]  # fmt: skip
    assert agents.runtime.approvals.get(targets["deny"]).state == "denied"
    assert agents.runtime.recovery.escalations.get(targets["dismiss"]).state == "dismissed"
    assert agents.runtime.executor.in_doubt() == []
    assert agents.runtime.kill.in_force().keys() == {"agent:mallory"}


def test_a_tab_has_the_tools_signed_that_an_upgrade_added(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = current_config()
    config.home.create()
    ada = enrolled(EventLog.of_home(open_database(config.database), config.home, make_key=True))
    log = first_version(ada)
    assert BaselineStatus.NEW in statuses(log)
    desk = DecisionDesk(partial(open_log, config), config.operators.file, ada)
    with SigningAgent(desk, home) as agent:
        monkeypatch.setenv(SOCKET_VARIABLE, str(agent.path))
        tab = subprocess.Popen(
            [sys.executable, "-c", SIGN_ADDED], stdout=subprocess.PIPE, stdin=subprocess.PIPE
        )
        agent.started.add(tab.pid)
        out, _ = tab.communicate(b"\n", timeout=60)
    assert (tab.returncode, out) == (0, b"\n")
    assert statuses(log) == {BaselineStatus.APPROVED}
