"""Call an admitted tool, retry where that is safe, and judge its answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any

import orjson

from sb.base.secrets.redaction import scrub
from sb.base.secrets.sources import COMMAND_S
from sb.base.sources import Clock, Ids
from sb.base.text import human_bytes
from sb.base.values.canonical import NotCanonical, freeze
from sb.kernel.calls.call import Refused, ToolCall
from sb.kernel.contracts import ToolError, ToolErrorCode, ToolResult, value_matches
from sb.kernel.error_classifier.error_codes import code_for, may_retry, message_for
from sb.kernel.execution.outcome import Outcome
from sb.kernel.execution.recorder import safe_message
from sb.kernel.registry.arguments import secret_texts
from sb.kernel.registry.credentials import Credentials
from sb.kernel.registry.registry import IDEMPOTENCY_KEY, ToolFunction
from sb.kernel.registry.workers import DeadlineExceeded, Workers
from sb.kernel.results import Effect

if TYPE_CHECKING:
    import asyncio

FIRST_WAIT_S = 0.05
LONGEST_WAIT_S = 2.0
DEADLINE_GRACE_S = 60.0  # recording an outcome may itself wait for other processes


class Attempts:
    """Calls tools.

    Args:
        max_result_bytes: size limit of a result's canonical form.
        refuse_killed: raises Refused for a call that was killed meanwhile.
        credentials: fetches what tools get by reference.
    """

    def __init__(
        self,
        workers: Workers,
        clock: Clock,
        ids: Ids,
        max_result_bytes: int,
        refuse_killed: Callable[[ToolCall], None],
        credentials: Credentials | None = None,
    ) -> None:
        self._workers = workers
        self._clock = clock
        self._ids = ids
        self._max_result_bytes = max_result_bytes
        self._refuse_killed = refuse_killed
        self._credentials = credentials or Credentials()

    def longest_s(self, call: ToolCall) -> float:
        """Seconds after which the call cannot be running any more, however often it is repeated."""
        attempts = retries_allowed(call) + 1
        fetching = COMMAND_S * len(call.credentials)
        return attempts * (call.spec.timeout_ms / 1000 + LONGEST_WAIT_S + fetching) + DEADLINE_GRACE_S

    def run(self, call: ToolCall, loop: asyncio.AbstractEventLoop | None) -> Outcome:
        """Call the tool, again where that is allowed and may help; raises only KeyboardInterrupt.

        Args:
            loop: the caller's event loop, for async tools; None gives them one of their own.
        """
        attempt, started = 0, self._clock.monotonic()
        while True:
            try:
                value = self._invoke(call, loop)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - whatever a tool raises, SystemExit too, is an outcome
                outcome = _failure(call, error)
                if (
                    attempt >= retries_allowed(call)
                    or not may_retry(error)
                    or self._out_of_time(call, started)
                ):
                    break
            else:
                outcome = self.judge(call, value)
                break
            wait = min(FIRST_WAIT_S * 2**attempt, LONGEST_WAIT_S)
            self._clock.sleep(wait * (0.5 + self._ids.random() / 2))
            try:
                self._refuse_killed(call)
            except Refused as refusal:
                outcome.message += safe_message(call, f"; not retried: {refusal.reason}")
                break
            attempt += 1
        latency_ms = (self._clock.monotonic() - started) * 1000
        if attempt == 0 and not call.has_deadline and latency_ms > call.spec.timeout_ms:
            late = f"took {latency_ms:.0f} ms, more than timeout_ms = {call.spec.timeout_ms}"
            outcome = Outcome(code=ToolErrorCode.TIMEOUT, message=late, done=False)
        outcome.latency_ms, outcome.retries = latency_ms, attempt
        return outcome

    def _out_of_time(self, call: ToolCall, started: float) -> bool:
        budget = call.ctx.budget
        spent = budget.latency_ms_used + (self._clock.monotonic() - started) * 1000
        return spent >= budget.max_latency_ms

    def _invoke(self, call: ToolCall, loop: asyncio.AbstractEventLoop | None) -> Any:
        # A copy for each attempt: what a tool does to its arguments must reach neither the next one nor the log.
        keywords = orjson.loads(orjson.dumps(call.args))
        if call.credentials:
            keywords |= self._fetched(call)
        if call.accepts_key and call.identity:
            keywords = {**keywords, IDEMPOTENCY_KEY: call.identity.idempotency_key}
        timeout_s = call.spec.timeout_ms / 1000
        if call.has_deadline:
            value = self._workers.call(partial(call.fn, **keywords), timeout_s)
        else:
            value = call.fn(**keywords)
        return self._await(value, timeout_s, loop) if type(value) is CoroutineType else value

    def _fetched(self, call: ToolCall) -> dict[str, str]:
        """The values of a call's credentials, which from now on appear nowhere."""
        values = {parameter: self._credentials.value(name) for parameter, name in call.credentials.items()}
        call.secrets = sorted({*call.secrets, *secret_texts(list(values.values()))}, key=len, reverse=True)
        return values

    def _await(
        self,
        coroutine: CoroutineType[Any, Any, Any],
        timeout_s: float,
        loop: asyncio.AbstractEventLoop | None,
    ) -> Any:
        import asyncio
        from concurrent.futures import CancelledError

        if loop is None:
            timed = partial(asyncio.wait_for, coroutine, timeout_s)
            return self._workers.call(lambda: asyncio.run(timed()), timeout_s + 1)
        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        try:
            return future.result(timeout_s)
        except TimeoutError:
            future.cancel()
            raise
        except CancelledError:
            raise TimeoutError("the event loop ended before the tool did") from None

    def judge(self, call: ToolCall, value: Any) -> Outcome:
        """The outcome for a returned value; an unusable one does not undo what the tool did."""
        provenance = None
        if isinstance(value, ToolResult):
            if not value.success:
                code = _known_code(value.error_code)
                return Outcome(code=code, message=safe_message(call, str(value.error_message)), done=False)
            value, provenance = value.data, value.provenance
        try:
            frozen, encoded = freeze(value)
            if call.credentials:
                frozen, encoded = freeze(scrub(frozen, call.secrets))
                if provenance is not None:
                    uri = scrub(provenance.source_uri, call.secrets)
                    provenance = replace(provenance, source_uri=uri)
        except NotCanonical as error:
            return _unusable(call, f"returned a value that is not JSON: {error}")
        except Exception as error:  # noqa: BLE001 - a value's own methods may raise anything
            return _unusable(call, f"returned a value that cannot be read: {type(error).__name__}")
        declared = call.spec.returns_schema.type
        if not value_matches(declared, frozen):
            return _unusable(call, f"returned a value that is not of its declared type {declared}")
        if len(encoded) > self._max_result_bytes:
            size, limit = human_bytes(len(encoded)), human_bytes(self._max_result_bytes)
            return _unusable(call, f"returned {size}, more than max_result_bytes allows ({limit})")
        return Outcome(frozen, encoded, provenance=provenance)


def retries_allowed(call: ToolCall) -> int:
    """The number of retries of a failed call: free only where repeating cannot double an effect."""
    spec = call.spec
    repeatable = (
        not call.side_effecting or call.accepts_key or (spec.idempotent and "idempotent" in spec.declared)
    )
    return min(spec.max_retries, call.ctx.budget.max_retries_per_tool) if repeatable else 0


def _known_code(code: Any) -> ToolErrorCode:
    return code if isinstance(code, ToolErrorCode) else ToolErrorCode.UNEXPECTED


def _unusable(call: ToolCall, what: str) -> Outcome:
    message = f"{call.tool_id} {what}"
    return Outcome(code=ToolErrorCode.VALIDATION_ERROR, message=message, effect=Effect.DONE)


def _failure(call: ToolCall, error: BaseException) -> Outcome:
    """The outcome for an exception, even one whose own methods raise."""
    if isinstance(error, DeadlineExceeded):
        message = f"no answer within timeout_ms = {call.spec.timeout_ms}"
        return Outcome(code=ToolErrorCode.TIMEOUT, message=message, done=False, final=True)
    try:
        code, message, final = code_for(error), message_for(error), not may_retry(error)
    except Exception:  # noqa: BLE001 - the exception's own __str__ or attributes may raise
        return Outcome(code=ToolErrorCode.UNEXPECTED, message=type(error).__name__, done=False)
    if isinstance(error, TypeError) and not _binds(call.fn, call.args):
        code, final = ToolErrorCode.VALIDATION_ERROR, True
    effect = error.effect if isinstance(error, ToolError) else Effect.UNSTATED
    return Outcome(code=code, message=safe_message(call, message), done=False, final=final, effect=effect)


def _binds(fn: ToolFunction, args: dict[str, Any]) -> bool:
    try:
        inspect.signature(fn).bind(**args)
    except TypeError:
        return False
    except ValueError:  # no signature to compare with
        return True
    return True
