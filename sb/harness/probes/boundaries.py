"""Probes of charters, releases and context sources."""

from __future__ import annotations

from collections.abc import Iterator

from sb.errors import ContractError
from sb.harness.harness import AUDITOR, Harness, saw
from sb.kernel.boundaries.charter import AgentCharter
from sb.kernel.contracts import SafetyClass, ToolErrorCode
from sb.kernel.harness_audit import Check
from sb.parts import open_charters
from sb.runtime import Runtime

DENIED = ToolErrorCode.PERMISSION_DENIED
_CHARTER = """\
agent: agent
purpose: Answers the audit.
owner: auditor
review_by: 2099-01-01
intents: {allow: ["probe.*"], deny: [probe.never]}
capabilities: {tools: [probe.read, probe.send], ceiling: local_write}
"""


def agent_charter(h: Harness) -> Iterator[Check]:
    """HA-06."""
    folder = h.folder / "home" / "charters"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o700)
    (folder / "agent.yaml").write_text(_CHARTER, encoding="utf-8")
    with h.open({"agent_charters": "enforce"}) as runtime:
        read, other = h.tool(runtime, "probe.read"), h.tool(runtime, "probe.other")
        send = h.tool(runtime, "probe.send", safety_class=SafetyClass.NETWORK)
        unapproved = runtime.executor.execute(h.context(intent="probe.look"), "probe.read")
        _approve(runtime)
        h.clock.sleep(2.0)  # what is approved is read again after a second

        def call(intent: str, tool: str = "probe.read") -> tuple[bool, str]:
            counted = {"probe.read": read, "probe.other": other, "probe.send": send}[tool]
            before = counted.called
            result = runtime.executor.execute(h.context(intent=intent), tool)
            refused = result.error_code == DENIED and counted.called == before
            return refused, saw(result, counted)

        refused, seen = call("probe.look")
        held = not refused and read.called == 1 and unapproved.error_code == DENIED
        yield Check("intent", held, f"unapproved {saw(unapproved)}; approved {seen}")
        refused, seen = call("probe.never")
        both = AgentCharter("agent", "p", "o", ("probe.never",), ("probe.never",)).permits("probe.never")
        yield Check("both", refused and not both, f"{seen}; AgentCharter.permits: {both}")
        found = [call(intent) for intent in ("elsewhere", "")]
        yield Check("unknown", all(one for one, _ in found), "; ".join(seen for _, seen in found))
        found = [call("probe.look", tool) for tool in ("probe.other", "probe.send")]
        yield Check("capabilities", all(one for one, _ in found), "; ".join(seen for _, seen in found))
    yield Check("unowned", _unowned(), "AgentCharter without owner, and without purpose: ContractError")


def _approve(runtime: Runtime) -> None:
    charters = open_charters(runtime.config, runtime.log, runtime.approvals.authority)
    charters.approve("agent", "", AUDITOR, "the probe's own charter")


def _unowned() -> bool:
    refused = 0
    for purpose, owner in (("", "o"), ("p", "")):
        try:
            AgentCharter("agent", purpose, owner)
        except ContractError:
            refused += 1
    return refused == 2
