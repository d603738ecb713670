"""Let a call pass that needs a person: find a grant or a decision, or open a request.

Asked twice: at the end of admission, to find what may be used or to queue the request; and inside the transaction of
the intent, where an approval is used up once and for all.
"""

from __future__ import annotations

import json
from typing import Any

from sb.base.secrets.redaction import redact, redact_json
from sb.base.sources import MICROSECONDS, iso_micros
from sb.base.values.canonical import encode
from sb.config import groups
from sb.errors import NotFoundError, SBError
from sb.kernel.approvals.background import background
from sb.kernel.approvals.decisions import Approvals
from sb.kernel.approvals.disclosure import SENSITIVE, SHOWN, display_digest, whole_arguments
from sb.kernel.approvals.proof import approvers, confirm_grant
from sb.kernel.approvals.queue import SELECT_APPROVALS
from sb.kernel.calls.approval import (
    APPROVAL_COLUMNS,
    GRANT_COLUMNS,
    OPEN,
    SENDS,
    SENT_AFTER_READING,
    SIGNED,
    STANDING,
    Approval,
    ApprovalState,
    Grant,
    approval_of,
    grant_of,
    this_process,
)
from sb.kernel.calls.call import Refused, ToolCall
from sb.kernel.contracts import SafetyClass, ToolErrorCode
from sb.kernel.policy.patterns import matches, permits
from sb.kernel.policy.standing_in import stood_for
from sb.kernel.registry.arguments import hidden_names
from sb.log.event import Subject
from sb.log.event_log import LogWrite
from sb.log.kinds import APPROVAL_REQUESTED, APPROVAL_USED

POLL_S = 0.1


class ApprovalGate:
    """Stands between admission and the intent of calls that a person has to agree to."""

    def __init__(self, approvals: Approvals, settings: groups.Approvals | None = None) -> None:
        self.approvals = approvals
        self._settings = settings or groups.Approvals()
        self._log = approvals.log

    def require(self, call: ToolCall) -> None:
        """Find what lets the call pass, and note it on the call.

        Raises:
            Refused: nothing does. A request waits for a person now, or the one that was named cannot be used.
        """
        if call.approval_id:
            self._take(call, self._named(call))
            return
        found = self._newest(call)
        if self._is_decided(call, found):
            return
        if found is not None and found.state is ApprovalState.WAITING and self._counts(found):
            self._take(call, found)
        else:
            self._queue(call)

    def is_decided(self, call: ToolCall) -> bool:
        """True if an approval or a grant lets the call pass, which is noted on it; nothing is queued.

        Raises:
            Refused: a person denied this very call.
        """
        return self._is_decided(call, self._newest(call))

    def _is_decided(self, call: ToolCall, found: Approval | None) -> bool:
        if found is None or found.state is not ApprovalState.APPROVED:
            grant = self._grant_for(call)
            if grant is not None:
                call.grant_id = grant.id
                return True
        # Of a reversal, what was dismissed is remembered with the cause, not with the arguments.
        final = (ApprovalState.APPROVED, *([ApprovalState.DENIED] if call.recovery is None else []))
        if found is None or found.state not in final or not self._counts(found):
            return False
        self._take(call, found)
        return True

    def _counts(self, found: Approval) -> bool:
        return self.approvals.now() < found.expires_at

    def is_settled(self, call: ToolCall) -> bool:
        """True if a grant covers every reason of a call; of several reasons, those that one covers are taken away."""
        standing = list(dict.fromkeys(reason[STANDING] for reason in call.reasons if STANDING in reason))
        if not standing or call.spec.effective_class is SafetyClass.DESTRUCTIVE or self._needed(call) > 1:
            return False
        found = {name: grant for name in standing if (grant := self._standing_grant(call, name))}
        left = [reason for reason in call.reasons if reason.get(STANDING) not in found]
        if left:
            call.reasons = left
        else:
            call.grant_id = found[standing[0]].id
        return not left

    def host_may_ask(self, call: ToolCall) -> bool:
        """True if the yes of a person whom nothing identifies is enough for the call.

        While nobody is enrolled, an approval would prove no more. Else it is enough for what
        does not destroy, unless a reason needs an operator (`SIGNED`).
        """
        return self._needed(call) == 1 and (_is_lesser(call) or not self.approvals.authority.enrolled())

    def host_may_permit(self, call: ToolCall) -> bool:
        """True if the permission of a person whom nothing identifies is enough for the call."""
        return self._needed(call) == 1

    def use(self, write: LogWrite, call: ToolCall) -> None:
        """Use the approval or grant in the transaction of the call's intent.

        Raises:
            Refused: it cannot be used (any more); the transaction must not be committed.
        """
        try:
            if call.grant_id:
                self._use_grant(write, call)
            else:
                self._use_approval(write, call)
        except SBError as error:
            reference = call.grant_id or call.approval_id
            reason = f"{reference} cannot be used: {error.message}"
            raise Refused(ToolErrorCode.PERMISSION_DENIED, reason, "approval_refused") from error

    def wait(self, approval_id: str, wait_s: float) -> bool:
        """Wait for a decision; True when the request does not wait any more.

        Args:
            wait_s: at most so many seconds.
        """
        clock = self._log.clock
        until = clock.monotonic() + wait_s
        self._set_waiter(approval_id, this_process())
        try:
            while self.approvals.get(approval_id).state is ApprovalState.WAITING:
                left = until - clock.monotonic()
                if left <= 0:
                    return False
                clock.sleep(min(POLL_S, left))
            return True
        finally:
            self._set_waiter(approval_id, "")

    def _set_waiter(self, approval_id: str, waiter: str) -> None:
        with self._log.database.write() as execute:
            execute("UPDATE approvals SET waiter = ? WHERE id = ?", (waiter, approval_id))

    def _named(self, call: ToolCall) -> Approval:
        try:
            found = self.approvals.get(call.approval_id)
        except NotFoundError as error:
            raise _refused(error.message) from None
        for what, approved, asked in (
            ("another agent", found.agent, call.ctx.agent_name),
            ("another tool", found.tool_id, call.tool_id),
            ("another contract", found.fingerprint, call.fingerprint),
            ("other arguments", found.args_digest, call.args_digest),
            ("another recovery", found.reverses, _reverses(call)),
        ):
            if approved != asked:
                raise _refused(f"{found.id} is for {what}")
        return found

    def _newest(self, call: ToolCall) -> Approval | None:
        only = f" AND a.state IN ('{OPEN[0]}', '{OPEN[1]}')" if call.reverses else ""
        # A program's question is about one run: a yes to it is none to the same call of another.
        of_run = call.ctx.run_id if call.asked and not call.performed_by else ""
        only += " AND a.run_id = ?" if of_run else ""
        rows = self._log.database.query(
            f"{SELECT_APPROVALS} WHERE a.agent = ? AND a.tool_id = ? AND a.args_digest = ? AND a.fingerprint = ?"
            f"{only} ORDER BY a.number DESC LIMIT +?",
            (
                call.ctx.agent_name,
                call.tool_id,
                call.args_digest,
                call.fingerprint,
                *([of_run] if of_run else []),
                -1 if call.reverses else 1,
            ),
        )
        needed = self._needed(call)
        for found in map(approval_of, rows):
            if found.state in OPEN and SHOWN not in found.request:
                continue  # nobody can approve it: the call is asked for anew
            # Two reversals may well have the same arguments, and who has to agree may have changed.
            if not call.reverses or (found.reverses == _reverses(call) and found.needed >= needed):
                return self.approvals.as_of_now(found)
        return None

    def was_denied(self, call: ToolCall) -> bool:
        """True if a person denied this very call; asking for it in another way does not change that."""
        found = self._newest(call)
        return found is not None and found.state is ApprovalState.DENIED

    def _take(self, call: ToolCall, found: Approval) -> None:
        if found.state is ApprovalState.APPROVED:
            call.approval_id = found.id
            return
        if found.state is ApprovalState.WAITING:
            if whole_arguments(self._log, found) is None:
                self._log.open_requests.put(found.id, call.args)
            raise self._waiting(found.id, found.expires_at, call)
        rule = "approval_denied" if found.state is ApprovalState.DENIED else "approval_refused"
        raise Refused(ToolErrorCode.PERMISSION_DENIED, found.state_line, rule)

    def _waiting(
        self, approval_id: str, expires_at: int, call: ToolCall, opens: Approval | None = None
    ) -> Refused:
        reasons = "; ".join(reason["reason"] for reason in call.reasons)
        data = {
            "approval_id": approval_id,
            "reasons": call.reasons,
            "expires_at": iso_micros(expires_at),
        }
        message = f"{reasons} ({approval_id} waits for a decision)"
        return Refused(ToolErrorCode.PERMISSION_DENIED, message, "requires_approval", data, opens)

    def _grant_for(self, call: ToolCall) -> Grant | None:
        """A grant that covers the call and that a person really made."""
        # Of what is asked about these arguments a grant says nothing, and of destinations only one for them.
        asked = any(not ask.standing or ask.rule in (SENDS, SENT_AFTER_READING) for ask in call.asked)
        if (
            call.spec.effective_class is SafetyClass.DESTRUCTIVE
            or self._needed(call) > 1
            or call.reverses
            or asked
        ):
            return None
        covering = (grant for grant in self._active_grants(call) if _covers(grant, call.args))
        return next(filter(self._sound, covering), None)

    def _standing_grant(self, call: ToolCall, standing: str) -> Grant | None:
        named = (grant for grant in self._active_grants(call) if grant.args == {STANDING: standing})
        return next(filter(self._sound, named), None)

    def _active_grants(self, call: ToolCall) -> list[Grant]:
        rows = self._log.database.query(
            f"SELECT {GRANT_COLUMNS} FROM grants WHERE tool_id = ? AND agent = ? AND state = 'active'"
            " AND fingerprint = ? AND expires_at > ? AND run_id IN ('', ?)",
            (call.tool_id, call.ctx.agent_name, call.fingerprint, self.approvals.now(), call.ctx.run_id),
        )
        return list(map(grant_of, rows))

    def _sound(self, grant: Grant) -> bool:
        try:
            confirm_grant(self._log, self.approvals.authority, grant)
        except SBError:  # then a person decides
            return False
        return True

    def _needed(self, call: ToolCall) -> int:
        if call.recovery is not None and call.recovery.people > 1:
            return 2
        names = (call.tool_id, *(tool_id for tool_id, _ in stood_for(call.spec, call.args)))
        double = (matches(pattern, name) for pattern in self._settings.dual_control for name in names)
        return 2 if any(double) else 1

    def _queue(self, call: ToolCall) -> None:
        """Refuse the call, and make the request that goes before a person with that."""
        if call.unshowable:
            reasons = "; ".join(reason["reason"] for reason in call.reasons)
            raise _refused(f"{reasons}, and no person can be asked: {call.unshowable}")
        shown = background(self.approvals, call)
        now = self.approvals.now()
        expires_at = now + self._settings.expire_after_minutes * 60 * MICROSECONDS
        if call.recovery is not None:
            shown |= {"recovery": call.recovery.facts}
            expires_at = call.recovery.expires_at or expires_at
        approval = Approval(
            number=0,
            id=f"apr_{self._log.ids.token(8)}",
            state=ApprovalState.WAITING,
            agent=call.ctx.agent_name,
            tool_id=call.tool_id,
            fingerprint=call.fingerprint,
            args_digest=call.args_digest,
            safety_class=str(call.spec.effective_class),
            run_id=call.ctx.run_id,
            call_id=call.call_id,
            waiter="",
            needed=self._needed(call),
            requested_at=now,
            due_at=now + self._settings.overdue_after_minutes * 60 * MICROSECONDS,
            expires_at=expires_at,
            decided_at=None,
            decided_by="",
            reason="",
            request=shown,
        )
        raise self._waiting(approval.id, approval.expires_at, call, opens=approval)

    def open(self, write: LogWrite, approval: Approval, call: ToolCall) -> str:
        """Put the request into the queue, in the transaction of the refusal; returns its id, or that of the one that
        the same call of another thread or process has put there meanwhile."""
        self.approvals.expire(write)
        known = self._newest(call)
        if known is not None and known.state in OPEN:
            return known.id
        facts: dict[str, Any] = {
            "binding": approval.binding(self._log.database_id),
            "asked_by": call.call_id,
            "policy_version": call.policy_version,
            "safety_class": approval.safety_class,
            "due_at": approval.due_at,
            **call.contract,
            **_sensitive(call),
        }
        # As it will be read: what a person is shown then, with the whole arguments, is what counts.
        written = json.loads(redact_json(approval.request))
        read = approval._replace(request=json.loads(encode(facts)) | written)
        facts[SHOWN] = display_digest(self._log, read, call.args)
        if written.get("args", {}) != call.args:
            self._log.open_requests.put(approval.id, call.args)
            write.undo.append(lambda: self._log.open_requests.remove(approval.id))
        subject = Subject(approval.run_id, call.ctx.trace_id, approval.agent, approval.tool_id, approval.id)
        event_id = write.append(APPROVAL_REQUESTED, approval.request, subject, facts)
        row = {name: getattr(approval, name) for name in APPROVAL_COLUMNS.replace("a.", "").split(", ")}
        del row["number"]
        row["event_id"] = event_id
        marks = ", ".join("?" * len(row))
        write.execute(f"INSERT INTO approvals ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
        return approval.id

    def _use_approval(self, write: LogWrite, call: ToolCall) -> None:
        found = self.approvals.get(call.approval_id)
        if found.state is not ApprovalState.APPROVED:
            raise _refused(f"{found.id} is {found.state}")
        shown = display_digest(self._log, _as_called(found, call), call.args)
        names = approvers(self._log, self.approvals.authority, found, shown)
        needed = max(found.needed, self._needed(call))
        if len(names) < needed:
            raise _refused(f"{found.id} was approved by {len(names)} of {needed} people")
        asked_at = write.execute("SELECT event_id FROM approvals WHERE id = ?", (found.id,)).fetchone()[0]
        if self._log.was_put_back(write.execute, asked_at - self._log.first_id):
            raise _refused(
                f"{found.id} may have been used: the database is older than its anchor, a copy was put back (sb log verify)"
            )
        changed = write.execute(
            "UPDATE approvals SET state = 'used' WHERE id = ? AND state = 'approved' AND agent = ? AND tool_id = ?"
            " AND fingerprint = ? AND args_digest = ?",
            (found.id, call.ctx.agent_name, call.tool_id, call.fingerprint, call.args_digest),
        ).rowcount
        if changed != 1:
            raise _refused(f"{found.id} is for another call")
        subject = Subject(call.ctx.run_id, call.ctx.trace_id, found.agent, found.tool_id, found.id)
        write.append(APPROVAL_USED, {}, subject, {"used_by": call.call_id, "approved_by": list(names)})
        write.committed.append(lambda: self._log.open_requests.remove(found.id))

    def _use_grant(self, write: LogWrite, call: ToolCall) -> None:
        now = self.approvals.now()
        changed = write.execute(
            "UPDATE grants SET uses = uses + 1, last_used_at = ? WHERE id = ? AND state = 'active' AND expires_at > ?",
            (now, call.grant_id, now),
        ).rowcount
        if changed != 1:
            raise _refused(f"{call.grant_id} was revoked or has expired")


def _is_lesser(call: ToolCall) -> bool:
    """True if a call, and each call that it stands in for, destroys nothing, and no reason needs an operator."""
    classes = {
        call.spec.effective_class,
        *(safety_class for _, safety_class in stood_for(call.spec, call.args)),
    }
    signed = any(reason["rule"] in SIGNED for reason in call.reasons)
    return SafetyClass.DESTRUCTIVE not in classes and not signed


def _sensitive(call: ToolCall) -> dict[str, list[str]]:
    """Sensitive arguments of the request's event, masked for the decider until they are revealed."""
    names = hidden_names(call.spec, call.args)
    return {SENSITIVE: names} if names else {}


def _as_called(approval: Approval, call: ToolCall) -> Approval:
    """The request as it would be displayed if this call had asked: what no person saw does not run."""
    about = redact({"tool": call.spec.name, "description": call.spec.description})
    request = {name: item for name, item in approval.request.items() if name not in (*about, SENSITIVE)}
    request |= {name: item for name, item in about.items() if item} | _sensitive(call)
    if call.recovery is not None:
        facts = {
            name: call.recovery.facts[name]
            for name in ("reverses", "of_agent")
            if name in call.recovery.facts
        }
        request["recovery"] = {**_mapping(request.get("recovery")), **facts}
    return approval._replace(
        agent=call.ctx.agent_name,
        tool_id=call.tool_id,
        fingerprint=call.fingerprint,
        args_digest=call.args_digest,
        safety_class=str(call.spec.effective_class),
        request=request,
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _reverses(call: ToolCall) -> str:
    return "" if call.recovery is None else str(call.recovery.facts.get("reverses", ""))


def _refused(reason: str) -> Refused:
    return Refused(ToolErrorCode.PERMISSION_DENIED, reason, "approval_refused")


def _covers(grant: Grant, args: dict[str, Any]) -> bool:
    """True if every argument of the call has a pattern and fits it; a grant without patterns covers any."""
    return STANDING not in grant.args and (
        not grant.args
        or all(name in grant.args and permits(grant.args[name], value) for name, value in args.items())
    )
