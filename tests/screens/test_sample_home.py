"""The home that the gallery draws has something on every screen."""

from __future__ import annotations

from pathlib import Path

from sb.screens.actions import SECTIONS, TABS
from sb.screens.state.records import Records

from evals.gallery import STOPS
from evals.sample_home import fill
from sb.kernel.approvals.queue import ApprovalQueue
from sb.operator.attention.inbox import NOUNS


def test_the_sample_home_needs_a_person_in_every_way_and_every_screen_is_drawn(tmp_path: Path) -> None:
    records = Records(fill(tmp_path))
    waiting = {entry.counted_as for group in records.inbox() for entry in group.entries}
    assert waiting >= set(NOUNS) - {"kills"}
    assert records.kill_switch("look").active()
    queue = ApprovalQueue(records.log())
    assert len(queue.grants()) == 1
    assert {str(item.state) for item in queue.page()} >= {"waiting", "approved", "denied", "expired"}
    assert set(SECTIONS) | set(TABS) <= set(STOPS)
    records.close()
