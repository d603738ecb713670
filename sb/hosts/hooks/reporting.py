"""Put on record how a session's calls ended, and which of them nobody will report any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sb.base.secrets.redaction import redact
from sb.base.values.canonical import NotCanonical, canonical_bytes
from sb.hosts.hooks.event import Moment, NativeCall
from sb.hosts.hooks.guards.astray import FIELD, Astray, astray, warning
from sb.hosts.hooks.guards.secrets import NO_MESSAGE, READ_SECRET, WITHHELD
from sb.hosts.hooks.judged_call import JudgedCall
from sb.hosts.hooks.session import HookSession
from sb.kernel.calls.host_questions import ASKED_BY
from sb.kernel.calls.intents import Intent
from sb.kernel.execution.external import Report
from sb.kernel.review.claimed import PRINTED, printed
from sb.tools.hosted.contracts import KEPT, KEPT_IN_PART, KEPT_NETWORK
from sb.tools.hosted.files import SESSION

MOST_SHOWN = 4_000  # characters of what a call gave that are put on record
MOST_MASKED = 16_000  # more than any secret that would reach into the end that is put on record
MOST_PRINTED = 600  # of the end of what a command line gave, where only that is


class Reports:
    """The ends of one session's calls."""

    def __init__(self, session: HookSession) -> None:
        self._session = session
        self._calls, self._files = session.calls, session.files
        self._run, self._event = session.run, session.event

    def record(self) -> list[str]:
        """Record the calls that the event reports; returns what the agent is told of each, "" for nothing."""
        event, reports = self._event, self._event.moment in (Moment.AFTER, Moment.FAILED)
        return [
            self._recorded(
                JudgedCall.of(call, self._session.context), event.nonce and f"{event.nonce}.{number}"
            )
            for number, call in enumerate(event.calls)
            if reports or call.response is not None
        ]

    def _recorded(self, call: JudgedCall, nonce: str) -> str:
        led = astray(call, self._calls, self._run.run_id, self._files)
        self._record(call, nonce, led)
        if not self._session.confines:
            return warning(led)
        pending = bool(self._calls.unreported(self._run.run_id))
        text = self._session.confining.report(call, pending=pending)
        return " ".join(filter(None, (warning(led), text)))

    def _record(self, call: JudgedCall, nonce: str, led: Astray) -> None:
        governed, native = call.governed, call.native
        step, no_ids = native.step
        pending = self._calls.pending(self._run.run_id, step, host_has_no_call_ids=no_ids)
        if pending is None and no_ids and self._event.moment is Moment.FAILED:
            return  # it was refused here, or reported before by another event of its host
        # A link may lead elsewhere since, so the note counts too.
        noted = pending is not None and self._calls.has_note(pending, READ_SECRET)
        secret = noted or bool(call.effects.secrets or call.effects.flow)
        read = noted if pending is not None else self._session.disclosed(call)
        named: dict[str, Any] = {"step": step, "host_has_no_call_ids": no_ids, "nonce": nonce}
        named |= {"again": self._event.again, "notes": {READ_SECRET: True} if read else {}}
        named["summed_up"] = self._event.moment is Moment.BATCH
        if secret and native.error:
            native = native._replace(error=NO_MESSAGE)
        if pending is not None and pending.tool_id in (KEPT, KEPT_NETWORK, KEPT_IN_PART):
            from sb.hosts.hooks.snapshots.before_call import report_of

            args = self._calls.announced_args(pending)
            if self._goes_on(native, pending, args):
                return
            report = report_of(native, pending, args, self._files)
            if isinstance(report.value, dict) and not secret and (ends := _ends(native.response)):
                report = report._replace(value=report.value | {PRINTED: ends})
            self._calls.report(self._run, pending.tool_id, args, report, **named)
            return
        args, value = governed.args, WITHHELD if secret else _shown(native.response)
        if governed.paths:
            args, value = self._with_files(call, pending)
            value |= {FIELD: led} if led else {}
        report = Report(value, native.error, native.interrupted, native.ms)
        self._calls.report(self._run, governed.tool_id, args, report, **named)

    def _with_files(self, call: JudgedCall, pending: Intent | None) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arguments and the result of a call that changed files."""
        announced = self._calls.announced_args(pending) if pending else {}
        paths = self._changed(call.governed.paths, announced, pending)
        # Whether it can be undone was settled when it was announced, whatever size the file has by now.
        args = {name: value for name, value in call.governed.args.items() if name != "keep"}
        args |= {name: value for name, value in announced.items() if name == "keep"}
        if pending:
            return args, {"files": self._files.states_after(paths, pending.idempotency_key)}
        return args, {"files": self._files.states(paths)}

    def _changed(
        self, paths: Sequence[str], announced: dict[str, Any], pending: Intent | None
    ) -> Sequence[str]:
        """The files of a call that have snapshots; a path may lead elsewhere since."""
        if pending is None:
            return paths
        named = announced.get("paths")
        listed = [path for path in named if isinstance(path, str)] if isinstance(named, list) else []
        return self._files.with_snapshots(list(dict.fromkeys((*listed, *paths))), pending.idempotency_key)

    def give_up(self) -> None:
        """End the turn: a call that was judged and not reported was denied by somebody, or its report was lost."""
        everyone = self._event.moment is Moment.SESSION_ENDED
        if everyone:
            self.end_background()
        for intent in self._calls.unreported(self._run.run_id):
            if self._session.is_in_background(intent):
                continue  # the next tree that is stored ends it
            # A subagent in the background goes on when the turn of who started it is over.
            if everyone or self._calls.subagent_of(intent) == self._event.agent_id:
                self._calls.give_up(intent, happened=self._happened(intent))
                self._withdraw(intent)

    def _withdraw(self, intent: Intent) -> None:
        """Take back what the call could do in confinement: nobody will run it any more."""
        args = self._calls.announced_args(intent)
        if self._session.confines and isinstance(command := args.get("command"), str):
            self._session.confining.withdraw(command, str(args.get("cwd", "")))

    def _goes_on(self, call: NativeCall, pending: Intent, args: dict[str, Any]) -> bool:
        """True for a reported call that goes on in the background; a later tree ends it."""
        tree, trees = args.get("tree"), self._files.trees
        if not (call.in_background and isinstance(tree, str) and trees):
            return False
        if call.error or call.interrupted or trees.in_background(tree, pending.idempotency_key):
            return False
        trees.defer(tree, pending.idempotency_key)
        return trees.in_background(tree, pending.idempotency_key)

    def end_background(self) -> None:
        """End the session's calls in the background, for their record: another tree is stored, or the session is over."""
        from sb.hosts.hooks.snapshots.before_call import report_of

        for intent in self._calls.unreported(self._run.run_id):
            if self._session.is_in_background(intent):
                args = self._calls.announced_args(intent)
                report = report_of(NativeCall("", {}), intent, args, self._files)
                notes = {READ_SECRET: True} if self._calls.has_note(intent, READ_SECRET) else {}
                self._calls.report(self._run, intent.tool_id, args, report, step=intent.step, notes=notes)
        if self._files.trees:
            self._files.trees.forget_running(self._run.run_id, lambda: self._session.confining.may_run)

    def _happened(self, intent: Intent) -> bool:
        args = self._calls.announced_args(intent)
        paths, tree = [str(path) for path in args.get("paths", ())], args.get("tree")
        if isinstance(tree, str) and self._files.trees is not None:
            change = self._files.trees.end(tree, intent.idempotency_key, SESSION.get(), reported=False)
            if change is not None and change.rows:
                return True
        if intent.tool_id == KEPT_IN_PART and not self._calls.has_note(intent, ASKED_BY):
            paths = self._files.stored_paths(intent.idempotency_key)
        return bool(paths) and self._files.have_changed(paths, intent.idempotency_key)


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
    return {"begins": begins.decode(errors="replace"), "bytes": len(encoded), "ends": _ends(response)}


def _ends(response: Any) -> str:
    """The end of what a call gave, where it says how the call went: masked before it is cut."""
    return str(redact(printed(response, most=MOST_MASKED)))[-MOST_PRINTED:].strip()
