"""Records that the palette finds by typed words: requests, agents, memories, and any by its id."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sb.screens.state.memory import MemorySearch, read_records
from sb.screens.state.records import Records

from sb.base.text import plain
from sb.base.values.frozen import frozen
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.review.host_sessions import connected_agents
from sb.present.approvals import short_call
from sb.present.approvals import state_word as request_state
from sb.present.memories import state_word as memory_state
from sb.present.times import ago

CHECKPOINT = r"\S+_\d{8}_\d{6}_\d{6}_[0-9a-f]{8}"
MEMORY = r"(?:mem|sug)_[0-9a-z_]{4,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # those of cores are UUIDs
_RECORD = re.compile(rf"(?:call|run|apr|esc|mut)_[0-9a-z_]{{4,}}|\d{{1,12}}|{MEMORY}|{CHECKPOINT}")
MOST = 5  # of each kind
SHORTEST = 2  # characters for which anything is looked up


@frozen
class FoundRecord:
    """One record that fits.

    Args:
        about: its state and age. reference: its id.
    """

    text: str
    about: str
    reference: str


def is_reference(text: str) -> bool:
    """True if this is the id of a record, or its beginning."""
    return bool(_RECORD.fullmatch(text))


def find_records(records: Records, text: str) -> list[FoundRecord]:
    """The newest requests, agents and memories that have all these words; called in a worker."""
    if len(text) < SHORTEST or is_reference(text):
        return []
    now = int(records.clock.now() * 1_000_000)
    return [*_requests(records, text, now), *_agents(records, text, now), *_memories(records, text)]


def _requests(records: Records, text: str, now: int) -> Iterator[FoundRecord]:
    queue = ApprovalQueue(records.log("find"))
    for approval in queue.page(words=text, limit=MOST):
        state = request_state(approval.at(now), now)
        about = f"{state} {ago(approval.requested_at, now)}"
        yield FoundRecord(short_call(queue.disclose(approval)), about, approval.id)


def _agents(records: Records, text: str, now: int) -> Iterator[FoundRecord]:
    words = text.lower().split()
    fitting = [
        agent
        for agent in connected_agents(records.log("find"))
        if all(word in f"{agent.agent} {agent.host} {agent.project}".lower() for word in words)
    ]
    for agent in fitting[:MOST]:
        about = f"agent {ago(agent.last_seen_at, now)}"
        yield FoundRecord(f"{agent.host} {agent.project_name}", about, agent.run_id)


def _memories(records: Records, text: str) -> Iterator[FoundRecord]:
    log = records.log("find")
    found = next(MemorySearch(text).look(log), None)
    for record in read_records(log, list(found.keys[:MOST]) if found else []):
        about = f"{record['kind']} {memory_state(record)}"
        yield FoundRecord(plain(record["text"], one_line=True), about, str(record["uid"]))
