"""The registered capabilities of an agent hold for its calls, its prompts and its record, with and without a charter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sb.context_packs import ContextPack, PackStore
from sb.contracts.envelopes import ContextEnvelope
from sb.decisions.resolver import DecisionResolver
from sb.errors import DeniedError, SBError
from sb.kernel.contracts import AgentCapabilities, SafetyClass, ToolErrorCode
from sb.log.kinds import RUN_STARTED
from tests.conftest import approve_tools
from tests.kernel.boundaries.conftest import CLERK, Office

DECISION = DecisionResolver().resolve("support.context.injection.v1")
POLICY, TRANSCRIPT = (
    ContextPack("support.policy", "1", "Be kind."),
    ContextPack("meeting.transcript", "1", "Ana: hi"),
)


def test_the_capabilities_of_the_kernel_reference_hold(office: Office) -> None:
    caps = AgentCapabilities(
        agent_name="meeting_copilot",
        description="Extracts action items and risks from transcripts",
        required_packs=["meeting.transcript"],
        tool_allowlist=["meeting.extract_action_items", "meeting.identify_risks"],
        decision_keys=["support.meeting.extract", "support.meeting.followup"],
        safety_class_ceiling=SafetyClass.READ_ONLY,
        version="1.1.0",
    )
    with office.open(agent_charters="off") as runtime:
        runtime.registry.register_agent(caps)
        tools = (*caps.tool_allowlist, "meeting.invite")
        for tool in tools:
            runtime.registry.register_fn(tool, tool, lambda: "done")
        approve_tools(runtime)
        with runtime.run("meeting_copilot", "extract") as ctx:
            codes = [runtime.executor.execute(ctx, tool).error_code for tool in tools]
        assert codes == [None, None, ToolErrorCode.PERMISSION_DENIED]
        started = next(runtime.log.events(run_id=ctx.run_id, kind=RUN_STARTED))
        assert (started.payload or {})["agent_version"] == "1.1.0"
        with pytest.raises(
            DeniedError, match=r"meeting_copilot may not use decision support\.context\.injection\.v1"
        ):
            runtime.context_injector("meeting_copilot").build_plan(
                DECISION, ContextEnvelope(), PackStore([POLICY])
            )

        runtime.registry.register_agent(replace(caps, decision_keys=[]))
        injector = runtime.context_injector("meeting_copilot")
        with pytest.raises(SBError, match=r"requires context pack meeting\.transcript"):
            injector.build_plan(DECISION, ContextEnvelope(), PackStore([POLICY, TRANSCRIPT]))


def test_registered_capabilities_and_a_charter_both_hold(office: Office) -> None:
    office.write(CLERK.replace("  ceiling", "  required_packs: [support.policy]\n  ceiling"))
    with office.open() as runtime:
        office.approve(runtime)
        store = PackStore([POLICY])
        assert runtime.context_injector("clerk").build_plan(DECISION, ContextEnvelope(), store).items
        runtime.registry.register_agent(AgentCapabilities("clerk", required_packs=["support.tone"]))
        with pytest.raises(SBError, match=r"requires context pack support\.tone"):
            runtime.context_injector("clerk").build_plan(DECISION, ContextEnvelope(), store)
        runtime.registry.register_agent(AgentCapabilities("clerk"))
        with pytest.raises(SBError, match=r"requires context pack support\.policy"):
            runtime.context_injector("clerk").build_plan(DECISION, ContextEnvelope(), PackStore())
