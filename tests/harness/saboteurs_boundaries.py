"""Saboteurs of charters, releases and context sources."""

from __future__ import annotations

import pytest

from sb.kernel.boundaries.charter import AgentCharter
from sb.kernel.boundaries.charters import Charters
from tests.harness.saboteurs import breaks


@breaks("HA-06")
def charters_that_nobody_approved_count(patch: pytest.MonkeyPatch) -> None:
    real = Charters.entry

    def entry(*given: object, **named: object) -> object:
        return real(*given, **named)._replace(problem="")  # type: ignore[arg-type]

    patch.setattr(Charters, "entry", entry)


@breaks("HA-06")
def permissions_count_before_denials(patch: pytest.MonkeyPatch) -> None:
    real = AgentCharter.intent_refusal

    def refusal(charter: AgentCharter, intent: str) -> str:
        reason = real(charter, intent)
        return "" if "denies" in reason else reason

    patch.setattr(AgentCharter, "intent_refusal", refusal)


@breaks("HA-06")
def charters_limit_no_tools(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AgentCharter, "tool_refusal", lambda *_: "")
