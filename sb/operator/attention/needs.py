"""List what needs a person now: kills, requests, unknown outcomes, reversals, contracts, memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field, replace

from sb.base.sources import MICROSECONDS
from sb.base.values.frozen import frozen
from sb.config import Config
from sb.errors import SBError
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.approvals.queue import ApprovalQueue, Order
from sb.kernel.authority.authority import Authority
from sb.kernel.baselines.store import ContractBaselineStore, ContractEntry
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.calls.intents import Intent
from sb.kernel.contracts import KERNEL_SURFACE
from sb.kernel.durable_execution.doubt import in_doubt
from sb.kernel.incident_response.kill import Kill
from sb.kernel.recovery_loop.escalations import UNSETTLED, Escalation, Escalations, EscalationState
from sb.kernel.review.findings import Finding, Status
from sb.kernel.review.needs import CallOrigin, call_args, call_origins
from sb.log.event_log import EventLog
from sb.present.contracts import ordered
from sb.present.needs import (
    Need,
    contract_need,
    kill_need,
    request_need,
    reversal_need,
    review_need,
    unknown_need,
)
from sb.stack.review_queue import ReviewKind, ReviewQueue

# Reversals that a person looks at; those with an unknown outcome are among the calls with one.
_REVERSALS = frozenset(UNSETTLED) - {EscalationState.IN_DOUBT}
# What can need a person: its name in JSON, and what one of it is called.
NOUNS = {
    "kills": "kill",
    "requests": "request",
    "unknown": "unknown outcome",
    "reversals": "reversal",
    "contracts": "contract",
    "reviews": "memory review",
}


@frozen
class NeedsNow:
    """Needs of a person now.

    Args:
        counts: by kind, true ones, where `items` has only the first of each.
        problems: what could not be read.
        keys: of all that needs a person.
    """

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NOUNS, 0))
    items: tuple[Need, ...] = ()
    problems: tuple[Finding, ...] = ()
    keys: frozenset[str] = frozenset()

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.counts.values())


class NeedsReader:
    """Reads what needs a person, again and again, for Home, `sb status` and `sb watch`; for one thread at a time."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._review = ReviewQueue(log.database)

    def decisions(
        self, contracts: Sequence[ContractEntry], *, most: int = 50, known: Collection[str] = ()
    ) -> NeedsNow:
        """Needs of a decision, in the order of lists; without kills, whose signatures take long to check.

        Args:
            contracts: all of them.
            most: of each kind, that are described.
            known: keys of what is not described again.

        Raises:
            StoreError: the database cannot be read.
        """
        now = int(self._log.clock.now() * MICROSECONDS)
        calls = needs(self._log, most, known)
        amiss = [item for entry in ordered(contracts) if (item := contract_need(entry, now))]
        reviews = self._review.waiting()
        described = self._review.items(most, known) if reviews else []
        return NeedsNow(
            calls.counts | {"contracts": len(amiss), "reviews": len(reviews)},
            (
                *calls.items,
                *[item for item in amiss if item.key not in known][:most],
                *(review_need(item, now) for item in described if item.kind is not ReviewKind.TRIGGER),
            ),
            (),
            frozenset({*calls.keys, *(item.key for item in amiss), *reviews}),
        )

    def all_needs(
        self, config: Config, authority: Authority, *, most: int, known: Collection[str] = ()
    ) -> NeedsNow:
        """Kills, then what needs a decision; secrets are masked, since nobody decides by these texts.

        Args:
            most, known: as `decisions` has them.

        Raises:
            StoreError: the database cannot be read.
        """
        problems: list[Finding] = []
        kills = [kill_need(kill) for kill in _kills(config, self._log, problems)]
        contracts = ContractBaselineStore(self._log, authority, KERNEL_SURFACE).entries()
        found = self.decisions(contracts, most=most, known=known)
        items = (*(item for item in kills if item.key not in known), *found.items)
        return replace(
            found,
            counts=found.counts | {"kills": len(kills)},
            items=tuple(item.masked() for item in items),
            problems=tuple(problems),
            keys=found.keys | {item.key for item in kills},
        )


def _kills(config: Config, log: EventLog, problems: list[Finding]) -> list[Kill]:
    """Active kills, the newest first; unreadable ones are a problem, not the end."""
    from sb.runtime.parts import open_kill_switch  # with the judge of command lines, which Home does not need

    try:
        return open_kill_switch(config, log).active()[::-1]
    except SBError as error:
        problems.append(Finding("killed", Status.FAIL, f"every call is denied: {error.message}", error.hint))
        return []


def needs(log: EventLog, most: int = 50, known: Collection[str] = ()) -> NeedsNow:
    """The calls that wait for a person: requests, by effect; then those with unknown outcomes and reversals.

    Args:
        most: of each kind, that are described. known: keys of what is not described again.
    """
    queue = ApprovalQueue(log)
    reversals = {
        f"reversal {it.id} {it.state}": it for it in Escalations(log).page(limit=0) if it.state in _REVERSALS
    }
    asked = {it.approval_id for it in reversals.values() if it.approval_id}
    waiting = {
        f"request {number}": number
        for number in queue.numbers(states=[ApprovalState.WAITING], order=Order.EFFECT)
    }
    fresh = [number for key, number in waiting.items() if key not in known][: most + len(asked)]
    found = queue.numbered(fresh)
    requests = [found[number] for number in fresh if number in found and found[number].id not in asked]
    doubtful = {f"unknown {it.call_id}": it for it in in_doubt(log)[::-1]}
    described: list[Disclosure | Intent | Escalation] = [
        *map(queue.disclose, requests[:most]),
        *[it for key, it in doubtful.items() if key not in known][:most],
        *[it for key, it in reversals.items() if key not in known][:most],
    ]
    origins = call_origins(log, {_run_of(it) for it in described})
    now = int(log.clock.now() * MICROSECONDS)
    counts = {
        "requests": len(waiting) - sum(it.state is EscalationState.WAITING for it in reversals.values()),
        "unknown": len(doubtful),
        "reversals": len(reversals),
    }
    return NeedsNow(
        dict.fromkeys(NOUNS, 0) | counts,
        tuple(_need(log, it, origins.get(_run_of(it), CallOrigin()).project_name, now) for it in described),
        keys=frozenset({*waiting, *doubtful, *reversals}),
    )


def _run_of(about: Disclosure | Intent | Escalation) -> str:
    return about.approval.run_id if isinstance(about, Disclosure) else about.run_id


def _need(log: EventLog, about: Disclosure | Intent | Escalation, project: str, now: int) -> Need:
    """A request, a call with an unknown outcome or a reversal; `now` in microseconds since the epoch."""
    if isinstance(about, Disclosure):
        return request_need(about, project, now)
    if isinstance(about, Escalation):
        return reversal_need(about, call_args(log, about.run_id, about.call_id), project, now)
    return unknown_need(about, list(log.events(run_id=about.run_id, call_id=about.call_id)), project, now)
