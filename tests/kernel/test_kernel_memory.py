"""The three tiers of memory, as the kernel reference documents them."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.sources import SteeredClock
from sb.kernel import RunContext
from sb.kernel.memory import (
    DurableMemory,
    EpisodicMemory,
    MemoryBundle,
    MemoryEntry,
    MemoryProtocol,
    MemoryStore,
    WorkingMemory,
)
from sb.state import EventLog
from sb.store.database import open_database
from tests.rows import rows


def bundle(clock: SteeredClock | None = None, store: MemoryStore | None = None) -> MemoryBundle:
    return MemoryBundle.create("t" * 32, "session", memory_store=store, clock=clock or SteeredClock())


def test_the_documented_calls_work(tmp_path: Path) -> None:
    ctx = RunContext.create(agent_name="my_agent", session_id="sess_abc")
    event_log = EventLog()
    mem_store = MemoryStore(open_database(tmp_path / "brain.db"), "my_agent")
    memory = MemoryBundle.create(
        trace_id=ctx.trace_id,
        session_id=ctx.session_id,
        event_log=event_log,
        memory_store=mem_store,
    )
    memory.working.put("last_result", {"items": [1, 2]})
    assert memory.working.get("last_result") == {"items": [1, 2]}
    memory.episodic.put("step_1_output", {"ok": True}, source="tool.vault_read")
    memory.durable.put("user_preference", "compact", ttl_s=86400.0)
    assert memory.durable.get("user_preference") == "compact"


@pytest.mark.parametrize("tier", [WorkingMemory, EpisodicMemory, DurableMemory])
def test_every_tier_has_the_documented_protocol(tier: type[Any]) -> None:
    memory = tier()
    assert isinstance(memory, MemoryProtocol)
    for name in ("put", "get", "delete", "list_keys"):
        documented = inspect.signature(getattr(MemoryProtocol, name))
        assert inspect.signature(getattr(tier, name)).parameters.keys() == documented.parameters.keys()
    assert memory.get("none", "default") == "default"
    memory.put("b", 1)
    memory.put("a", 2)
    assert memory.list_keys() == ["a", "b"]
    assert memory.delete("a") is True
    assert memory.delete("a") is False
    assert memory.get("a") is None


def test_working_and_episodic_memory_can_be_looked_at_as_a_whole() -> None:
    memory = bundle()
    memory.working.put("x", 1)
    memory.episodic.put("y", 2)
    assert memory.working.snapshot() == {"x": 1}
    assert memory.episodic.snapshot() == {"y": 2}


@pytest.mark.parametrize("tier", ["working", "episodic", "durable"])
def test_a_value_lives_as_long_as_its_ttl_and_no_longer(tier: str) -> None:
    clock = SteeredClock()
    memory = getattr(bundle(clock), tier)
    memory.put("k", "v", ttl_s=10.0)
    memory.put("for ever", "v")
    clock.time += 9.9
    assert memory.get("k") == "v"
    clock.time += 0.1
    assert memory.list_keys() == ["for ever"]
    assert memory.get("k") is None
    clock.time += 10**9
    assert memory.get("for ever") == "v"


def test_durable_memory_survives_a_restart_and_the_others_do_not(tmp_path: Path) -> None:
    for run in range(2):
        database = open_database(tmp_path / "brain.db")
        memory = bundle(store=MemoryStore(database, "a"))
        if run == 0:
            for tier in (memory.working, memory.episodic, memory.durable):
                tier.put("k", {"n": [1, None, "x"]})
        else:
            assert memory.durable.get("k") == {"n": [1, None, "x"]}
            assert memory.working.get("k") is None
            assert memory.episodic.get("k") is None
        database.close()


def test_durable_memory_belongs_to_its_agent(tmp_path: Path) -> None:
    database = open_database(tmp_path / "brain.db")
    mine, yours = (bundle(store=MemoryStore(database, agent)).durable for agent in ("me", "you"))
    mine.put("k", "mine")
    assert yours.get("k") is None
    yours.put("k", "yours")
    assert (mine.get("k"), yours.get("k")) == ("mine", "yours")
    other_session = MemoryBundle.create("u" * 32, "another", memory_store=MemoryStore(database, "me"))
    assert other_session.durable.get("k") == "mine"
    assert database.query("SELECT session_id FROM memory WHERE agent = 'me'") == [("session",)]


def test_reads_and_writes_are_events_and_only_episodic_ones_tell_their_value() -> None:
    log = EventLog()
    memory = MemoryBundle.create("t" * 32, event_log=log)
    memory.working.put("w", "working value")
    memory.episodic.put("e", "mail bob@example.org", source="tool.x")
    memory.durable.put("d", "durable value")
    memory.durable.get("d")
    memory.durable.get("missing")
    events = [(event.kind, event.payload) for event in log.events()]
    assert events == [
        ("kernel.memory.put", {"tier": "working", "key": "w", "source": ""}),
        (
            "kernel.memory.put",
            {"tier": "episodic", "key": "e", "source": "tool.x", "value": "mail [redacted:email]"},
        ),
        ("kernel.memory.put", {"tier": "durable", "key": "d", "source": ""}),
        ("kernel.memory.get", {"tier": "durable", "key": "d", "source": ""}),
    ]


def test_an_entry_has_the_documented_fields() -> None:
    entry = MemoryEntry("plan", {"a": 1}, "episodic")
    assert (entry.source, entry.confidence, entry.ttl_s) == ("", 1.0, None)
    assert entry.created_at_s > 1_600_000_000
    assert entry.is_expired() is False
    assert MemoryEntry("k", 1, "durable", created_at_s=0.0, ttl_s=1.0).is_expired() is True
    assert [MemoryEntry("k", 1, tier).entry_id for tier in ("working", "episodic", "durable")] == [
        "mem_wor_k",
        "mem_epi_k",
        "mem_dur_k",
    ]


@rows("key, ttl_s", [("", None), ("k", 0.0), ("k", -1.0), ("k", float("nan"))])
def test_an_empty_key_or_a_ttl_that_is_not_positive_is_refused(key: str, ttl_s: float | None) -> None:
    with pytest.raises(ValueError, match=r"key|ttl_s"):
        bundle().working.put(key, 1, ttl_s=ttl_s)


def test_what_is_not_json_cannot_be_durable_in_the_database(tmp_path: Path) -> None:
    memory = bundle(store=MemoryStore(open_database(tmp_path / "brain.db"), "a"))
    with pytest.raises(ValueError, match="cannot be kept"):
        memory.durable.put("k", object())
    with pytest.raises(ValueError, match="owner"):
        MemoryStore(open_database(tmp_path / "brain.db"), "")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(key=st.text(min_size=1), value=JSON)
def test_any_json_value_comes_back_as_it_was(key: str, value: Any) -> None:
    memory = bundle(store=MemoryStore(DATABASE, "a"))
    memory.durable.put(key, value)
    assert memory.durable.get(key) == value
    assert memory.durable.delete(key)


DATABASE = open_database(":memory:")
