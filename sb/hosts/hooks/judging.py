"""Judge a host's event with the kernel and put it on record."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from sb.canonical import NotCanonical, canonical_bytes
from sb.config import Config
from sb.config.guards import MARK, OFF, QUARANTINE, REFUSE
from sb.errors import ConfigError, SBError
from sb.hosts.hooks.adapter import Adapter
from sb.hosts.hooks.calls.context import judging_context, may_be_confined
from sb.hosts.hooks.calls.translation import govern, unshowable
from sb.hosts.hooks.event import (
    Decision,
    GovernedCall,
    HookEvent,
    HookVerdict,
    Moment,
    NativeCall,
    cannot_judge,
)
from sb.hosts.hooks.guards.astray import FIELD, Astray, astray, told
from sb.hosts.hooks.guards.secrets import NO_MESSAGE, READ_SECRET, WITHHELD, SecretGuard, guard_secrets
from sb.hosts.hooks.guards.sessions import Sessions
from sb.hosts.hooks.opening import Opening
from sb.hosts.hooks.project import context_of
from sb.hosts.hooks.wording import MUST_APPROVE, asks, denied, message_refused, sentence, waits
from sb.kernel.calls.intents import Intent
from sb.kernel.contracts import SafetyClass, ToolResult
from sb.kernel.execution.external import OPERATORS_OWN, Report
from sb.log.event import Subject
from sb.parts import hosted_files, shell_rules
from sb.redaction import one_line, redact
from sb.runtime import Runtime
from sb.shell.programs.ruleset import SHIPPED_RULES, Ruleset
from sb.tools.hosted.contracts import KEPT, KEPT_NETWORK, SHELL, UNKNOWN, WRITE_CONFIG
from sb.tools.hosted.files import SESSION

if TYPE_CHECKING:  # only where it is switched on
    from sb.hosts.hooks.confined.confining import Confining
    from sb.hosts.hooks.guards.screening import Screening
    from sb.kernel.calls.call import Ask

MOST_SHOWN = 4_000  # characters of what a call gave that are put on record
MOST_OF_A_REASON = 200  # characters
_CHANGING_LINES = (SHELL[SafetyClass.LOCAL_WRITE], SHELL[SafetyClass.NETWORK])
_TURN_OVER = (Moment.BATCH, Moment.PROMPT, Moment.STOP, Moment.SESSION_ENDED)


def matters(event: HookEvent) -> bool:
    """True if an event has to be judged or recorded; the database is not opened for others."""
    if event.moment is Moment.BEFORE:
        return True  # of whichever session
    return event.moment is not Moment.OTHER and bool(event.session_id)


def _rules(config: Config) -> Ruleset:
    """The rules of programs; without packs of one's own if these cannot be read and calls would run unjudged.

    Raises:
        ConfigError: a pack cannot be used.
    """
    try:
        return shell_rules(config)
    except ConfigError:
        if config.hooks.unjudged != "all":
            raise
        return SHIPPED_RULES


def judge(config: Config, adapter: Adapter, event: HookEvent, opening: Opening | None = None) -> HookVerdict:
    """Judge a call before it is made, or record the outcome of calls.

    Args:
        opening: opens the runtime, and is closed by the caller; None to open and close one here.

    Raises:
        SBError: configuration or database cannot be used.
    """
    with contextlib.nullcontext(opening) if opening else contextlib.closing(Opening()) as opened:
        session = _Session(opened.runtime(config), adapter, event)
        return session.sessions.follow(session.handle())


class _Session:
    """One event of a host's session, which is one run."""

    def __init__(self, runtime: Runtime, adapter: Adapter, event: HookEvent) -> None:
        self._runtime = runtime
        self._calls = runtime.executor.external
        self._config = runtime.config
        self._adapter = adapter
        self._event = event
        self._ctx = context_of(event)
        SESSION.set(self._ctx.run_id)
        self._files = hosted_files(runtime.config)
        self._context = judging_context(runtime.config, event, self._files, _rules(runtime.config))
        self.sessions = Sessions(runtime, adapter, event, self._ctx)

    def handle(self) -> HookVerdict:
        event = self._event
        if event.moment is Moment.BEFORE:
            return self._before(event.calls[0]) if event.calls else HookVerdict()
        if event.moment is Moment.SESSION_STARTED:
            self._calls.join(self._ctx)
            self._prepare_tree()
            restored = ""
            if self._confines:
                restored = self._confining.put_back()
                self._confining.prepare()
            remembered = self._remembering()
            return remembered._replace(context="\n\n".join(filter(None, (restored, remembered.context))))
        warnings = []
        for number, call in enumerate(event.calls):
            if event.moment in (Moment.AFTER, Moment.FAILED) or call.response is not None:
                warnings.append(self._report(call, event.nonce and f"{event.nonce}.{number}"))
        warning = " ".join(filter(None, (*warnings, self._screened())))
        if event.moment in _TURN_OVER:
            self._give_up()
        if event.moment is Moment.STOP and event.text and self._config.output_gate.messages != OFF:
            return self._gate_message()
        if event.moment is Moment.PROMPT:
            self._calls.begin_turn(self._ctx)
        if event.moment is Moment.SESSION_ENDED:
            self._calls.leave(self._ctx)
            self._files.expire(self._runtime.executor.mutations.promised_keys)
            if self._confines:
                self._confining.leave()
            return self._remembering()
        return HookVerdict(context=warning)

    def _prepare_tree(self) -> None:
        if self._config.hooks.keep and self._config.undo.tree_ms:
            from sb.hosts.hooks.snapshots.before_call import prepare_tree

            prepare_tree(str(self._ctx.metadata.get("project", "")), self._config, self._files)

    def _gate_message(self) -> HookVerdict:
        """Put on record what the last message of a turn holds that is not for whoever reads it, and have it written again."""
        from sb.parts import output_gate

        gate, ctx = output_gate(self._runtime.log), self._ctx
        _, labels = gate.gated(self._event.text, ctx)
        if not labels:
            return HookVerdict()
        action = self._config.output_gate.messages if self._event.may_go_on else MARK
        subject = Subject(ctx.run_id, ctx.trace_id, ctx.agent_name)
        gate.record(subject, labels, place="message", action=action)
        return HookVerdict(Decision.DENY, message_refused(labels)) if action == REFUSE else HookVerdict()

    @cached_property
    def _confining(self) -> Confining:
        from sb.hosts.hooks.confined.confining import Confining, recorded_project

        project = recorded_project(self._calls.started_with(self._ctx.run_id), self._event.cwd)
        return Confining(self._config, self._event, self._context, project, self._runtime.log.clock)

    @property
    def _confines(self) -> bool:
        return may_be_confined(self._config, self._event)

    def _switch_off(self) -> None:
        """Have `sb-confine` start commands plainly, where it confined any before that was switched off."""
        if self._config.hooks.confine == OFF and (self._config.home.folder / "confine").is_dir():
            from sb.hosts.hooks.confined.confining import switch_off

            switch_off(self._config.home)

    @cached_property
    def _screening(self) -> Screening:
        from sb.hosts.hooks.guards.screening import Screening

        return Screening(self._config, self._runtime.log, self._ctx, self._event)

    def _screened(self) -> str:
        """What the model is told of attacks in what it has just been given."""
        if not self._config.red_team.reads_hosts:
            return ""
        warnings = [self._screening.result(call) for call in self._event.calls]
        warnings += [self._screening.prompt()] if self._event.moment is Moment.PROMPT else []
        return " ".join(dict.fromkeys(filter(None, warnings)))

    def _remembering(self) -> HookVerdict:
        """Memory at the start and the end of a session; a failure is reported and stops nothing."""
        if not self._config.memory.hooks:
            return HookVerdict()
        from sb.hosts.hooks.guards.remembering import begin, end

        try:
            if self._event.moment is Moment.SESSION_STARTED:
                return HookVerdict(context=begin(self._runtime, self._event))
            end(self._runtime, self._event, self._ctx.run_id)
        except Exception as error:  # noqa: BLE001 - whatever it is, the host's session goes on without it, and is told so
            known = isinstance(error, SBError | ValueError)
            return HookVerdict(
                reason=f"memory: {_brief(str(error) if known else f'{type(error).__name__}: {error}')}"
            )
        return HookVerdict()

    def _before(self, call: NativeCall) -> HookVerdict:
        governed = self.sessions.limit(govern(call, self._context))
        if not self._confines:
            self._switch_off()
            return self._judged(call, governed)
        restored = self._confining.put_back(pending=bool(self._calls.unreported(self._ctx.run_id)))
        governed, confined = self._confining.judge(call, governed)
        verdict = self._judged(call, governed, confined=confined is not None)
        if confined is not None and verdict.decision is not Decision.DENY:
            self._confining.open(confined)
        return verdict._replace(context=" ".join(filter(None, (restored, verdict.context))))

    def _judged(self, call: NativeCall, governed: GovernedCall, *, confined: bool = False) -> HookVerdict:
        secrets = guard_secrets(
            governed, self._config.hooks, self._calls, self._event, self._ctx.run_id, self._is_marked
        )
        changes = governed.changes
        if (
            governed.writes
            or (changes and (changes.changes or changes.named))
            or (self._config.hooks.keep and governed.tool_id in _CHANGING_LINES)
            or confined
        ):
            return self._before_line(call, governed, secrets, confined=confined)
        return self._advised(
            _verdict(self._announce(call, governed, secrets), governed, self._event.host), governed
        )

    def _is_marked(self) -> bool:
        """True if a call of the session has read credentials; one in the background has been reported."""
        running = filter(self._is_in_background, self._calls.unreported(self._ctx.run_id))
        noted = self._calls.noted(self._ctx.run_id, READ_SECRET, reports_all=self._adapter.reports_all)
        return noted or any(self._calls.has_note(intent, READ_SECRET) for intent in running)

    def _before_line(
        self, call: NativeCall, governed: GovernedCall, secrets: SecretGuard, *, confined: bool = False
    ) -> HookVerdict:
        """Judge a command line that changes files: with a snapshot if one can be taken, else as it is."""
        changes = governed.changes
        from sb.hosts.hooks.snapshots.before_call import KEPT_TOOLS, unkept, with_extra, with_snapshot

        own = confined and self._confining.has_own_processes
        kept = partial(with_snapshot, governed, self._context, self._runtime, self._ctx)
        first = kept(confined=confined, own_processes=own)
        if "tree" in first.args:
            self._end_background()
        with with_extra(first):
            result = self._announce(call, first, secrets)
        if "tree" in first.args and not _is_decided(result) and (named := kept()).tool_id in KEPT_TOOLS:
            first = named  # a tree that takes too long is not needed where the line names all that it changes
            with with_extra(first):
                result = self._announce(call, first, secrets)
        if first.tool_id in KEPT_TOOLS and not _is_decided(result):
            loses = changes is not None and any(change.loses() for change in changes.changes or ())
            no_room = loses and not first.args.get("partly") and self._files.too_large(first.args["paths"])
            first = unkept(governed, str(result.error_message), no_room=no_room)
            result = self._announce(call, first, secrets)
        return self._advised(_verdict(result, first, self._event.host), first)

    def _announce(self, call: NativeCall, governed: GovernedCall, secrets: SecretGuard) -> ToolResult:
        can_ask = self._adapter.can_ask(self._event)
        step, no_ids = call.step
        return self._calls.announce(
            self._ctx,
            governed.tool_id,
            governed.args,
            step=step,
            host_has_no_call_ids=no_ids,
            refused=governed.refused or secrets.refused,
            refused_by=governed.rule or OPERATORS_OWN,
            host_asks=can_ask and self._config.hooks.approval == "ask",
            unshowable=unshowable(governed),
            asked=(*secrets.asked, *governed.asks, *self._asked_after_attack(governed)),
            host_permits=can_ask and self._config.hooks.secrets in ("ask", "allow"),
            notes=secrets.notes,
            nonce=self._event.nonce,
            again=self._event.again,
        )

    def _asked_after_attack(self, governed: GovernedCall) -> tuple[Ask, ...]:
        if self._config.red_team.tool_results != QUARANTINE or governed.safety_class is SafetyClass.READ_ONLY:
            return ()
        return self._screening.asked()

    def _advised(self, verdict: HookVerdict, governed: GovernedCall) -> HookVerdict:
        """The verdict on a call that does not go on, with a safer command where there is one."""
        if verdict.decision is Decision.NONE or "command" not in governed.args:
            return verdict
        from sb.hosts.hooks.guards.advising import advice_sentence
        from sb.hosts.hooks.preview import Preview

        preview = Preview(self._config, self._runtime.registry)
        context = self._context._replace(cwd=self._context.cwd / str(governed.args.get("cwd", "")))
        sentence = advice_sentence(preview, governed, context, self._event.host)
        reason = f"{verdict.reason.removesuffix('.')}. {sentence}"
        return verdict._replace(reason=reason) if sentence else verdict

    def _report(self, call: NativeCall, nonce: str) -> str:
        """Record how a call ended; returns what the agent is told of it, "" for nothing."""
        governed = govern(call, self._context)
        led = astray(call, governed, self._calls, self._ctx.run_id, self._files)
        self._record(call, governed, nonce, led)
        if not self._confines:
            return told(led)
        pending = bool(self._calls.unreported(self._ctx.run_id))
        text = self._confining.report(call, governed, pending=pending).text
        return " ".join(filter(None, (told(led), text)))

    def _record(self, call: NativeCall, governed: GovernedCall, nonce: str, led: Astray) -> None:
        step, no_ids = call.step
        pending = self._calls.pending(self._ctx.run_id, step, host_has_no_call_ids=no_ids)
        if pending is None and no_ids and self._event.moment is Moment.FAILED:
            return  # it was refused here, or reported before by another event of its host
        # A link may lead elsewhere since, so the note counts too.
        noted = pending is not None and self._calls.has_note(pending, READ_SECRET)
        secret = noted or bool(governed.secrets or governed.flow)
        read = noted if pending is not None else self._disclosed(call, governed)
        args, value = governed.args, WITHHELD if secret else _shown(call.response)
        named: dict[str, Any] = {"step": step, "host_has_no_call_ids": no_ids, "nonce": nonce}
        named |= {"again": self._event.again, "notes": {READ_SECRET: True} if read else {}}
        named["summed_up"] = self._event.moment is Moment.BATCH
        if pending is not None and pending.tool_id in (KEPT, KEPT_NETWORK):
            from sb.hosts.hooks.snapshots.before_call import report_of

            args = self._calls.announced_args(pending)
            if self._goes_on(call, pending, args):
                return
            if secret and call.error:
                call = call._replace(error=NO_MESSAGE)
            report = report_of(call, pending, args, self._files)
            self._calls.report(self._ctx, pending.tool_id, args, report, **named)
            return
        if governed.paths:
            announced = self._calls.announced_args(pending) if pending else {}
            paths = self._changed(governed, announced, pending)
            # Whether it can be undone was settled when it was announced, whatever size the file has by now.
            args = {name: value for name, value in args.items() if name != "keep"}
            args |= {name: value for name, value in announced.items() if name == "keep"}
            now = (
                self._files.states_after(paths, pending.idempotency_key)
                if pending
                else self._files.states(paths)
            )
            value = {"files": now} | ({FIELD: led} if led else {})
        error = NO_MESSAGE if secret and call.error else call.error
        report = Report(value, error, call.interrupted, call.ms)
        self._calls.report(self._ctx, governed.tool_id, args, report, **named)

    def _disclosed(self, call: NativeCall, governed: GovernedCall) -> bool:
        """True if a call read credentials of which nothing was announced."""
        known = (
            self._confining.judge(call, governed)[0] if governed.disclosed and self._confines else governed
        )
        return bool(known.disclosed)

    def _changed(
        self, governed: GovernedCall, announced: dict[str, Any], pending: Intent | None
    ) -> Sequence[str]:
        """The files of a call that have snapshots; a path may lead elsewhere since."""
        if pending is None:
            return governed.paths
        named = announced.get("paths")
        listed = [path for path in named if isinstance(path, str)] if isinstance(named, list) else []
        return self._files.with_snapshots(
            list(dict.fromkeys((*listed, *governed.paths))), pending.idempotency_key
        )

    def _give_up(self) -> None:
        """End the turn: a call that was judged and not reported was denied by somebody, or its report was lost."""
        everyone = self._event.moment is Moment.SESSION_ENDED
        if everyone:
            self._end_background()
        for intent in self._calls.unreported(self._ctx.run_id):
            if self._is_in_background(intent):
                continue  # the next tree that is stored ends it
            # A subagent in the background goes on when the turn of who started it is over.
            if everyone or self._calls.subagent_of(intent) == self._event.agent_id:
                self._calls.give_up(intent, happened=self._happened(intent))
                self._withdraw(intent)

    def _withdraw(self, intent: Intent) -> None:
        """Take back what the call could do in confinement: nobody will run it any more."""
        args = self._calls.announced_args(intent)
        if self._confines and isinstance(command := args.get("command"), str):
            self._confining.withdraw(command, str(args.get("cwd", "")))

    def _goes_on(self, call: NativeCall, pending: Intent, args: dict[str, Any]) -> bool:
        """True for a reported call that goes on in the background; a later tree ends it."""
        tree = args.get("tree")
        if not (call.in_background and isinstance(tree, str) and self._files.trees):
            return False
        if call.error or call.interrupted or self._files.trees.in_background(tree, pending.idempotency_key):
            return False
        self._files.trees.defer(tree, pending.idempotency_key)
        return self._files.trees.in_background(tree, pending.idempotency_key)

    def _is_in_background(self, intent: Intent) -> bool:
        tree = (
            self._calls.announced_args(intent).get("tree") if intent.tool_id in (KEPT, KEPT_NETWORK) else ""
        )
        trees = self._files.trees
        return bool(trees and tree and trees.in_background(str(tree), intent.idempotency_key))

    def _end_background(self) -> None:
        """End the session's calls in the background, for their record: another tree is stored, or the session is over."""
        from sb.hosts.hooks.snapshots.before_call import report_of

        for intent in self._calls.unreported(self._ctx.run_id):
            if self._is_in_background(intent):
                args = self._calls.announced_args(intent)
                report = report_of(NativeCall("", {}), intent, args, self._files)
                notes = {READ_SECRET: True} if self._calls.has_note(intent, READ_SECRET) else {}
                self._calls.report(self._ctx, intent.tool_id, args, report, step=intent.step, notes=notes)
        if self._files.trees:
            self._files.trees.forget_running(self._ctx.run_id, lambda: self._confining.may_run)

    def _happened(self, intent: Intent) -> bool:
        args = self._calls.announced_args(intent)
        paths, tree = [str(path) for path in args.get("paths", ())], args.get("tree")
        if isinstance(tree, str) and self._files.trees is not None:
            change = self._files.trees.end(tree, intent.idempotency_key, SESSION.get(), reported=False)
            if change is not None and change.rows:
                return True
        return bool(paths) and self._files.have_changed(paths, intent.idempotency_key)


def _is_decided(result: ToolResult) -> bool:
    """True for a call that goes on, or whose request waits."""
    return result.success or (isinstance(result.data, dict) and "approval_id" in result.data)


def _shown(response: Any) -> Any:
    """The response of a call, cut for the record."""
    try:
        encoded = canonical_bytes(response)
    except NotCanonical as error:
        return {"unreadable": str(error)}
    if len(encoded) <= MOST_SHOWN:
        return response
    begins = canonical_bytes(redact(response))[
        :MOST_SHOWN
    ]  # masked first: half a secret would not be recognised
    return {"begins": begins.decode(errors="replace"), "bytes": len(encoded)}


def _verdict(result: ToolResult, governed: GovernedCall, host: str) -> HookVerdict:
    data = result.data if isinstance(result.data, dict) else {}
    if result.success:
        return asks(_because(governed, data, "{}"), data) if data.get("ask") else HookVerdict()
    approval_id = data.get("approval_id")
    if approval_id is None:
        return HookVerdict(Decision.DENY, denied(result, governed.refused, host))
    return HookVerdict(Decision.DENY, waits(_because(governed, data, MUST_APPROVE), approval_id, data))


def _because(governed: GovernedCall, data: dict[str, Any], effect: str) -> str:
    """Why a person decides about the call: what it would do, and the policy's reasons but for its safety class.

    Args:
        effect: the form of what it would do.
    """
    reasons = [reason for reason in data.get("reasons", ()) if reason.get("rule") != SafetyClass.DESTRUCTIVE]
    does = _effect(governed) if governed.safety_class is SafetyClass.DESTRUCTIVE else ""
    texts = [effect.format(does) if does else "", *(str(one["reason"]) for one in reasons)]
    return "; ".join(filter(None, texts)) or "the policy asks for approval"


def _effect(governed: GovernedCall) -> str:
    """What a destructive call would do; the contract's name alone tells a reader little."""
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
    reads = reads and not (governed is not None and governed.secrets)
    if setting == "all" or (setting == "reads" and reads):
        return HookVerdict(reason=f"allowed without a verdict (hooks.unjudged = {setting}): {why}")
    return cannot_judge(why)
