"""The inbox: all that waits for a person, of every kind, ranked by stake, with alike entries in one group."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sb.base.secrets.redaction import one_line
from sb.base.sources import MICROSECONDS, micros
from sb.base.values.frozen import frozen
from sb.config import Config
from sb.config.guards import OFF
from sb.errors import SBError
from sb.kernel.approvals.queue import ApprovalQueue, RequestFacts
from sb.kernel.authority.authority import Authority
from sb.kernel.baselines.store import BaselineStatus, ContractBaselineStore, ContractEntry
from sb.kernel.calls.approval import Approval
from sb.kernel.calls.intents import Intent
from sb.kernel.contracts import KERNEL_SURFACE, SafetyClass
from sb.kernel.durable_execution.doubt import in_doubt
from sb.kernel.incident_response.kill import Kill
from sb.kernel.recovery_loop.escalations import UNSETTLED, Escalation, Escalations, EscalationState
from sb.kernel.review.findings import Finding, Status
from sb.kernel.review.needs import CallOrigin, call_args, call_origins
from sb.log.event_log import EventLog
from sb.operator.attention.stake import LAST, Stake, call_stake, group_of, ranked, request_stake
from sb.present.effects import CHANGES, READS, WRITES, effect_word
from sb.present.needs import (
    Need,
    contract_need,
    kill_need,
    level_need,
    request_need,
    reversal_need,
    review_need,
    unknown_need,
)
from sb.stack.review_queue import ReviewItem, ReviewKind, ReviewQueue

if TYPE_CHECKING:  # keys and levels, which homes without autonomy do not need
    from sb.kernel.autonomy.proposals import Proposal, Proposals

# Reversals that a person looks at; those with an unknown outcome are among the calls with one.
_REVERSALS = frozenset(UNSETTLED) - {EscalationState.IN_DOUBT}
# What can need a person: its name in JSON, and what one of it is called. Stops stand last: they hold by themselves.
NOUNS = {
    "requests": "request",
    "unknown": "unknown outcome",
    "reversals": "reversal",
    "contracts": "contract",
    "reviews": "memory review",
    "proposals": "autonomy proposal",
    "kills": "kill",
}
_COUNTED = {
    "unknown": "unknown",
    "request": "requests",
    "reversal": "reversals",
    "contract": "contracts",
    "kill": "kills",
    "level": "proposals",
}
_REVIEWS = {
    ReviewKind.CONFLICT: ("conflict", "conflicting memories"),
    ReviewKind.QUARANTINE: ("quarantine", "quarantined memories"),
    ReviewKind.SUGGESTED: ("suggestion", "suggested memories"),
    ReviewKind.IGNORED: ("ignored", "ignored triggers and lessons"),
}
_WAITING_CONTRACTS = (BaselineStatus.NEW, BaselineStatus.CHANGED, BaselineStatus.UNREADABLE)
_LONGEST_LABEL = 80  # characters


class Waiting(NamedTuple):
    """One thing that waits for a person, as lists of many rank, group and filter it; `describe` has its words.

    Args:
        kind: request, unknown, reversal, contract, quarantine, conflict, suggestion, ignored, level or kill.
        reference: the id under which it is found. key: as `Need.key`.
        group: the same for alike ones. label: of all of that group.
        number: of a request.
        about: what was read of it; None of memories, which are read again.
        memory: the text of a memory, as it is shown.
    """

    kind: str
    reference: str
    key: str
    group: str
    label: str
    stake: Stake
    agent: str = ""
    tool: str = ""
    number: int = 0
    about: Any = None
    memory: str = ""

    @property
    def text(self) -> str:
        """The text in which words are looked for."""
        facts = self.about if isinstance(self.about, RequestFacts) else None
        words = (facts.command or facts.args or "", facts.does or "") if facts else (self.memory,)
        return " ".join(map(str, (self.reference, self.label, self.agent, self.tool, *words)))

    @property
    def counted_as(self) -> str:
        """Its name in NOUNS."""
        return _COUNTED.get(self.kind, "reviews")


@frozen
class Group:
    """Alike entries, the highest stake first.

    Args:
        label: such as `git branch -D`, or a tool.
    """

    label: str
    entries: tuple[Waiting, ...]

    @property
    def stake(self) -> Stake:
        """The highest of its entries."""
        return self.entries[0].stake


@frozen
class NeedsNow:
    """Needs of a person now, the highest stake first, alike ones together.

    Args:
        counts: by kind, true ones, where `items` has only the first of each.
        problems: what could not be read.
        keys: of all that needs a person.
        groups: the key of each of them to its group.
    """

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NOUNS, 0))
    items: tuple[Need, ...] = ()
    problems: tuple[Finding, ...] = ()
    groups: dict[str, str] = field(default_factory=dict)

    @property
    def keys(self) -> frozenset[str]:
        """The keys of all that needs a person."""
        return frozenset(self.groups)

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.counts.values())


class InboxReader:
    """Reads what waits for a person, again and again; for one thread at a time. What cannot change is cached."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._queue = ApprovalQueue(log)
        self._review = ReviewQueue(log.database, log.clock)
        self._requests: dict[int, Waiting] = {}
        self._reviews: dict[str, Waiting] = {}
        self._calls: dict[str, dict[str, Any]] = {}
        self._proposals: Proposals | None = None

    def waiting(
        self,
        contracts: Sequence[ContractEntry],
        *,
        kills: Sequence[Kill] = (),
        proposals: Sequence[Proposal] = (),
        filter: Callable[[Waiting], bool] | None = None,
    ) -> list[Group]:
        """Groups of what waits, the highest stake first.

        Args:
            contracts: all of them.
            kills: in force; their signatures take long to check, so who lists them reads them.
            proposals: of higher autonomy, as `proposals` gives them.
            filter: what is listed; None for all.

        Raises:
            StoreError: the database cannot be read.
        """
        now = micros(self._log.clock.now())
        classes = {entry.tool_id: _class(entry) for entry in contracts}
        reversals = [it for it in Escalations(self._log).page(limit=0) if it.state in _REVERSALS]
        asked = {it.approval_id for it in reversals if it.approval_id}
        entries: list[Waiting] = [entry for entry in self._read_requests() if entry.reference not in asked]
        entries += self._unknown(classes)
        entries += [self._reversal(it, classes.get(it.tool_id, "")) for it in reversals]
        entries += [_contract(it) for it in contracts if it.status in _WAITING_CONTRACTS]
        entries += self._read_reviews()
        entries += map(_level, proposals)
        entries += map(_kill, kills)
        if filter is not None:
            entries = [entry for entry in entries if filter(entry)]
        groups: dict[str, list[Waiting]] = {}
        for entry in ranked(entries, lambda it: it.stake, now):
            groups.setdefault(entry.group, []).append(entry)
        return [Group(found[0].label, tuple(found)) for found in groups.values()]

    def by_stake(self, numbers: Sequence[int]) -> list[int]:
        """Numbers of requests: those that wait first, in their order among all that waits, then the others as they are."""
        requests = ranked(self._read_requests(), lambda it: it.stake, micros(self._log.clock.now()))
        places = {entry.number: place for place, entry in enumerate(requests)}
        return sorted(numbers, key=lambda number: places.get(number, len(places)))

    def describe(self, entries: Sequence[Waiting]) -> dict[str, Need]:
        """The words for a screenful of entries, by key; of a request that ended meanwhile none."""
        now = micros(self._log.clock.now())
        found = self._queue.numbered([it.number for it in entries if it.kind == "request"])
        reviews = self._review_items({it.key for it in entries if it.counted_as == "reviews"})
        origins = call_origins(self._log, {run for it in entries if (run := _run_of(it, found))})
        needs: dict[str, Need] = {}
        for entry in entries:
            project = origins.get(_run_of(entry, found), CallOrigin()).project_name
            about = found.get(entry.number) or reviews.get(entry.key) or entry.about
            if (
                need := level_need(entry.about, now)
                if entry.kind == "level"
                else self._need(about, project, now)
            ):
                needs[entry.key] = need
        return needs

    def now(
        self,
        contracts: Sequence[ContractEntry],
        *,
        kills: Sequence[Kill] = (),
        proposals: Sequence[Proposal] = (),
        most: int = 50,
        known: Collection[str] = (),
    ) -> NeedsNow:
        """Counts of what waits, and the words for the first of each kind.

        Args:
            contracts, kills, proposals: as `waiting` has them.
            most: of each kind, that are described.
            known: keys of what is not described again.

        Raises:
            StoreError: the database cannot be read.
        """
        groups = self.waiting(contracts, kills=kills, proposals=proposals)
        entries = [entry for group in groups for entry in group.entries]
        # Of each group its first before the others of any: many alike ones do not hide what is rare.
        firsts = [group.entries[0] for group in groups]
        others = [entry for group in groups for entry in group.entries[1:]]
        counts, room, fresh = dict.fromkeys(NOUNS, 0), dict.fromkeys(NOUNS, most), list[Waiting]()
        for entry in (*firsts, *others):
            counts[entry.counted_as] += 1
            if entry.key not in known and room[entry.counted_as]:
                room[entry.counted_as] -= 1
                fresh.append(entry)
        needs = self.describe(fresh)
        items = tuple(needs[entry.key] for entry in entries if entry.key in needs)
        return NeedsNow(counts, items, (), {entry.key: entry.group for entry in entries})

    def all_needs(
        self, config: Config, authority: Authority, *, most: int, known: Collection[str] = ()
    ) -> NeedsNow:
        """The same with kills; secrets are masked, since nobody decides by these texts.

        Args:
            most, known: as `now` has them.

        Raises:
            StoreError: the database cannot be read.
        """
        problems: list[Finding] = []
        kills = _kills(config, self._log, problems)
        contracts = ContractBaselineStore(self._log, authority, KERNEL_SURFACE).entries()
        proposals = self.proposals(config, problems)
        found = self.now(contracts, kills=kills, proposals=proposals, most=most, known=known)
        return replace(found, items=tuple(item.masked() for item in found.items), problems=tuple(problems))

    def proposals(self, config: Config, problems: list[Finding] | None = None) -> list[Proposal]:
        """Proposals of higher autonomy, where levels are consulted; unreadable ones are a problem, not the end."""
        if config.autonomy.mode == OFF:
            return []
        from sb.runtime.parts import open_proposals

        try:
            self._proposals = self._proposals or open_proposals(config, self._log)
            return self._proposals.all()
        except SBError as error:
            why = f"levels of autonomy cannot be read: {error.message}"
            (problems if problems is not None else []).append(
                Finding("autonomy", Status.FAIL, why, error.hint)
            )
            return []

    def _read_requests(self) -> Iterable[Waiting]:
        numbers, fresh = self._queue.facts(self._requests.keys())
        self._requests |= {facts.number: _request(facts) for facts in fresh}
        self._requests = {number: self._requests[number] for number in numbers if number in self._requests}
        return self._requests.values()

    def _unknown(self, classes: dict[str, str]) -> Iterator[Waiting]:
        for intent in in_doubt(self._log):
            payload = self._payload(intent.run_id, intent.call_id)
            stake = call_stake(
                intent.tool_id, classes.get(intent.tool_id, ""), payload, intent.deadline, None
            )
            key, tool = f"unknown {intent.call_id}", intent.tool_id
            group = f"unknown\n{intent.agent}\n{tool}\n{intent.workflow}"
            yield Waiting(
                "unknown", intent.call_id, key, group, tool, stake, intent.agent, tool, about=intent
            )

    def _reversal(self, it: Escalation, safety_class: str) -> Waiting:
        ends_at = it.expires_at if it.undecided else None
        payload = self._payload(it.run_id, it.call_id)
        stake = call_stake(it.tool_id, safety_class, payload, it.opened_at, ends_at)
        key, group = f"reversal {it.id} {it.state}", f"reversal\n{it.agent}\n{it.tool_id}\n{it.state}"
        return Waiting("reversal", it.id, key, group, it.tool_id, stake, it.agent, it.tool_id, about=it)

    def _payload(self, run_id: str, call_id: str) -> dict[str, Any]:
        """The payload of a call's first event, which never changes."""
        if call_id not in self._calls:
            first = next(self._log.events(run_id=run_id, call_id=call_id, limit=1), None)
            self._calls[call_id] = (first.payload if first else None) or {}
        return self._calls[call_id]

    def _read_reviews(self) -> Iterable[Waiting]:
        keys = self._review.waiting()
        if any(key not in self._reviews for key in keys):
            items = self._review.items(len(keys), self._reviews.keys())
            self._reviews |= {item.key: _review(item) for item in items if item.kind in _REVIEWS}
        self._reviews = {key: self._reviews[key] for key in keys if key in self._reviews}
        return self._reviews.values()

    def _review_items(self, keys: Collection[str]) -> dict[str, ReviewItem]:
        """These memories as they are now: somebody may have changed them since they were listed."""
        others = self._reviews.keys() - keys
        return {it.key: it for it in self._review.items(len(keys), others) if it.key in keys} if keys else {}

    def _need(self, about: Any, project: str, now: int) -> Need | None:
        if isinstance(about, Approval):
            return request_need(self._queue.disclose(about), project, now)
        if isinstance(about, Intent):
            return unknown_need(
                about, list(self._log.events(run_id=about.run_id, call_id=about.call_id)), project, now
            )
        if isinstance(about, Escalation):
            return reversal_need(about, call_args(self._log, about.run_id, about.call_id), project, now)
        if isinstance(about, ContractEntry):
            return contract_need(about, now)
        if isinstance(about, ReviewItem):
            return review_need(about, now)
        return kill_need(about) if isinstance(about, Kill) else None


def _run_of(entry: Waiting, found: dict[int, Approval]) -> str:
    return getattr(found.get(entry.number) or entry.about, "run_id", "")


@lru_cache(maxsize=1024)
def _label(text: str) -> str:
    return one_line(text, _LONGEST_LABEL)


def _request(facts: RequestFacts) -> Waiting:
    label, group_key = group_of(facts)
    group = f"request\n{facts.agent}\n{facts.tool_id}\n{group_key}"
    return Waiting(
        "request",
        facts.id,
        f"request {facts.number}",
        group,
        _label(label),
        request_stake(facts),
        facts.agent,
        facts.tool_id,
        facts.number,
        facts,
    )


def _class(entry: ContractEntry) -> str:
    """The safety class by which rules treat a tool."""
    document = entry.live_document or entry.baseline_document
    external = (document.get("metadata") or {}).get("side_effect_level") == "external_write"
    return str(SafetyClass.NETWORK if external else document.get("safety_class") or "")


def _contract(it: ContractEntry) -> Waiting:
    """A contract; nothing runs by it before it is approved, whatever its tool does."""
    read_only = _class(it) == SafetyClass.READ_ONLY
    stake = Stake(effect_word(_class(it)), READS if read_only else CHANGES, since=it.first_seen_at)
    key = f"contract {it.tool_id} {it.status} {it.live_fingerprint}"
    label = _label(f"{it.source}: {it.status} contracts")
    group = f"contract\n{it.source}\n{it.status}"
    return Waiting("contract", it.tool_id, key, group, label, stake, "", it.tool_id, about=it)


def _review(item: ReviewItem) -> Waiting:
    from sb.present.memories import reviewed_text  # with memory's modules, which requests alone do not need

    kind, label = _REVIEWS[item.kind]
    tier = READS if item.kind in (ReviewKind.SUGGESTED, ReviewKind.IGNORED) else WRITES
    stake = Stake(kind, tier, since=int(item.at * MICROSECONDS))
    agent = str(item.record["agent"] or "")
    group, text = f"{kind}\n{item.stack}", reviewed_text(item)
    return Waiting(kind, item.reference, item.key, group, label, stake, agent, memory=text)


def _level(it: Proposal) -> Waiting:
    stake = Stake("autonomy", WRITES, since=it.at)
    label, group = _label(f"autonomy of {it.agent}"), f"level\n{it.agent}"
    return Waiting("level", it.id, f"level {it.id}", group, label, stake, it.agent, it.tool_id, about=it)


def _kill(kill: Kill) -> Waiting:
    key = f"kill {kill.number} {len(kill.lifted_by)}"
    return Waiting("kill", kill.name, key, key, kill.name, Stake("stopped", LAST), about=kill)


def _kills(config: Config, log: EventLog, problems: list[Finding]) -> list[Kill]:
    """Active kills, the newest first; unreadable ones are a problem, not the end."""
    from sb.runtime.parts import open_kill_switch  # with the judge of command lines, which Home does not need

    try:
        return open_kill_switch(config, log).active()[::-1]
    except SBError as error:
        problems.append(Finding("killed", Status.FAIL, f"every call is denied: {error.message}", error.hint))
        return []
