"""Approve, deny, revoke and expire approval requests and grants.

Each decision is one transaction: the signed event and the row's new state. Whoever comes second is told who was first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from sb.base.sources import MICROSECONDS, iso
from sb.errors import DeniedError, NotFoundError, SBError, StoreCorrupt, UsageError
from sb.kernel.approvals.disclosure import SHOWN, Disclosure
from sb.kernel.approvals.proof import approvers, binding_digest, refuse_requester
from sb.kernel.approvals.queue import SELECT_APPROVALS, ApprovalQueue, shown_id
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Decider, required, signed_statement
from sb.kernel.calls.approval import (
    GRANT_COLUMNS,
    OPEN,
    STANDING,
    STANDING_S,
    Approval,
    ApprovalState,
    Grant,
    approval_of,
    grant_of,
)
from sb.kernel.contracts import SafetyClass
from sb.log.event import Subject
from sb.log.event_log import EventLog, LogWrite
from sb.log.kinds import (
    APPROVAL_APPROVED,
    APPROVAL_DENIED,
    APPROVAL_EXPIRED,
    APPROVAL_REVOKED,
    GRANT_MADE,
    GRANT_REVOKED,
)

LONGEST_GRANT_S = 30 * 86_400
MOST_EXPIRED = 200  # recorded in one transaction


class _Covered(NamedTuple):
    """The call pattern of a grant that no request asked for."""

    agent: str
    tool_id: str
    fingerprint: str
    run_id: str


class AlreadyDecided(SBError):
    """Somebody was faster, or the time is over."""

    kind = "already_decided"


class Approvals(ApprovalQueue):
    """The queue, and the decisions about it.

    Args:
        authority: says who may decide.
    """

    def __init__(self, log: EventLog, authority: Authority) -> None:
        super().__init__(log)
        self.authority = authority

    def disclose(self, approval: Approval) -> Disclosure:
        """The same; of one that is approved also why that no longer counts, such as that its operator was revoked."""
        disclosed = super().disclose(approval)
        if approval.state is not ApprovalState.APPROVED or disclosed.problem:
            return disclosed
        try:
            names = approvers(self.log, self.authority, approval, disclosed.digest)
            if len(names) < approval.needed:
                raise DeniedError(f"it was approved by {len(names)} of {approval.needed} people")
        except (DeniedError, StoreCorrupt) as error:
            hint = error.hint or "have the agent repeat the call, which makes a new request"
            return disclosed._replace(problem=error.message, hint=hint)
        return disclosed

    def approve(self, approval_id: str, by: Decider, reason: str, *, displayed: str = "") -> Approval:
        """Approve one call; with dual control the second person's approval makes it count.

        Where all its reasons are of the kind that is settled once, such as the use of a server, later calls with the
        same reasons are approved too, by a grant.

        Args:
            displayed: the digest, or its code, of the disclosure that the person has opened. One that is long cannot be
                approved without; where it is given, it must be of what is on file now.

        Raises:
            NotFoundError: no such approval.
            AlreadyDecided: it does not wait any more.
            MustBeOpened: it is long, and was not opened.
            DeniedError: this person may not decide it, it cannot be shown in full, or it was changed.
            UsageError: the reason is missing or too long.
        """
        reason = required(reason)
        with self.log.write(power=True) as write:
            approval = self._approve(write, approval_id, by, reason, displayed)
            for standing in _standing(approval):
                self._grant(write, approval, by, reason, STANDING_S, False, {STANDING: standing})
            return approval

    def settle(
        self, agent: str, tool_id: str, fingerprint: str, standing: str, by: Decider, reason: str
    ) -> Grant:
        """Approve in advance whatever has a reason that is settled once.

        Args:
            fingerprint: of the tool's contract as it is now.
            standing: names the reason, such as a server with its configuration.

        Raises:
            DeniedError: this person may not decide.
            UsageError: the reason is missing or too long.
        """
        reason = required(reason)
        about = _Covered(agent, tool_id, fingerprint, "")
        refuse_requester(by.name, agent, {})
        with self.log.write(power=True) as write:
            return self._grant(write, about, by, reason, STANDING_S, False, {STANDING: standing})

    def grant(
        self,
        approval_id: str,
        by: Decider,
        reason: str,
        *,
        lasting_s: int,
        this_run: bool = False,
        args: Mapping[str, str] | None = None,
        displayed: str = "",
    ) -> Grant:
        """Approve one call, and others of the same agent, tool and contract in advance.

        Args:
            lasting_s: seconds from now until which it counts.
            this_run: only calls of the run that asked.
            args: argument name to the pattern of its value; a call with an argument that is not named does not fit.
                Without any, all arguments fit, which needs `this_run`.
            displayed: as for `approve`.

        Raises:
            DeniedError: the tool is destructive or under dual control, it is a reversal, or this person may not decide.
            others: as `approve`.
        """
        reason = required(reason)
        if not 0 < lasting_s <= LONGEST_GRANT_S:
            raise UsageError("a grant lasts at most 30 days", "choose a shorter time")
        if not args and not this_run:
            raise UsageError(
                "a grant for other runs must say which arguments it allows", "name each: --arg NAME=PATTERN"
            )
        with self.log.write(power=True) as write:
            approval = self._approve(write, approval_id, by, reason, displayed)
            if approval.safety_class == SafetyClass.DESTRUCTIVE:
                raise DeniedError(f"{approval.tool_id} is destructive: each call is decided by itself")
            if approval.needed > 1:
                raise DeniedError(f"{approval.tool_id} is under dual control: each call is decided by itself")
            if approval.reverses:
                raise DeniedError(
                    f"{approval.id} undoes {approval.reverses}: each reversal is decided by itself"
                )
            return self._grant(write, approval, by, reason, lasting_s, this_run, dict(args or {}))

    def expect(self, reference: str) -> None:
        """Pass if there is such an approval or grant, and it can still be decided; raises like `revoke`."""
        if reference.startswith("grant_"):
            if reference not in {grant.id for grant in self.grants()}:
                raise _no_grant(reference)
            return
        approval = self.get(reference)
        if approval.state not in OPEN:
            raise _decided(approval)

    def deny(self, approval_id: str, by: Decider, reason: str) -> Approval:
        """Deny one waiting call; one person is enough. Raises like `approve`."""
        reason = required(reason)
        with self.log.write(power=True) as write:
            approval = self._open(approval_id, ApprovalState.WAITING)
            self._record(write, APPROVAL_DENIED, "deny", approval, by, reason)
            self._forget(write, approval.id)
            return self._move(write, approval, ApprovalState.DENIED, by.name, reason)

    def revoke(self, reference: str, by: Decider, reason: str) -> Approval | Grant:
        """Take back an approval that was not used yet, or a grant; raises like `approve`."""
        reason = required(reason)
        with self.log.write(power=True) as write:
            if reference.startswith("grant_"):
                return self._revoke_grant(write, reference, by, reason)
            approval = self._open(reference, ApprovalState.APPROVED)
            self._record(write, APPROVAL_REVOKED, "revoke", approval, by, reason)
            self._forget(write, approval.id)
            return self._move(write, approval, ApprovalState.REVOKED, by.name, reason)

    def expire(self, write: LogWrite) -> None:
        """Record that the time of open requests is over; they count as denied with or without that."""
        sql = f"{SELECT_APPROVALS} WHERE a.state IN ('waiting', 'approved') AND a.expires_at <= ? LIMIT +?"
        for row in write.execute(sql, (self.now(), MOST_EXPIRED)).fetchall():
            approval = approval_of(row)
            facts = {"was": str(approval.state), "binding": approval.binding(self.log.database_id)}
            write.append(APPROVAL_EXPIRED, {}, _subject(approval), facts)
            write.execute("UPDATE approvals SET state = 'expired' WHERE number = ?", (approval.number,))
            self._forget(write, approval.id)

    def sweep(self) -> None:
        """Forget the arguments that are kept of requests which are not open any more, or never came to be."""
        requests = self.log.open_requests
        if not self._not_open(requests.ids()):
            return
        with self.log.database.write():  # nobody is about to open a request meanwhile
            left = self._not_open(requests.ids())
        for request_id in left:
            requests.remove(request_id)

    def _not_open(self, ids: set[str]) -> set[str]:
        marks = ", ".join("?" * len(ids))
        sql = f"SELECT id FROM approvals WHERE id IN ({marks}) AND state IN ('waiting', 'approved') AND expires_at > ?"
        return ids - {row[0] for row in self.log.database.query(sql, (*ids, self.now()))} if ids else ids

    def _forget(self, write: LogWrite, approval_id: str) -> None:
        """Remove what is kept of a request that this transaction ends, once it is committed."""
        write.committed.append(lambda: self.log.open_requests.remove(approval_id))

    def _approve(
        self, write: LogWrite, approval_id: str, by: Decider, reason: str, displayed: str
    ) -> Approval:
        approval = self._open(approval_id, ApprovalState.WAITING)
        disclosed = self.disclose(approval)
        before = approvers(self.log, self.authority, approval, disclosed.digest)
        disclosed.confirm(displayed)
        if by.name in before:
            raise DeniedError(f"{by.name} has approved {approval.id} already; a second person has to")
        if approval.needed > 1 and not self.authority.enrolled():
            raise DeniedError(
                "dual control needs two enrolled operators", "sb operator init, sb operator add"
            )
        refuse_requester(by.name, approval.agent, approval.request)
        self._record(write, APPROVAL_APPROVED, "approve", approval, by, reason, {SHOWN: disclosed.digest})
        names = (*before, by.name)
        state = ApprovalState.APPROVED if len(names) >= approval.needed else ApprovalState.WAITING
        return self._move(write, approval, state, ", ".join(names), reason)

    def _open(self, approval_id: str, wanted: ApprovalState) -> Approval:
        """The approval, if it is in this state and its time is not over."""
        approval = self.get(approval_id)
        if approval.state is not wanted:
            raise _decided(approval)
        return approval

    def _record(
        self,
        write: LogWrite,
        kind: str,
        action: str,
        approval: Approval,
        by: Decider,
        reason: str,
        more: Mapping[str, str] | None = None,
    ) -> None:
        binding = approval.binding(self.log.database_id)
        facts = {"signed": self.signed(by, action, binding, reason, more)}
        write.append(kind, {"reason": reason, "by": by.name}, _subject(approval), facts)

    def signed(
        self,
        by: Decider,
        action: str,
        binding: dict[str, Any],
        reason: str,
        more: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The signed statement, once it is sure that the executor will accept it."""
        statement = {
            "action": action,
            "binding": binding_digest(binding),
            "reason": reason,
            "at": iso(self.log.clock.now()),
            **(more or {}),
        }
        signed = signed_statement(by, statement)
        self.authority.verify(signed)
        return signed

    def _move(
        self, write: LogWrite, approval: Approval, state: ApprovalState, names: str, reason: str
    ) -> Approval:
        now = self.now()
        write.execute(
            "UPDATE approvals SET state = ?, decided_at = ?, decided_by = ?, reason = ? WHERE number = ?",
            (state, now, names, reason, approval.number),
        )
        return approval._replace(state=state, decided_at=now, decided_by=names, reason=reason)

    def _grant(
        self,
        write: LogWrite,
        approval: Approval | _Covered,
        by: Decider,
        reason: str,
        lasting_s: int,
        this_run: bool,
        args: dict[str, str],
    ) -> Grant:
        now = self.now()
        row = (
            f"grant_{self.log.ids.token(8)}",
            "active",
            approval.agent,
            approval.tool_id,
            approval.fingerprint,
            approval.run_id if this_run else "",
            json.dumps(args),
            now,
            by.name,
            reason,
            now + lasting_s * MICROSECONDS,
            0,
            None,
        )
        names = GRANT_COLUMNS.partition(", ")[2]
        marks = ", ".join("?" * len(row))
        number = write.execute(f"INSERT INTO grants ({names}) VALUES ({marks})", row).lastrowid
        grant = grant_of((number, *row))
        binding = grant.binding(self.log.database_id)
        facts = {"binding": binding, "signed": self.signed(by, "grant", binding, reason)}
        write.append(GRANT_MADE, {"reason": reason, "by": by.name}, _subject(grant), facts)
        return grant

    def _revoke_grant(self, write: LogWrite, grant_id: str, by: Decider, reason: str) -> Grant:
        row = write.execute(f"SELECT {GRANT_COLUMNS} FROM grants WHERE id = ?", (grant_id,)).fetchone()
        if row is None:
            raise _no_grant(grant_id)
        grant = grant_of(row).at(self.now())
        if grant.state != "active":
            raise AlreadyDecided(f"{grant.id} is {grant.state}")
        signed = self.signed(by, "revoke", grant.binding(self.log.database_id), reason)
        write.append(GRANT_REVOKED, {"reason": reason, "by": by.name}, _subject(grant), {"signed": signed})
        write.execute("UPDATE grants SET state = 'revoked' WHERE number = ?", (grant.number,))
        return grant._replace(state="revoked")


def _standing(approval: Approval) -> list[str]:
    """The standing questions that an approval answers for later calls; none if a reason is about this call alone."""
    reasons = approval.request.get("reasons")
    named = [reason.get(STANDING) for reason in reasons] if isinstance(reasons, list) else []
    single = approval.needed > 1 or approval.safety_class == SafetyClass.DESTRUCTIVE or approval.reverses
    if approval.state is not ApprovalState.APPROVED or single or not all(named):
        return []
    return list(dict.fromkeys(map(str, named)))


def _decided(approval: Approval) -> AlreadyDecided:
    hint = "" if approval.state is ApprovalState.WAITING else f"sb approvals show {approval.id}"
    return AlreadyDecided(approval.state_line, hint)


def _no_grant(reference: str) -> NotFoundError:
    return NotFoundError(f"no grant {shown_id(reference)!r}", "sb approvals grants lists them")


def _subject(about: Approval | Grant) -> Subject:
    """People's events are found by what they are about, in place of a call's id."""
    return Subject(about.run_id, "", about.agent, about.tool_id, about.id)
