"""`sb hook HOST`: reads one event of a host from stdin and answers it, whatever happens inside.

On several hosts a traceback, an exit code of 1 or a late answer lets the call run, on others any failure blocks every
call. So nothing leaves here but an answer: every exception is caught, and the deadline is our own.
"""

from __future__ import annotations

import _thread
import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from sb.errors import ConfigError, SBError
from sb.hosts.hooks.adapter import BLOCKED, Adapter
from sb.hosts.hooks.event import Decision, HookAnswer, HookEvent, HookVerdict, Moment, cannot_judge

LONGEST_PAYLOAD = 64 << 20  # bytes
DEFAULT_DEADLINE_S = 20.0
_INSPECTING_S = 3.0  # for a look at what a late call does
_LEAST_S = 1.0  # for an event that another process has tried to judge
DEFAULT_UNJUDGED = "reads"


def print_answer(answer: HookAnswer) -> None:
    """Print an answer on the standard streams.

    Raises:
        OSError, ValueError, AttributeError: nobody listens any more, or a stream was closed before the process began.
    """
    sys.stdout.write(answer.stdout)
    sys.stderr.write(answer.stderr)
    sys.stdout.flush()
    sys.stderr.flush()


class Given(NamedTuple):
    """An event that somebody else has read, and what becomes of its answer.

    Args:
        data: the payload; None while it is still on stdin.
        nonce: names this event, so that judging it twice has one effect; "" for none.
        again: it may have been judged under this nonce before, and nobody received the answer.
        spent_s: seconds that the host has waited already.
        answer: delivers the answer.
        afterwards: called after that with the configuration, or None if it was not read, and the event's folder.
        opening: opens the runtime; None for one of its own.
        run: the run of `sb run` whose host sent it; "" for none.
    """

    data: bytes | None = None
    nonce: str = ""
    again: bool = False
    spent_s: float = 0.0
    answer: Callable[[HookAnswer], None] = print_answer
    afterwards: Callable[[Any, str], None] = lambda config, cwd: None
    opening: Any = None
    run: str = ""


def main(arguments: list[str], given: Given | None = None) -> None:
    """Answer one event, by default the one on stdin, and end the process."""
    given = given or Given()
    settings = _Settings()
    settings.opening = given.opening
    process = _Process(given)
    process.expire_after(DEFAULT_DEADLINE_S, lambda: _unreadable("the event on stdin did not end in time"))
    try:
        adapter, event = _read_event(arguments, given)
    except Exception as error:  # noqa: BLE001 - what cannot be read could be a call with consequences
        process.end(_unreadable(_reason(error)))
        return
    process.expire_after(DEFAULT_DEADLINE_S, lambda: _late(process, adapter, event, settings))
    try:
        verdict = _judged(adapter, event, settings, process)
    except Exception as error:  # noqa: BLE001 - see above
        verdict = _unjudged(event, settings, _reason(error))
    process.end(_answer(adapter, event, verdict), settings)


class _Settings:
    """The configuration, as far as it was read, and what opens the runtime."""

    unjudged = DEFAULT_UNJUDGED
    config: Any = None
    cwd = ""
    opening: Any = None


class _Process:
    """Delivers the first answer and ends the process; a thread of its own delivers one when the time is over."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self._answered = threading.Lock()
        self._moved = threading.Condition()
        self._until = math.inf
        self._late: Callable[[], HookAnswer] | None = None

    def expire_after(self, seconds: float, late: Callable[[], HookAnswer]) -> None:
        """Answer with what `late` gives, unless there was an answer before; replaces the former deadline."""
        until = time.monotonic() + max(seconds - self._given.spent_s, _LEAST_S)
        with self._moved:
            earlier, started = until < self._until, self._late is not None
            self._until, self._late = until, late
            if earlier and started:  # the thread wakes at the former deadline, and sees a later one by itself
                self._moved.notify()
        if not started:
            _thread.start_new_thread(self._expire, ())  # `Thread.start` waits until the new thread runs

    def _expire(self) -> None:
        with self._moved:
            while (left := self._until - time.monotonic()) > 0:
                self._moved.wait(left)
            late = self._late
        if late is not None:
            self.end(late())

    def end(self, answer: HookAnswer, done: _Settings | None = None) -> None:
        """Deliver it and end the process, without waiting for anything that hangs.

        Args:
            done: of an event that was judged to the end; None while another thread may be at it.
        """
        if not self._answered.acquire(blocking=False):
            return
        try:
            self._given.answer(answer)
        except (
            OSError,
            ValueError,
            AttributeError,  # a stream that was closed when the process began is None
        ):  # nobody listens any more: the exit code still says that there was a verdict
            os._exit(answer.code or (BLOCKED if answer.stdout else 0))
        try:
            if done is not None:
                if done.opening is not None:
                    done.opening.close()
                self._given.afterwards(done.config, done.cwd)
        finally:
            os._exit(answer.code)


def _unreadable(why: str) -> HookAnswer:
    return HookAnswer(stderr=f"SecondBrain: {why}\n", code=BLOCKED)


def _stdin() -> bytes:
    if sys.stdin.isatty():
        raise ValueError(
            "not for use by hand: a coding agent's host starts it with an event on stdin (sb install HOST)"
        )
    return sys.stdin.buffer.read(LONGEST_PAYLOAD + 1)


def _read_event(arguments: list[str], given: Given) -> tuple[Adapter, HookEvent]:
    from sb.hosts.registry import adapter_for

    data = _stdin() if given.data is None else given.data
    if len(data) > LONGEST_PAYLOAD:
        raise ValueError(f"the event is larger than {LONGEST_PAYLOAD >> 20} MiB")
    try:
        payload = json.loads(data)
    except ValueError as error:
        raise ValueError(f"the event on stdin is not JSON: {error}") from None
    if not isinstance(payload, dict):
        raise TypeError("the event is not a JSON object")
    adapter = adapter_for(arguments[0] if arguments else "", payload)
    return adapter, adapter.read(payload)._replace(nonce=given.nonce, again=given.again, run=given.run)


def _judged(adapter: Adapter, event: HookEvent, settings: _Settings, process: _Process) -> HookVerdict:
    if event.moment in (Moment.QUESTION, Moment.DENIED):
        return _counted(event, settings)
    from sb.hosts.hooks.judging import judge, matters
    from sb.hosts.hooks.opening import Opening

    if not matters(event):
        return HookVerdict()
    config, fault = _configured(event)
    settings.config, settings.unjudged, settings.cwd = config, config.hooks.unjudged, event.cwd
    process.expire_after(config.hooks.deadline_seconds, lambda: _late(process, adapter, event, settings))
    if fault and event.moment is Moment.BEFORE:
        unjudged = _unjudged(event, settings, fault)
        if unjudged.decision is Decision.DENY:
            return unjudged
    # Whoever may write the project can break its file: a call that would run unjudged is judged without it.
    settings.opening = settings.opening or Opening()
    verdict = judge(config, adapter, event, settings.opening)
    if fault and verdict.decision is Decision.NONE:
        return verdict._replace(reason=verdict.reason or f"the project's sb.yaml is ignored: {fault}")
    return verdict


def _counted(event: HookEvent, settings: _Settings) -> HookVerdict:
    """Count a question of the host's own; nothing is judged."""
    if event.session_id:
        from sb.hosts.hooks.guards.counting import count

        settings.config, settings.cwd = _configured(event)[0], event.cwd
        count(settings.config, event, settings.opening)
    return HookVerdict()


def _configured(event: HookEvent) -> tuple[Any, str]:
    """The configuration, without the project's file if that is what cannot be read; and then why."""
    from sb.config import load_config

    cwd = settings_folder(event.cwd)
    try:
        return load_config(env=os.environ, cwd=cwd, flags={}), ""
    except ConfigError as error:
        return load_config(env=os.environ, cwd=cwd, flags={}, with_project=False), _reason(error)


def settings_folder(cwd: str) -> Any:
    """The path at which the search for an event's project file begins."""
    from pathlib import Path

    return Path(cwd) if os.path.isdir(cwd) else Path("/")


def _late(process: _Process, adapter: Adapter, event: HookEvent, settings: _Settings) -> HookAnswer:
    """Answer in time; the call itself may be what takes so long, so after a while it is denied uninspected."""
    why = "it took too long"
    refused = event.moment is Moment.BEFORE and settings.unjudged != "all"
    verdict = cannot_judge(why) if refused else HookVerdict()
    timer = threading.Timer(_INSPECTING_S, lambda: process.end(_answer(adapter, event, verdict)))
    timer.daemon = True
    timer.start()
    return _answer(adapter, event, _unjudged(event, settings, why))


def _answer(adapter: Adapter, event: HookEvent, verdict: HookVerdict) -> HookAnswer:
    try:
        answer = adapter.answer(event, verdict)
        if verdict.decision is Decision.NONE and verdict.reason:  # a failure stops nothing, and is reported
            answer = answer._replace(stderr=f"SecondBrain: {verdict.reason}\n")
        return answer
    except Exception as error:  # noqa: BLE001 - a verdict that cannot be printed lets no call run
        refused = event.moment is Moment.BEFORE
        return HookAnswer(stderr=f"SecondBrain: {_reason(error)}\n", code=BLOCKED if refused else 0)


def _unjudged(event: HookEvent, settings: _Settings, why: str) -> HookVerdict:
    """A call that cannot be judged is denied, unless it only reads; any other event needs no answer."""
    if event.moment is not Moment.BEFORE or not event.calls:
        return HookVerdict(reason=f"event not recorded: {why}")
    try:
        from sb.hosts.hooks.calls.context import judging_context
        from sb.hosts.hooks.judged_call import JudgedCall
        from sb.hosts.hooks.judging import unjudged

        config = settings.config or _defaults()
        call = JudgedCall.of(event.calls[0], judging_context(config, event))
        return unjudged(settings.unjudged, call.governed, why)
    except Exception as error:  # noqa: BLE001 - not even what it does is known
        return cannot_judge(f"{why}; {_reason(error)}")


def _defaults() -> Any:
    from sb.config.home import Home
    from sb.config.model import assemble

    return assemble(Home.locate(os.environ), {}, {}, ())


def _reason(error: BaseException) -> str:
    from sb.base.secrets.redaction import one_line

    known = isinstance(error, SBError | ConfigError | ValueError)
    text = str(error) if known else f"{type(error).__name__}: {error}"
    return one_line(text, 300)
