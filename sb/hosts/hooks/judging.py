"""Judge a host's event with the kernel and put it on record."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sb.base.secrets.redaction import one_line
from sb.config import Config
from sb.config.guards import MARK, OFF, QUARANTINE, REFUSE, TELL
from sb.errors import SBError
from sb.hosts.hooks.adapter import Adapter
from sb.hosts.hooks.calls.translation import unshowable
from sb.hosts.hooks.event import (
    Decision,
    Finding,
    GovernedCall,
    HookEvent,
    HookVerdict,
    Moment,
    cannot_judge,
)
from sb.hosts.hooks.guards.secrets import credentials
from sb.hosts.hooks.guards.sessions import follow, limits
from sb.hosts.hooks.judged_call import JudgedCall
from sb.hosts.hooks.opening import Opening
from sb.hosts.hooks.session import HookSession
from sb.hosts.hooks.wording import MUST_APPROVE, asks, denied, message_refused, sentence, waits
from sb.kernel.contracts import SafetyClass, ToolResult
from sb.kernel.execution.external import OPERATORS_OWN
from sb.log.event import Subject
from sb.store.armed_triggers import any_armed, learns_from
from sb.tools.hosted.contracts import KEPT_IN_PART, SHELL, UNKNOWN, WRITE_CONFIG
from sb.tools.hosted.files import SESSION

if TYPE_CHECKING:
    from sb.hosts.hooks.confined.call import Confined

MOST_OF_A_REASON = 200  # characters
_NOT_STORED = ("preparation", "contract_")  # rules that refuse a snapshot, whatever the line does
_CHANGING_LINES = tuple(
    SHELL[safety_class] for safety_class in SafetyClass if safety_class is not SafetyClass.READ_ONLY
)
_TURN_OVER = (Moment.BATCH, Moment.PROMPT, Moment.STOP, Moment.SESSION_ENDED)


def matters(event: HookEvent) -> bool:
    """True if an event has to be judged or recorded; the database is not opened for others."""
    if event.moment is Moment.BEFORE:
        return True  # of whichever session
    return event.moment is not Moment.OTHER and bool(event.session_id)


def judge(config: Config, adapter: Adapter, event: HookEvent, opening: Opening | None = None) -> HookVerdict:
    """Judge a call before it is made, or record the outcome of calls.

    Args:
        opening: opens the runtime, and is closed by the caller; None to open and close one here.

    Raises:
        SBError: configuration or database cannot be used.
    """
    with contextlib.nullcontext(opening) if opening else contextlib.closing(Opening()) as opened:
        session = HookSession(opened.runtime(config), adapter, event)
        SESSION.set(session.run.run_id)
        return follow(session, _handled(session))


def _handled(session: HookSession) -> HookVerdict:
    event = session.event
    if event.moment is Moment.BEFORE:
        return (
            _before(JudgedCall.of(event.calls[0], session.context), session) if event.calls else HookVerdict()
        )
    if event.moment is Moment.SESSION_STARTED:
        return _begin(session)
    from sb.hosts.hooks.reporting import Reports  # not before a call

    reports = Reports(session)
    messages = reports.record()
    if session.config.red_team.reads_hosts:
        from sb.hosts.hooks.guards.screening import screened

        messages.append(screened(session))
    if event.moment is Moment.FAILED:
        messages += [_reminder(JudgedCall.of(call, session.context), session) for call in event.calls]
    messages.append(_learned(session))
    if event.moment in _TURN_OVER:
        reports.give_up()
    if event.moment is Moment.STOP and event.text:
        verdict = _last_message(session)
        if verdict != HookVerdict():
            return verdict
    if event.moment is Moment.PROMPT:
        if session.config.hooks.claims == TELL:
            from sb.hosts.hooks.guards.claiming import untold

            messages.append(untold(session))
        session.calls.begin_turn(session.run)
        if session.confines:  # calls that were interrupted have been given up
            pending = bool(session.calls.unreported(session.run.run_id))
            messages.append(session.confining.put_back(pending=pending))
    if event.moment is Moment.SESSION_ENDED:
        session.calls.leave(session.run)
        session.files.expire(session.runtime.executor.mutations.promised_keys)
        if session.confines:
            session.confining.leave()
        return _remembered(session)
    return HookVerdict(context=" ".join(filter(None, messages)))


def _begin(session: HookSession) -> HookVerdict:
    """Begin a session: its tree is stored in the background, its confinement prepared, and it is told of earlier ones."""
    session.calls.join(session.run)
    if session.config.hooks.keep and session.config.undo.tree_ms:
        from sb.hosts.hooks.snapshots.before_call import prepare_tree

        prepare_tree(session.project, session.config, session.files)
    restored = ""
    if session.confines:
        restored = session.confining.put_back()
        session.confining.prepare()
    remembered = _remembered(session)
    return remembered._replace(context="\n\n".join(filter(None, (restored, remembered.context))))


def _remembered(session: HookSession) -> HookVerdict:
    """Memory at the start and the end of a session; a failure is reported and stops nothing."""
    if not session.config.memory.hooks:
        return HookVerdict()
    from sb.hosts.hooks.guards.remembering import begin, end

    try:
        if session.event.moment is Moment.SESSION_STARTED:
            return HookVerdict(context=begin(session.runtime, session.event))
        end(session.runtime, session.event, session.run.run_id)
    except Exception as error:  # noqa: BLE001 - whatever it is, the host's session goes on without it, and is told so
        known = isinstance(error, SBError | ValueError)
        return HookVerdict(
            reason=f"memory: {_brief(str(error) if known else f'{type(error).__name__}: {error}')}"
        )
    return HookVerdict()


def _last_message(session: HookSession) -> HookVerdict:
    """Look at the last message of a turn: at what it discloses, and at what it claims."""
    verdict = HookVerdict()
    if session.config.output_gate.messages != OFF:
        verdict = _gated_message(session)
    if (
        verdict.decision is Decision.NONE
        and session.config.hooks.claims != OFF
        and not session.event.agent_id
    ):
        from sb.hosts.hooks.guards.claiming import judge_claims

        return judge_claims(session)
    return verdict


def _gated_message(session: HookSession) -> HookVerdict:
    """Put on record what the last message of a turn holds that is not for whoever reads it, and have it written again."""
    from sb.runtime.parts import output_gate

    gate, run = output_gate(session.runtime.log), session.run
    _, labels = gate.gated(session.event.text, run)
    if not labels:
        return HookVerdict()
    action = session.config.output_gate.messages if session.event.may_go_on else MARK
    gate.record(Subject(run.run_id, run.trace_id, run.agent_name), labels, place="message", action=action)
    return HookVerdict(Decision.DENY, message_refused(labels)) if action == REFUSE else HookVerdict()


# --- calls that are about to be made


def _confinement(call: JudgedCall, session: HookSession) -> Finding | None:
    """Ask about or refuse what confinement cannot let a command do; what earlier ones changed is put back first."""
    if session.confines:
        from sb.hosts.hooks.confined.loss import loss_notice

        notices = loss_notice(session.confining), session.confining.put_back(pending=True)
        return (session.confining.finding(call) or Finding())._replace(
            context=" ".join(filter(None, notices))
        )
    if session.config.hooks.confine == OFF and (session.config.home.folder / "confine").is_dir():
        from sb.hosts.confinement.switching import switch_off

        switch_off(session.config.home)  # what was confined before starts plainly
    return None


def _after_attack(call: JudgedCall, session: HookSession) -> Finding | None:
    if session.config.red_team.tool_results != QUARANTINE:
        return None
    from sb.hosts.hooks.guards.screening import after_attack  # few switch it on

    return after_attack(call, session)


Guard = Callable[[JudgedCall, HookSession], Finding | None]
# In this order. Where the first ones refuse or ask, no snapshot takes the place of a question.
_FIRST: tuple[Guard, ...] = (limits, _confinement)
_LAST: tuple[Guard, ...] = (credentials, _after_attack)


def _before(call: JudgedCall, session: HookSession) -> HookVerdict:
    """The verdict on a call: each guard has its say, then the policy, with a snapshot where one can be taken."""
    governed, context = call.governed, ""
    for guard in _FIRST:
        finding = guard(call, session) or Finding()
        governed, context = governed.after(finding), context or finding.context
    objections = [guard(call, session) or Finding() for guard in _LAST]
    confined = session.confining.rights(call) if session.confines else None
    changes = call.effects.changes
    announce = partial(_announced, call, session, objections)
    if (
        call.effects.writes
        or changes.changes
        or changes.named
        or (session.config.hooks.keep and governed.tool_id in _CHANGING_LINES)
        or confined is not None
    ):
        governed, result = _with_snapshot(call, governed, session, announce, confined)
    else:
        result = announce(governed)
    verdict = _verdict(result, governed, session.event.host)
    if verdict.decision is not Decision.NONE and not governed.refused and "command" in governed.args:
        from sb.hosts.hooks.guards.advising import advised

        verdict = advised(verdict, call, session)
    if confined is not None and verdict.decision is not Decision.DENY:
        waits = verdict.decision is Decision.ASK and "tree" in governed.args
        session.confining.open(confined, _tree_of(call, governed, session) if waits else ("", ""))
    reminder = _reminder(call, session) if verdict.decision is not Decision.DENY else ""
    return verdict._replace(context=" ".join(filter(None, (context, verdict.context, reminder))))


def _reminder(call: JudgedCall, session: HookSession) -> str:
    """The reminders that a call fires; most homes have none, and load nothing for them."""
    if not (session.config.memory.hooks and any_armed(session.runtime.database)):
        return ""
    from sb.hosts.hooks.guards.reminding import reminder

    return reminder(call, session)


def _learned(session: HookSession) -> str:
    """Learn from calls that failed, and from those after them; most events load nothing for it."""
    event = session.event
    if not session.config.memory.hooks or event.moment is Moment.OTHER:
        return ""
    ends = event.moment in (Moment.FAILED, Moment.SESSION_ENDED) or any(call.error for call in event.calls)
    if not (
        ends or (event.calls and learns_from(session.runtime.database, session.run.run_id, event.session_id))
    ):
        return ""
    from sb.hosts.hooks.guards.reminding import learned

    return learned(session)


def _tree_of(call: JudgedCall, governed: GovernedCall, session: HookSession) -> tuple[str, str]:
    """The project and the key of an announced call, whose tree is stored anew when it begins."""
    announced = session.calls.unreported(session.run.run_id)
    keys = [item.idempotency_key for item in announced if item.step == call.native.step[0]]
    return str(governed.args["tree"]), keys[-1] if keys else ""


def _with_snapshot(
    call: JudgedCall,
    governed: GovernedCall,
    session: HookSession,
    announce: Callable[[GovernedCall], ToolResult],
    confined: Confined | None,
) -> tuple[GovernedCall, ToolResult]:
    """Judge a command line that changes files: with a snapshot if one can be taken, else as it is."""
    from sb.hosts.hooks.snapshots.before_call import (
        KEPT_TOOLS,
        unkept,
        with_extra,
        with_part,
        with_snapshot,
    )

    own = confined is not None and confined.may_run_own
    stored = with_snapshot(call, governed, session, confined=confined is not None, may_run_own=own)
    if "tree" in stored.args:
        from sb.hosts.hooks.reporting import Reports

        Reports(session).end_background()
        if confined is not None:
            with contextlib.suppress(OSError):  # which ends the call when it is opened
                session.confining.make_settings()
    with with_extra(stored, session):
        result = announce(stored)
    if "tree" in stored.args and not _is_decided(result):
        named = with_snapshot(call, governed, session)
        if (
            named.tool_id in KEPT_TOOLS
        ):  # a tree that takes too long is not needed: the line names its changes
            stored = named
            with with_extra(stored, session):
                result = announce(stored)
    if stored.tool_id in KEPT_TOOLS and not _is_decided(result):
        loses = any(change.loses() for change in call.effects.changes.changes or ())
        loses = loses and not stored.args.get("partly")
        no_room = loses and session.files.too_large(stored.args["paths"])
        stored = with_part(unkept(governed, str(result.error_message), no_room=no_room), session)
        with with_extra(stored, session):
            result = announce(stored)
    if stored.tool_id == KEPT_IN_PART and result.rule.startswith(_NOT_STORED):
        stored = unkept(governed, str(result.error_message))
        result = announce(stored)
    return stored, result


def _announced(
    call: JudgedCall, session: HookSession, objections: Sequence[Finding], governed: GovernedCall
) -> ToolResult:
    """The kernel's answer to a call, which is on record then if it may change something.

    Args:
        objections: of the credentials that it names, and of an attack that the session has read.
    """
    can_ask = session.adapter.can_ask(session.event)
    step, no_ids = call.native.step
    secrets, attack = objections
    return session.calls.announce(
        session.run,
        governed.tool_id,
        governed.args,
        step=step,
        host_has_no_call_ids=no_ids,
        refused=governed.refused or secrets.refused,
        refused_by=governed.rule or OPERATORS_OWN,
        host_asks=can_ask and session.config.hooks.approval == "ask",
        unshowable=unshowable(governed),
        asked=(*secrets.asks, *governed.asks, *attack.asks),
        host_permits=can_ask and session.config.hooks.secrets in ("ask", "allow"),
        notes=secrets.notes,
        nonce=session.event.nonce,
        again=session.event.again,
    )


def _is_decided(result: ToolResult) -> bool:
    """True for a call that goes on, or whose request waits."""
    return result.success or (isinstance(result.data, dict) and "approval_id" in result.data)


def _verdict(result: ToolResult, governed: GovernedCall, host: str) -> HookVerdict:
    data = result.data if isinstance(result.data, dict) else {}
    if result.success:
        return asks(_because(governed, data, "{}"), data) if data.get("ask") else HookVerdict()
    approval_id = data.get("approval_id")
    if approval_id is None:
        return HookVerdict(Decision.DENY, denied(result, governed.refused, host))
    return HookVerdict(Decision.DENY, waits(_because(governed, data, MUST_APPROVE), approval_id, data))


def _because(governed: GovernedCall, data: dict[str, Any], effect: str) -> str:
    """Reason why a person decides about the call: what it would do, and the policy's reasons but for its safety class.

    Args:
        effect: the form of what it would do.
    """
    reasons = [reason for reason in data.get("reasons", ()) if reason.get("rule") != SafetyClass.DESTRUCTIVE]
    does = _effect(governed) if governed.safety_class is SafetyClass.DESTRUCTIVE else ""
    texts = [effect.format(does) if does else "", *(str(reason["reason"]) for reason in reasons)]
    return "; ".join(filter(None, texts)) or "the policy asks for approval"


def _effect(governed: GovernedCall) -> str:
    """The effect of a destructive call; the contract's name alone tells a reader little."""
    if governed.why:
        return _brief(sentence(governed.why))
    if governed.tool_id == WRITE_CONFIG:
        return "changes the settings of a host, a login, what git runs, or the system"
    if governed.tool_id == UNKNOWN:
        return (
            f"{_brief(governed.args['tool'])} is an unknown tool (hooks.read_only lists tools that only read)"
        )
    return _brief(sentence(str(governed.args["why"])))


def _brief(text: str) -> str:
    return one_line(text, MOST_OF_A_REASON)


def unjudged(setting: str, governed: GovernedCall | None, why: str) -> HookVerdict:
    """The verdict on a call that cannot be judged.

    Args:
        setting: of hooks.unjudged.
        governed: the call, as far as it could be read.
    """
    reads = governed is not None and governed.safety_class is SafetyClass.READ_ONLY and not governed.refused
    reads = reads and not (governed is not None and governed.effects.secrets)
    if setting == "all" or (setting == "reads" and reads):
        return HookVerdict(reason=f"allowed without a verdict (hooks.unjudged = {setting}): {why}")
    return cannot_judge(why)
