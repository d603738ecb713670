"""Contracts that changed: what their tools may do now stands first."""

from __future__ import annotations

from typing import Any

import pytest

from sb.kernel.baselines.store import Baseline, BaselineStatus, ContractEntry
from sb.present.contracts import change_text
from sb.present.needs import contract_need

APPROVED = {"safety_class": "read_only", "description": "Look", "max_retries": 1}


def entry(**now: Any) -> ContractEntry:
    return ContractEntry(
        "kernel",
        "bank.look",
        BaselineStatus.CHANGED,
        "sha256:1",
        APPROVED | now,
        Baseline("bank.look", "sha256:0", "ada", "2026-01-01T00:00:00Z", "fine"),
        APPROVED,
        "shop",
        0,
    )


@pytest.mark.parametrize(
    ("now", "text", "why"),
    [
        ({"description": "Look and send"}, "description", "description changed"),
        ({"description": "Send", "max_retries": 2}, "2 fields", "2 fields changed"),
        ({"safety_class": "network"}, "read_only → network", "read_only → network"),
        (
            {"safety_class": "network", "description": "Send"},
            "read_only → network and 1 more field",
            "read_only → network and 1 more field",
        ),
    ],
)
def test_another_safety_class_is_named(now: dict[str, Any], text: str, why: str) -> None:
    changed = entry(**now)
    need = contract_need(changed, 0)
    assert change_text(changed) == text
    assert need is not None
    assert need.why == why


def test_what_a_tool_may_do_stands_before_how_it_is_described() -> None:
    changed = entry(args_schema=[], description="Send", safety_class="network")
    assert [change.path for change in changed.changes] == ["safety_class", "args_schema", "description"]
