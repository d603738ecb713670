"""Refusals of memories that read like attacks, put on record once the refused transaction is rolled back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sb.base.text import checked_name, shorten
from sb.config.guards import OFF
from sb.errors import DeniedError
from sb.memory.space import Space

if TYPE_CHECKING:
    from sb.kernel.red_team.verdict import AttackVerdict

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


_RELATION = re.compile(r"[^\W_][\w.:/-]*(?: [\w.:/-]+){0,5}")
_LONGEST_RELATION = 60  # characters


def checked_relation(space: Space, relation: str, agent: str) -> str:
    """A relation's name, as other agents may be shown it beside titles: no sentence, and nothing that reads like an attack.

    Raises:
        ValueError: it is no name. AttackRefused: it reads like an attack, and `memory.attacks` is not off; it has no
            state in which it could wait.
    """
    name = checked_name("relation", relation).strip()
    if len(name) > _LONGEST_RELATION or not _RELATION.fullmatch(name):
        raise ValueError(
            f"relation is {shorten(name, 40)!r}, may be up to six words and {_LONGEST_RELATION} characters, such as depends_on"
        )
    if space.settings.attacks != OFF:
        from sb.kernel.red_team.detector import check
        from sb.kernel.red_team.verdict import Origin

        phrase = name.replace("_", " ").replace("-", " ")
        verdict = check(phrase, origin=Origin.MEMORY)
        if verdict.flagged:
            raise AttackRefused(verdict, name, agent)
    return name


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
        from sb.kernel.red_team.screening import record_attack
        from sb.log.event import Subject
        from sb.log.event_log import EventLog

        log = EventLog(space.database, clock=space.clock, ids=space.ids)
        subject = Subject(agent=refusal.agent or agent)
        record_attack(log, refusal.verdict, refusal.text, subject, place=MEMORY, action="refuse")
        raise
