"""A captured run runs again as it did, with no effect, and every difference is named."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sb.config import Config, current_config
from sb.kernel.authority.signing import Label
from sb.kernel.calls.call import ToolCall
from sb.kernel.contracts import SafetyClass, ToolErrorCode
from sb.kernel.execution.outcome import Outcome
from sb.kernel.replay import MemoryCapture, Packet, Step, divergences
from sb.kernel.replay.shelf import EVERY_AGENT
from sb.kernel.run_context import RunContext
from sb.operator.reproduction import reproduce
from sb.runtime import Runtime, open_runtime
from sb.runtime.parts import open_packets
from sb.store import driver
from tests.conftest import CommandLine, approve_tools

TOOLS = """
from pathlib import Path
from sb.kernel import SafetyClass

COUNT = Path({count!r})

def _note(amount):
    COUNT.write_text(COUNT.read_text() + "x" if COUNT.exists() else "x")
    return {{"paid": amount, "number": len(COUNT.read_text())}}

def register(registry):
    with registry.source("sb"):  # or a person is asked, since it declares no undo
        registry.register_fn("shop.pay", "pay", _note, SafetyClass.{safety})
    registry.register_fn("shop.look", "look", lambda: "a shelf", SafetyClass.READ_ONLY)
    registry.register_fn("shop.break", "fail", lambda: 1 / 0, SafetyClass.READ_ONLY)
"""


class Shop:
    """Tools of one's own in a module, and a configuration that loads them."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.folder = home, folder
        self.count = folder / "count"
        home.mkdir(mode=0o700, exist_ok=True)
        self.tools()
        self.configure()

    def tools(self, safety: str = "LOCAL_WRITE") -> None:
        (self.folder / "shop_tools.py").write_text(TOOLS.format(count=str(self.count), safety=safety))
        sys.modules.pop("shop_tools", None)

    def configure(self, more: str = "") -> None:
        (self.home / "config.yaml").write_text(
            f"tools: ['shop_tools:register']\nagents: {{clerk: {{ceiling: destructive}}}}\n{more}"
        )

    @property
    def config(self) -> Config:
        return current_config()

    def captured(self, work: Callable[[Runtime, RunContext], object]) -> Packet:
        packets = open_packets(self.config)
        packets.capture("clerk", on=True)
        with open_runtime() as runtime:
            approve_tools(runtime)
            with runtime.run("clerk", "sell") as ctx:
                work(runtime, ctx)
        return packets.read(ctx.run_id)


@pytest.fixture
def shop(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # the module is written anew within a second
    return Shop(home, tmp_path)


def sell(runtime: Runtime, ctx: RunContext) -> None:
    execute = runtime.executor.execute
    assert execute(ctx, "shop.look").data == "a shelf"
    execute(ctx, "shop.pay", {"amount": 3})
    execute(ctx, "shop.break")
    execute(ctx, "shop.none", {"x": 1})
    execute(ctx, "shop.pay", {"amount": 3})


def test_every_agent_may_be_captured(shop: Shop) -> None:
    packets = open_packets(shop.config)
    packets.capture(EVERY_AGENT, on=True)
    with open_runtime() as runtime:
        for agent in ("clerk", "another"):
            with runtime.run(agent, "look") as ctx:
                runtime.executor.execute(ctx, "shop.look")
    assert sorted(packet.begun["agent"] for packet in packets.packets()[0]) == ["another", "clerk"]


def test_a_run_reproduces_itself_and_calls_no_tool(shop: Shop) -> None:
    packet = shop.captured(sell)
    assert shop.count.read_text() == "xx"
    found = reproduce(packet, shop.config)
    assert found.divergences == ()
    assert [step.value for step in found.steps][1::3] == [{"paid": 3, "number": n} for n in (1, 2)]
    assert [step.became for step in found.steps][3] == "refused by lookup"
    again = reproduce(packet, shop.config, sell)
    assert (again.divergences, shop.count.read_text()) == ((), "xx")


def test_the_start_of_the_packet_says_who_ran_and_its_end_how(shop: Shop) -> None:
    packet = shop.captured(sell)
    assert (packet.begun["agent"], packet.begun["intent"], packet.missing) == ("clerk", "sell", "")

    def fail(runtime: Runtime, ctx: RunContext) -> None:
        raise RuntimeError(runtime.executor.execute(ctx, "shop.look").data)

    with pytest.raises(RuntimeError):
        shop.captured(fail)
    failed = open_packets(shop.config).packets()[0][0]
    assert open_packets(shop.config).read(failed.run_id).ended == "RuntimeError"


def test_another_policy_is_named_at_the_call_that_it_refuses(shop: Shop) -> None:
    packet = shop.captured(sell)
    shop.configure("policy: [{deny: shop.pay, args: {amount: '3'}, name: no money}]\n")
    first = reproduce(packet, shop.config).divergences[0]
    assert first == (2, "shop.pay", "verdict", "ran", "refused by no money")


def test_another_contract_is_named_at_the_call_of_that_tool(shop: Shop) -> None:
    packet = shop.captured(sell)
    shop.tools("NETWORK")
    first = reproduce(packet, shop.config).divergences[0]
    assert first[:3] == (2, "shop.pay", "contract")
    assert first.then != first.now
    (shop.folder / "shop_tools.py").write_text("def register(registry): ...\n")
    sys.modules.pop("shop_tools")
    first = reproduce(packet, shop.config).divergences[0]
    assert first[:3] == (1, "shop.look", "contract")


def test_an_agent_that_calls_otherwise_is_stopped_at_the_first_other_call(shop: Shop) -> None:
    packet = shop.captured(sell)

    def dearer(runtime: Runtime, ctx: RunContext) -> None:
        runtime.executor.execute(ctx, "shop.look")
        assert not runtime.executor.execute(ctx, "shop.pay", {"amount": 4}).success

    def less(runtime: Runtime, ctx: RunContext) -> None:
        runtime.executor.execute(ctx, "shop.look")

    def more(runtime: Runtime, ctx: RunContext) -> None:
        sell(runtime, ctx)
        runtime.executor.execute(ctx, "shop.look")

    (other,) = reproduce(packet, shop.config, dearer).divergences
    assert other[:3] == (2, "shop.pay", "call")
    assert (other.then["args"], other.now["args"]) == ({"amount": 3}, {"amount": 4})
    (missing,) = reproduce(packet, shop.config, less).divergences
    assert missing == (2, "shop.pay", "missing", {"amount": 3}, None)
    (extra,) = reproduce(packet, shop.config, more).divergences
    assert extra == (6, "shop.look", "extra", None, {})
    assert shop.count.read_text() == "xx"


def test_what_people_decided_is_taken_from_the_packet(shop: Shop) -> None:
    shop.configure("policy: [{approve: shop.pay}]\n")

    def ask(runtime: Runtime, ctx: RunContext) -> None:
        for decide in (runtime.approvals.approve, runtime.approvals.deny):
            args = {"amount": len(decide.__name__)}
            waits = runtime.executor.execute(ctx, "shop.pay", args)
            decide(waits.data["approval_id"], Label("ana"), "as agreed")
            done = runtime.executor.execute(ctx, "shop.pay", args)
            assert done.success is (decide.__name__ == "approve")

    packet = shop.captured(ask)
    assert [step.verdict for step in packet.steps] == ["refused", "ran", "refused", "refused"]
    assert reproduce(packet, shop.config).divergences == ()
    shop.configure()  # nobody would be asked today
    assert reproduce(packet, shop.config).divergences[0][:3] == (1, "shop.pay", "verdict")
    assert shop.count.read_text() == "x"


def test_a_call_goes_on_when_it_cannot_be_captured_and_the_log_says_so(shop: Shop) -> None:
    shop.configure("replay: {max_bytes: 2048}\n")

    def talk(runtime: Runtime, ctx: RunContext) -> None:
        assert runtime.executor.execute(ctx, "shop.look").success
        assert not runtime.executor.execute(ctx, "shop.none", {"long": "x" * 4000}).success
        assert runtime.executor.execute(ctx, "shop.look").success

    packet = shop.captured(talk)
    assert packet.missing == "the packet had reached its largest size"
    packets = open_packets(shop.config)
    with open_runtime() as runtime:
        payloads = runtime.database.query("SELECT payload FROM events WHERE payload LIKE '%\"capture\":%'")
        assert [json.loads(row[0])["capture"] for row in payloads] == ["the packet is full"]
        ctx = runtime.context("clerk")
        packets.file(ctx.run_id).path.mkdir()
        assert runtime.executor.execute(ctx, "shop.look").success
        payloads = runtime.database.query("SELECT payload FROM events WHERE run_id = ?", (ctx.run_id,))
        assert json.loads(payloads[-1][0])["capture"] == "failed: IsADirectoryError"


def test_runs_of_others_leave_nothing_and_a_run_that_was_joined_says_so(shop: Shop) -> None:
    packets = open_packets(shop.config)
    with open_runtime() as runtime, runtime.run("clerk") as ctx:
        runtime.executor.execute(ctx, "shop.look")
        assert not shop.config.home.packets.exists()
        packets.capture("clerk", on=True)
        with open_runtime() as later:
            ctx_of_other = later.context("other")
            assert later.executor.execute(ctx_of_other, "shop.look").success
            assert later.executor.execute(ctx, "shop.look").success
    (packet,), wrong = packets.packets()
    assert (packet.run_id, wrong) == (ctx.run_id, [])
    assert packets.read(ctx.run_id).missing == "its first calls were made before it was captured"


def test_packet_cut_off_before_its_first_call_is_not_called_the_same(shop: Shop, sb: CommandLine) -> None:
    packet = shop.captured(lambda runtime, ctx: None)
    assert sb("replay", "run", packet.run_id).out == f"{packet.run_id}: 0 calls, all as captured\n"
    path = open_packets(shop.config).file(packet.run_id).path
    path.write_bytes(path.read_bytes()[:-1])
    cut = sb("replay", "run", packet.run_id)
    assert (cut.code, cut.out) == (1, "")
    assert "no call of" in cut.err
    assert "its end was cut off" in cut.err


def test_commands_show_differences_without_secrets_and_delete(shop: Shop, sb: CommandLine) -> None:
    token = "ghp_" + "a1B2" * 9

    def leak(runtime: Runtime, ctx: RunContext) -> None:
        runtime.executor.execute(ctx, "shop.none", {"token": token})

    first, second = shop.captured(leak), shop.captured(sell)
    assert sb("replay", "capture", "--json").json == {"items": ["clerk"]}
    listed = sb("replay", "list", "--json").json
    assert [item["run_id"] for item in listed["items"]] == [second.run_id, first.run_id]
    same = sb("replay", "run", second.run_id[:9])
    assert (same.code, same.out) == (0, f"{second.run_id}: 5 calls, all as captured\n")
    differ = sb("replay", "diff", first.run_id, second.run_id)
    assert (differ.code, token in differ.out + differ.err) == (1, False)
    assert "call 1, shop.none: call: " in differ.out
    assert "[redacted:" in differ.out
    assert token.encode() not in open_packets(shop.config).file(first.run_id).path.read_bytes()
    assert sb("replay", "delete", first.run_id, "--yes").code == 0
    gone = sb("replay", "run", first.run_id)
    assert (gone.code, gone.err.splitlines()[0]) == (1, f"sb: error: no packet of {first.run_id}")
    unknown = sb("replay", "run", second.run_id, "--agent", "nowhere:work")
    assert (unknown.code, "nowhere:work: No module named 'nowhere'" in unknown.err) == (2, True)
    assert sb("replay", "capture", "clerk", "--off").out == "no agent is captured\n"


def test_an_agent_that_fails_by_itself_is_no_error_of_sb(shop: Shop, sb: CommandLine) -> None:
    packet = shop.captured(sell)
    done = sb("replay", "run", packet.run_id, "--agent", "os:getcwd")
    assert (done.code, "getcwd failed: TypeError: " in done.err, "internal" in done.err) == (1, True, False)


def test_packets_are_listed_by_when_their_runs_began(shop: Shop) -> None:
    runs = [shop.captured(sell).run_id for _ in range(2)]
    shelf = open_packets(shop.config)
    os.utime(shelf.file(runs[0]).path, (2e9, 2e9))
    assert [packet.run_id for packet in shelf.packets()[0]] == runs[::-1]


def test_old_packets_are_removed_when_the_next_run_begins(shop: Shop) -> None:
    packet = shop.captured(sell)
    path = open_packets(shop.config).file(packet.run_id).path
    os.utime(path, (path.stat().st_mtime - 31 * 86_400,) * 2)
    shop.captured(sell)
    assert not path.exists()


def test_a_failed_call_fails_again_with_the_same_code(shop: Shop) -> None:
    packet = shop.captured(sell)
    codes: list[Any] = []

    def look(runtime: Runtime, ctx: RunContext) -> None:
        codes.append(runtime.executor.execute(ctx, "shop.break").error_code)

    reproduce(packet, shop.config, look)
    assert codes == [ToolErrorCode.UNEXPECTED]


def test_a_replay_fetches_no_credential(shop: Shop, tmp_path: Path) -> None:
    fetched, value = tmp_path / "fetched", "plover-quartz-9931-zx"
    source = tmp_path / "source.py"
    source.write_text(f"open({str(fetched)!r}, 'a').write('x')\nprint({value!r})\n", encoding="utf-8")
    shop.configure(f"credentials: {{billing: 'command:{sys.executable} {source}'}}\n")
    got: list[str] = []

    def register(runtime: Runtime) -> None:
        def send(token: str) -> str:
            got.append(token)
            return f"sent with {token}"

        metadata = {"credentials": {"token": "billing"}}
        runtime.registry.register_fn("shop.send", "send", send, SafetyClass.LOCAL_WRITE, metadata=metadata)
        approve_tools(runtime)

    def work(runtime: Runtime, ctx: RunContext) -> None:
        if not got:
            register(runtime)
        assert runtime.executor.execute(ctx, "shop.send").success

    packet = shop.captured(work)
    assert (got, fetched.read_text()) == ([value], "x")
    assert value not in str(packet)
    for agent in (None, work):
        found = reproduce(packet, shop.config, agent, register)
        assert found.divergences == ()
        assert found.steps[0].args == {"token": "[reference:billing]"}
    assert (got, fetched.read_text()) == ([value], "x")


def test_an_agent_s_calls_get_the_answers_that_people_gave_in_the_packet(shop: Shop) -> None:
    shop.configure("policy: [{approve: shop.pay, name: ask}]\n")

    def ask(runtime: Runtime, ctx: RunContext, amount: int) -> ToolErrorCode | None:
        return runtime.executor.execute(ctx, "shop.pay", {"amount": amount}).error_code

    def work(runtime: Runtime, ctx: RunContext) -> None:
        assert [ask(runtime, ctx, amount) for amount in (3, 4)] == [ToolErrorCode.PERMISSION_DENIED] * 2
        if live:
            newest, oldest = runtime.approvals.page()
            runtime.approvals.approve(oldest.id, Label("ada"), "as asked")
            runtime.approvals.deny(newest.id, Label("ada"), "too dear")
        assert [ask(runtime, ctx, amount) for amount in (3, 4)] == [None, ToolErrorCode.PERMISSION_DENIED]

    live = True
    packet = shop.captured(work)
    live = False
    assert reproduce(packet, shop.config, work).divergences == ()
    assert reproduce(packet, shop.config).divergences == ()
    assert shop.count.read_text() == "x"


def test_a_call_that_a_grant_let_pass_passes_for_the_agent_too(shop: Shop) -> None:
    shop.configure("policy: [{approve: shop.pay, name: ask}]\n")

    def work(runtime: Runtime, ctx: RunContext) -> None:
        assert runtime.executor.execute(ctx, "shop.pay", {"amount": 3}).success

    with open_runtime() as runtime:
        approve_tools(runtime)
        runtime.executor.execute(RunContext.create("clerk"), "shop.pay", {"amount": 9})
        (waiting,) = runtime.approvals.page()
        runtime.approvals.grant(waiting.id, Label("ada"), "today", lasting_s=60, args={"amount": "*"})
    packet = shop.captured(work)
    assert reproduce(packet, shop.config, work).divergences == ()


def test_a_packet_is_written_while_the_log_is_free(shop: Shop) -> None:
    class Writer(MemoryCapture):
        """Takes the log's place as its only writer for a moment, which fails while somebody else holds it."""

        free = 0

        def ended(self, call: ToolCall, outcome: Outcome) -> dict[str, Any]:
            other = driver.connect(database)
            other.execute("PRAGMA busy_timeout = 0")
            other.execute("BEGIN IMMEDIATE")
            other.close()
            self.free += 1
            return super().ended(call, outcome)

    capture = Writer()
    with open_runtime(capture=capture) as runtime:
        approve_tools(runtime)
        database = runtime.config.database
        with runtime.run("clerk", "sell") as ctx:
            runtime.executor.execute(ctx, "shop.look")
            runtime.executor.execute(ctx, "shop.pay", {"amount": 3})
    assert capture.free == 2


def test_what_differs_is_told_without_secrets(shop: Shop) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    then, now = (Step("shop.pay", {"key": text}, "ran", value=text) for text in (secret, "other"))
    parted = [*divergences([then], [now]), *divergences([then], []), *divergences([], [then])]
    assert len(parted) == 3
    assert secret not in repr(parted)
