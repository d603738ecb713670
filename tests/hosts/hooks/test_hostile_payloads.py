"""Adapters on payloads with anything in their fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.hosts.hooks.event import Decision, HookVerdict, Moment
from sb.hosts.registry import WITH_HOOKS, adapter_for
from tests.hosts.hooks import recorded
from tests.rows import rows

PROJECT = Path("/data/ada/shop")
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("host", WITH_HOOKS)
@given(data=st.data())
def test_every_payload_is_read_and_every_event_answered(host: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(recorded.names(host)))
    sent = recorded.payload(host, name, PROJECT)
    for field in data.draw(st.lists(st.sampled_from(sorted(sent)), max_size=4)):
        sent[field] = data.draw(anything)
    adapter = adapter_for(host, sent)
    event = adapter.read(sent)
    assert all(isinstance(value, str) for value in (event.name, event.session_id, event.cwd, event.agent_id))
    assert event.moment is not Moment.BEFORE or len(event.calls) == 1
    for call in event.calls:
        assert isinstance(call.args, dict)
        assert 0 <= call.ms < 1e12
    for verdict in (HookVerdict(), HookVerdict(Decision.ASK, "\ud800"), HookVerdict(Decision.DENY, "no\n")):
        answer = adapter.answer(event, verdict)
        assert answer.stdout == "" or isinstance(json.loads(answer.stdout), dict)
        refuses = verdict.decision is not Decision.NONE and event.moment is Moment.BEFORE
        assert (answer.code != 0 or answer.stdout != "") or not refuses


@rows("host", recorded.HOSTS)
def test_gating_event_is_recognised_by_its_own_fields_alone(host: str) -> None:
    for name in recorded.ASKING[host]:
        sent: dict[str, Any] = recorded.payload(host, name, PROJECT)
        inside = {
            "hook_event_name": "Stop",
            "hookEventName": "Stop",
            "event": "session.idle",
            "toolResult": {},
        }
        for field in ("tool_input", "toolArgs", "args", "tool_info"):
            if isinstance(sent.get(field), dict):
                sent[field] = sent[field] | inside
        adapter = adapter_for(host, sent)
        assert (adapter.host, adapter.read(sent).moment) == (host, Moment.BEFORE)
