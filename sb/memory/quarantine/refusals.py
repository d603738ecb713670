"""Refusals of memories that read like attacks, put on record once the refused transaction is rolled back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sb.errors import DeniedError
from sb.memory.space import Space

if TYPE_CHECKING:
    from sb.kernel.attacks.verdict import AttackVerdict

MEMORY = "memory"  # where the text was found


class AttackRefused(DeniedError):
    """A memory reads like an attack on a model, and `memory.attacks` is `refuse`.

    Args:
        text: what was read. agent: who would have written it.
    """

    def __init__(self, verdict: AttackVerdict, text: str, agent: str) -> None:
        kinds = ", ".join(verdict.categories)
        super().__init__(
            f"reads like an attack on a model ({kinds}), so it is not remembered", "memory.attacks = refuse"
        )
        self.verdict, self.text, self.agent = verdict, text, agent


@contextmanager
def attacks_on_record(space: Space, agent: str = "") -> Iterator[None]:
    """Put a refusal on record and raise it further; goes around the transaction, which takes its own rows back.

    Args:
        agent: who writes, where the memory does not say.

    Raises:
        AttackRefused: something is refused. SBError: that cannot be recorded.
    """
    try:
        yield
    except AttackRefused as refusal:
        from sb.kernel.attacks.screening import record_attack
        from sb.log.event import Subject
        from sb.log.event_log import EventLog

        log = EventLog(space.database, clock=space.clock, ids=space.ids)
        subject = Subject(agent=refusal.agent or agent)
        record_attack(log, refusal.verdict, refusal.text, subject, place=MEMORY, action="refuse")
        raise
