"""List what needs a person now: kills, requests, unknown outcomes, reversals, contracts, memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sb.base.sources import MICROSECONDS
from sb.config import Config
from sb.errors import SBError
from sb.kernel.authority.authority import Authority
from sb.kernel.baselines.store import ContractBaselineStore, ContractEntry
from sb.kernel.contracts import KERNEL_SURFACE
from sb.kernel.incident_response.kill import Kill
from sb.kernel.review.findings import Finding, Status
from sb.log.event_log import EventLog
from sb.present.contracts import ordered
from sb.present.needs import NeedsNow, contract_need, kill_need, needs, review_need
from sb.stack.review_queue import ReviewKind, ReviewQueue


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
        kills = [kill_need(one) for one in _kills(config, self._log, problems)]
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
