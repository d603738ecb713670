"""A tool with side effects runs only under the contract that an operator approved; the log says which that is."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.sources import SteeredClock
from sb.config import current_config
from sb.errors import NotFoundError, UsageError
from sb.kernel import RunContext, SafetyClass, ToolErrorCode, ToolExecutor, ToolRegistry, ToolResult, ToolSpec
from sb.kernel.authority.authority import Authority, Unauthorised
from sb.kernel.authority.enrolment import Enrolment, decider
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Label
from sb.kernel.baselines.compare import changes
from sb.kernel.baselines.seen import SURFACES
from sb.kernel.baselines.store import BaselineStatus, ContractBaselineStore
from sb.kernel.contracts import ToolArgSchema
from sb.kernel.review.log_pruning import prune
from sb.kernel.review.log_verification import verify
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.log.kinds import BASELINE_CHANGED
from sb.runtime import open_runtime
from sb.store.database import open_database

ADA = Label("ada")


class Shop:
    """An executor that compares with baselines, over a real file."""

    def __init__(self, folder: Path, clock: SteeredClock, enforcement: str = "enforce") -> None:
        self.folder = folder
        self.clock = clock
        self.log = EventLog(open_database(folder / "brain.db", clock=clock), clock=clock)
        self.authority = Authority(folder / "operators.json", self.log)
        self.store = ContractBaselineStore(self.log, self.authority)
        self.registry = ToolRegistry()
        self.executor = ToolExecutor(
            self.registry,
            event_log=self.log,
            contract_enforcement=enforcement,
            contract_baseline_store=self.store,
            authority=self.authority,
            clock=clock,
        )
        self.spec = self.add("shop.label", SafetyClass.LOCAL_WRITE)
        self.add("shop.look", SafetyClass.READ_ONLY)

    def add(self, tool_id: str, safety_class: SafetyClass, **contract: Any) -> ToolSpec:
        return self.registry.register_fn(tool_id, tool_id, lambda **_: "done", safety_class, **contract)

    def call(self, tool_id: str = "shop.label") -> ToolResult:
        return self.executor.execute(RunContext.create("clerk"), tool_id, {})

    def approve(self, by: Any = ADA, reason: str = "") -> str:
        fingerprint = self.spec.contract_fingerprint()
        self.store.seen.note_all(self.registry)
        self.store.approve({"shop.label": fingerprint}, by, reason)
        return fingerprint

    def facts(self) -> dict[str, Any]:
        return next(iter(self.log.events(newest_first=True))).payload or {}


@pytest.fixture
def shop(tmp_path: Path, clock: SteeredClock) -> Shop:
    return Shop(tmp_path, clock)


def reregister(shop: Shop, **fields: Any) -> None:
    """The tool comes back with another contract, as after an update and a restart."""
    shop.registry.unregister("shop.label")
    shop.spec = shop.add("shop.label", SafetyClass.LOCAL_WRITE, **fields)


def test_a_new_contract_with_side_effects_is_denied_until_it_is_approved(shop: Shop) -> None:
    refused = shop.call()
    assert refused.error_code is ToolErrorCode.PERMISSION_DENIED
    assert "sb runtime-guard approve-contract kernel shop.label" in refused.error_message
    assert (shop.facts()["rule"], shop.facts()["tool_contract_baseline"]) == ("contract_new", "new")
    shop.approve()
    assert shop.call().success
    assert shop.facts()["phase"] == "outcome"


def test_a_denied_contract_was_met_so_another_process_can_approve_it(shop: Shop) -> None:
    shop.call()
    other = ContractBaselineStore(EventLog(open_database(shop.folder / "brain.db")), None)
    (entry,) = other.entries()
    assert (entry.status, entry.live_document) == (BaselineStatus.NEW, shop.spec.contract_document())
    other.approve({entry.tool_id: entry.live_fingerprint}, ADA)
    assert shop.call().success


def test_a_changed_contract_is_denied_and_its_fields_are_named(shop: Shop) -> None:
    before = shop.approve()
    reregister(shop, description="Sends everything away.", args_schema=[ToolArgSchema("to", required=False)])
    refused = shop.call()
    assert "is not the approved one" in refused.error_message
    assert shop.facts()["tool_contract_baseline_fingerprint"] == before
    entry = shop.store.entry("shop.label", shop.registry)
    assert entry.status is BaselineStatus.CHANGED
    assert ("description", '""', '"Sends everything away."') in [
        (change.path, change.before, change.after) for change in entry.changes
    ]
    assert ("args_schema.to.type", None, '"string"') in [
        (change.path, change.before, change.after) for change in entry.changes
    ]


def test_a_change_that_another_process_runs_shows_whatever_this_one_has_registered(shop: Shop) -> None:
    shop.approve()
    shop.clock.sleep(1)
    theirs = Shop(shop.folder, shop.clock)
    theirs.spec.description = "Sends everything away."
    theirs.call()
    assert shop.store.entry("shop.label", shop.registry).status is BaselineStatus.CHANGED


def test_read_only_tools_stay_observable(shop: Shop) -> None:
    assert shop.call("shop.look").success
    assert shop.facts()["tool_contract_baseline"] == "new"


@pytest.mark.parametrize(("enforcement", "baseline"), [("observe", "new"), ("off", None)])
def test_only_enforce_denies(
    tmp_path: Path, clock: SteeredClock, enforcement: str, baseline: str | None
) -> None:
    shop = Shop(tmp_path, clock, enforcement)
    assert shop.call().success
    intent = next(event for event in shop.log.events() if (event.payload or {}).get("phase") == "intent")
    assert (intent.payload or {}).get("tool_contract_baseline") == baseline


def test_an_earlier_contract_can_be_approved_again(shop: Shop) -> None:
    first = shop.approve(reason="first")
    reregister(shop, description="new")
    second = shop.approve(reason="second")
    shop.store.approve({"shop.label": first}, ADA, "back")
    assert not shop.call().success
    reregister(shop)
    assert shop.call().success
    history = shop.store.history("shop.label")
    assert [(baseline.fingerprint, baseline.reason) for baseline in history] == [
        (first, "first"),
        (second, "second"),
        (first, "back"),
    ]


def test_what_nobody_has_met_cannot_be_approved(shop: Shop) -> None:
    with pytest.raises(NotFoundError, match="ever met"):
        shop.store.approve({"shop.label": "sha256:0"}, ADA)
    with pytest.raises(NotFoundError, match="was met on surface kernel"):
        shop.store.entry("shop.lable")
    with pytest.raises(UsageError, match='did you mean "kernel"'):
        ContractBaselineStore(shop.log, None, "kernal")
    large = shop.add("shop.large", SafetyClass.NETWORK, description="x" * 70_000)
    shop.call("shop.large")
    with pytest.raises(NotFoundError):
        shop.store.approve({"shop.large": large.contract_fingerprint()}, ADA)


def test_unsigned_approvals_stop_counting_when_somebody_is_enrolled(shop: Shop) -> None:
    shop.approve()
    keys = KeyFolder(shop.folder / "keys")
    Enrolment(shop.authority, keys).init("ada", None)
    refused = shop.call()
    assert "unsigned" in refused.error_message
    assert shop.facts()["rule"] == "contract_unreadable"
    with pytest.raises(Unauthorised):
        shop.approve(ADA)
    ada = decider(shop.authority, keys, "", str)
    shop.approve(ada)
    assert shop.call().success
    Enrolment(shop.authority, keys).add("grace", "", ada, "second")
    shop.approve(decider(shop.authority, keys, "grace", str))
    Enrolment(shop.authority, keys).revoke("grace", ada, "left")
    assert "revoked key" in shop.call().error_message


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE events SET payload = replace(payload, 'ada', 'eve')",
        "UPDATE events SET payload = '{}'",
        "UPDATE events SET payload = NULL, salt = NULL",
        "UPDATE events SET at = at + 1",
    ],
)
def test_an_approval_that_was_edited_on_the_log_denies_what_it_covered(shop: Shop, edit: str) -> None:
    shop.approve()
    with shop.log.database.write() as execute:
        execute("DROP TRIGGER events_are_final")
        execute(f"{edit} WHERE kind = '{BASELINE_CHANGED}'")
    fresh = ContractBaselineStore(shop.log, shop.authority)
    assert fresh.status("shop.label", shop.spec.contract_fingerprint())[0] is BaselineStatus.UNREADABLE
    assert shop.call("shop.look").success


def test_an_older_approval_does_not_come_back_when_a_newer_one_is_damaged(shop: Shop) -> None:
    shop.approve(reason="first")
    reregister(shop, description="new")
    shop.approve(reason="second")
    reregister(shop)
    with shop.log.database.write() as execute:
        execute("DROP TRIGGER events_are_final")
        execute("UPDATE events SET payload = replace(payload, 'second', 'sekond')")
    fresh = ContractBaselineStore(shop.log, shop.authority)
    assert fresh.status("shop.label", shop.spec.contract_fingerprint())[0] is BaselineStatus.UNREADABLE


@pytest.mark.parametrize("enrolled", [False, True])
def test_an_old_approval_that_is_put_on_the_log_again_does_not_count(shop: Shop, enrolled: bool) -> None:
    by: Any = ADA
    if enrolled:
        keys = KeyFolder(shop.folder / "keys")
        by = Enrolment(shop.authority, keys).init("ada", None)
    shop.approve(by, "first")
    old = shop.facts()
    reregister(shop, description="safer")
    shop.approve(by, "second")
    replayed = {"signed": old["signed"]}
    shop.log.append(BASELINE_CHANGED, {}, Subject(call_id="contracts/kernel"), replayed)
    reregister(shop)
    assert shop.store.status("shop.label", shop.spec.contract_fingerprint())[0] is BaselineStatus.UNREADABLE
    assert not shop.call().success
    shop.approve(by, "looked at again")
    assert shop.call().success


def test_a_check_that_fails_denies_what_has_side_effects_and_lets_reads_pass(shop: Shop) -> None:
    shop.approve()
    assert shop.call().success
    (shop.folder / "operators.json").write_text("not json")
    refused = shop.call()
    assert shop.facts()["rule"] == "contract_unreadable"
    assert "cannot be told" in refused.error_message
    assert shop.call("shop.look").success


def test_approvals_outlive_pruning(shop: Shop) -> None:
    shop.approve()
    shop.clock.sleep(10)
    prune(shop.log, before=shop.clock.now(), reason="old")
    assert ContractBaselineStore(shop.log, shop.authority).history("shop.label")
    assert verify(shop.log).ok


def test_the_tools_of_this_version_are_approved_in_a_new_database_and_others_are_not(home: Path) -> None:
    with open_runtime() as runtime:
        entries = {entry.tool_id: entry for entry in runtime.baselines.entries(runtime.registry)}
        assert {entry.status for entry in entries.values()} == {BaselineStatus.APPROVED}
        runtime.registry.register_fn("mine.write", "Mine", lambda: 1, SafetyClass.LOCAL_WRITE)
        assert not runtime.executor.execute(RunContext.create("x"), "mine.write", {}).success
    with open_runtime() as again:
        assert again.baselines.entry("mine.write").status is BaselineStatus.NEW
        assert sum(event.kind == BASELINE_CHANGED for event in again.log.events()) == len(SURFACES)


def test_nothing_is_approved_unasked_where_operators_are_enrolled(home: Path) -> None:
    with open_runtime() as runtime:
        enrolment = Enrolment(runtime.executor.approvals.authority, KeyFolder(current_config().home.keys))
        enrolment.init("ada", None)
    (home / "brain.db").unlink()
    for suffix in ("-wal", "-shm"):
        (home / f"brain.db{suffix}").unlink(missing_ok=True)
    with open_runtime() as fresh:
        assert fresh.baselines.is_empty()


def test_processes_that_approve_at_once_all_count(shop: Shop) -> None:
    for number in range(6):
        shop.add(f"shop.t{number}", SafetyClass.LOCAL_WRITE)
    shop.store.seen.note_all(shop.registry)
    program = (
        "import sys\nfrom sb.kernel.authority.signing import Label\n"
        "from sb.kernel.baselines.store import ContractBaselineStore\nfrom sb.log.event_log import EventLog\n"
        "from sb.store.database import open_database\n"
        "s = ContractBaselineStore(EventLog(open_database(sys.argv[1])))\n"
        "e = {x.tool_id: x for x in s.entries()}\n"
        "[s.approve({t: e[t].live_fingerprint}, Label('ada')) for t in sys.argv[2:]]\n"
    )
    path = str(shop.folder / "brain.db")
    started = [
        subprocess.Popen([sys.executable, "-c", program, path, f"shop.t{n}", f"shop.t{n + 3}"])
        for n in range(3)
    ]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    approved = [e.tool_id for e in shop.store.entries() if e.status is BaselineStatus.APPROVED]
    assert approved == [f"shop.t{n}" for n in range(6)]
    assert verify(shop.log).ok


_values = st.one_of(st.none(), st.booleans(), st.text(max_size=3), st.lists(st.text(max_size=2), max_size=2))
_documents = st.dictionaries(
    st.sampled_from(["a", "b", "args_schema", "metadata"]),
    st.one_of(
        _values,
        st.dictionaries(st.sampled_from("xy"), _values, max_size=2),
        st.lists(
            st.fixed_dictionaries({"name": st.sampled_from("pqr"), "type": st.text(max_size=2)}), max_size=3
        ),
    ),
)


@given(_documents, _documents)
def test_the_difference_is_empty_exactly_when_the_documents_are_equal(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    found = changes(before, after)
    assert bool(found) == (before != after) or _repeats(before) or _repeats(after)
    assert [(c.path, c.after, c.before) for c in found] == [
        (c.path, c.before, c.after) for c in changes(after, before)
    ]
    assert changes(before, before) == []


def test_a_name_with_a_dot_hides_no_field_of_that_path() -> None:
    before = {"metadata": {"to.type": 1, "to": {"type": 2}}}
    after = {"metadata": {"to.type": 9, "to": {"type": 2}}}
    assert [(c.path, c.before, c.after) for c in changes(before, after)] == [('metadata."to.type"', "1", "9")]


def _repeats(document: dict[str, Any]) -> bool:
    """True if arguments share a name, which a contract refuses."""
    lists = [value for value in document.values() if isinstance(value, list)]
    named = [[item["name"] for item in value if isinstance(item, dict)] for value in lists]
    return any(len(set(names)) < len(names) for names in named)


def test_threads_that_ask_at_once_find_what_was_approved(shop: Shop) -> None:
    shop.store.seen.note_all(shop.registry)
    live = shop.store.seen.fingerprints(shop.registry)
    shop.store.approve(live, ADA, "fine")
    name, fingerprint = "shop.label", live["shop.label"]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            fresh = ContractBaselineStore(shop.log, shop.authority)
            at_once = threading.Barrier(8)

            def ask(
                store: ContractBaselineStore = fresh, begin: threading.Barrier = at_once
            ) -> BaselineStatus:
                begin.wait()
                return store.status(name, fingerprint, exact=False)[0]

            with ThreadPoolExecutor(8) as threads:
                found = [threads.submit(ask) for _ in range(8)]
            assert {future.result() for future in found} == {BaselineStatus.APPROVED}
    finally:
        sys.setswitchinterval(interval)
