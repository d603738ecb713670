"""Judge a host's event with the kernel and put it on record."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sb.canonical import NotCanonical, canonical_bytes
from sb.config import Config
from sb.errors import SBError
from sb.hosts.hooks.adapter import Adapter
from sb.hosts.hooks.event import Decision, GovernedCall, HookEvent, Moment, NativeCall, Verdict
from sb.hosts.hooks.judging_context import JudgingContext
from sb.hosts.hooks.project import context_of
from sb.hosts.hooks.translation import govern, unshowable
from sb.kernel.calls.intents import Intent
from sb.kernel.contracts import SafetyClass, ToolResult
from sb.kernel.execution.external import Report
from sb.redaction import one_line, redact
from sb.runtime import Runtime, hosted_files, open_runtime, protected
from sb.tools.hosted.contracts import UNKNOWN, WRITE_CONFIG
from sb.tools.hosted.files import HostedFiles
from sb.tools.hosted.guarding import guarded

MOST_SHOWN = 4_000  # characters of what a call gave that are put on record
MOST_OF_A_REASON = 200  # characters
_TURN_OVER = (Moment.BATCH, Moment.PROMPT, Moment.STOP, Moment.SESSION_ENDED)


def matters(event: HookEvent) -> bool:
    """Whether anything has to be judged or recorded; the database is not opened for anything else."""
    if event.moment is Moment.BEFORE:
        return True  # of whichever session
    return event.moment is not Moment.OTHER and bool(event.session_id)


def judging_context(config: Config, event: HookEvent, files: HostedFiles | None = None) -> JudgingContext:
    """What the calls of an event are seen against."""
    cwd = Path(event.cwd) if os.path.isabs(event.cwd) else Path("/")
    return JudgingContext(
        cwd,
        Path(os.path.expanduser("~")),
        protected(config),
        config.hooks.read_only,
        files.too_large if files else lambda paths: False,
        guarded(config.home, os.environ),
        os.path.isabs(event.cwd),
    )


def judge(config: Config, adapter: Adapter, event: HookEvent) -> Verdict:
    """Judge a call before it is made, or record what is told of calls.

    Raises:
        SBError: configuration or database cannot be used.
    """
    with open_runtime(config, hosted=True) as runtime:
        return _Session(runtime, adapter, event).handle()


class _Session:
    """One event of a session, in the run that the session is."""

    def __init__(self, runtime: Runtime, adapter: Adapter, event: HookEvent) -> None:
        self._runtime = runtime
        self._calls = runtime.executor.external
        self._config = runtime.config
        self._adapter = adapter
        self._event = event
        self._ctx = context_of(event)
        self._files = hosted_files(runtime.config)
        self._context = judging_context(runtime.config, event, self._files)

    def handle(self) -> Verdict:
        event = self._event
        if event.moment is Moment.BEFORE:
            return self._before(event.calls[0]) if event.calls else Verdict()
        if event.moment is Moment.SESSION_STARTED:
            self._calls.join(self._ctx)
            return self._remembering()
        for call in event.calls:
            if event.moment in (Moment.AFTER, Moment.FAILED) or call.response is not None:
                self._report(call)
        if event.moment in _TURN_OVER:
            self._give_up()
        if event.moment is Moment.SESSION_ENDED:
            self._calls.leave(self._ctx)
            return self._remembering()
        return Verdict()

    def _remembering(self) -> Verdict:
        """What memory has to do with the start or the end of a session; no session depends on it."""
        if not self._config.memory.hooks:
            return Verdict()
        from sb.hosts.hooks.remembering import begin, end

        try:
            if self._event.moment is Moment.SESSION_STARTED:
                return Verdict(context=begin(self._runtime, self._event))
            end(self._runtime, self._event, self._ctx.run_id)
        except Exception as error:  # noqa: BLE001 - whatever it is, the host's session goes on without it, and is told so
            known = isinstance(error, SBError | ValueError)
            return Verdict(
                reason=f"memory: {_brief(str(error) if known else f'{type(error).__name__}: {error}')}"
            )
        return Verdict()

    def _before(self, call: NativeCall) -> Verdict:
        governed = govern(call, self._context)
        asks = self._config.hooks.approval == "ask" and self._event.name in self._adapter.asks_on
        step, no_ids = _name(call)
        result = self._calls.announce(
            self._ctx,
            governed.tool_id,
            governed.args,
            step=step,
            host_has_no_call_ids=no_ids,
            refused=governed.refused,
            host_asks=asks,
            unshowable=unshowable(governed),
        )
        return _verdict(result, governed)

    def _report(self, call: NativeCall) -> None:
        step, no_ids = _name(call)
        pending = self._calls.pending(self._ctx.run_id, step, host_has_no_call_ids=no_ids)
        if pending is None and no_ids and self._event.moment is Moment.FAILED:
            return  # it was refused here, or was told before by another event of its host
        governed = govern(call, self._context)
        args, value = governed.args, _shown(call.response)
        if governed.paths:
            announced = self._calls.announced_args(pending) if pending else {}
            paths = self._changed(governed, announced, pending)
            # Whether it can be undone was settled when it was announced, whatever size the file has by now.
            args = {name: said for name, said in args.items() if name != "keep"}
            args |= {name: said for name, said in announced.items() if name == "keep"}
            now = self._files.left(paths, pending.idempotency_key) if pending else self._files.now(paths)
            value = {"files": now}
        report = Report(value, call.error, call.interrupted, call.ms)
        self._calls.report(self._ctx, governed.tool_id, args, report, step=step, host_has_no_call_ids=no_ids)

    def _changed(
        self, governed: GovernedCall, announced: dict[str, Any], pending: Intent | None
    ) -> Sequence[str]:
        """The files of a call of which it was kept what they were; a path may lead elsewhere since."""
        if pending is None:
            return governed.paths
        said = announced.get("paths")
        listed = [path for path in said if isinstance(path, str)] if isinstance(said, list) else []
        return self._files.kept_of(list(dict.fromkeys((*listed, *governed.paths))), pending.idempotency_key)

    def _give_up(self) -> None:
        """The turn is over: what was judged and not reported was refused by somebody, or its report was lost."""
        everyone = self._event.moment is Moment.SESSION_ENDED
        for intent in self._calls.unreported(self._ctx.run_id):
            # A subagent in the background goes on when the turn of who started it is over.
            if everyone or self._calls.subagent_of(intent) == self._event.agent_id:
                self._calls.give_up(intent, happened=self._happened(intent))

    def _happened(self, intent: Intent) -> bool:
        paths = [str(path) for path in self._calls.announced_args(intent).get("paths", ())]
        return bool(paths) and self._files.changed(paths, intent.idempotency_key)


def _name(call: NativeCall) -> tuple[str, bool]:
    """What names a call in its run, and whether others like it may have that name.

    For hosts that give a call no id, what it is names it, so that its report is found.
    """
    if call.use_id:
        return call.use_id, False
    from sb.canonical import digest

    try:
        return f"{call.tool}:{digest(canonical_bytes(call.args))[:32]}", True
    except NotCanonical:
        return call.tool, True


def _shown(response: Any) -> Any:
    """What a call gave, as far as it is put on record."""
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


def _verdict(result: ToolResult, governed: GovernedCall) -> Verdict:
    if result.success:
        asked = isinstance(result.data, dict) and result.data.get("ask")
        return Verdict(Decision.ASK, f"SecondBrain: {_because(governed)}{asked}") if asked else Verdict()
    if not isinstance(result.data, dict) or "approval_id" not in result.data:
        return Verdict(Decision.DENY, f"SecondBrain: {result.error_message}")
    approval_id = result.data["approval_id"]
    then = (
        f"tell a person, who decides with sb approvals approve {approval_id} --reason WHY, or deny, "
        "or in sb console; once it is approved, make the very same call again"
    )
    return Verdict(Decision.DENY, f"SecondBrain: {_because(governed)}{result.error_message}; {then}")


def _because(governed: GovernedCall) -> str:
    """What the call would do that a person has to agree to; the contract's name alone tells a reader little."""
    if governed.safety_class is not SafetyClass.DESTRUCTIVE:
        return ""
    if governed.tool_id == WRITE_CONFIG:
        return "it changes a host's settings, a login, what git runs, or the system; "
    if governed.why:
        return f"{_brief(governed.why)}; "
    if governed.tool_id == UNKNOWN:
        tool = _brief(governed.args["tool"])
        return f"nothing is known of what this call of {tool} does (hooks.read_only names tools that only read); "
    return f"{_brief(governed.args['why'])}; "


def _brief(said: str) -> str:
    return one_line(said, MOST_OF_A_REASON)


def unjudged(config_says: str, governed: GovernedCall | None, why: str) -> Verdict:
    """What becomes of a call that cannot be judged.

    Args:
        config_says: the setting hooks.unjudged.
        governed: the call, as far as it could be read.
    """
    reads = governed is not None and governed.safety_class is SafetyClass.READ_ONLY and not governed.refused
    if config_says == "all" or (config_says == "reads" and reads):
        return Verdict(
            reason=f"this call was not judged and goes on, as hooks.unjudged: {config_says} says: {why}"
        )
    return Verdict(Decision.DENY, f"SecondBrain cannot judge this call, so it is refused: {why}")
