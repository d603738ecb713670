"""Cost of each part of a read-only call in memory: the call is measured again without that part.

Nothing here is a setting: a call without one of these parts would not be governed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any
from unittest.mock import patch

from evals.bench.kernel import ARGS, context, registry, tool
from evals.bench.reference import MemoryReference
from sb.kernel.calls.intents import IntentState
from sb.kernel.execution import recorder
from sb.kernel.execution.admission import Admission
from sb.kernel.execution.attempts import Attempts
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.execution.outcome import Outcome
from sb.kernel.execution.recorder import Recorder
from sb.kernel.policy.permissions import PolicyAction, PolicyDecision
from sb.log import event_log
from sb.log.event_log import LogWrite

CALLS, ROUNDS = 300, 41
_ALLOWED = PolicyDecision(PolicyAction.ALLOW, "", "")
_OUTCOME = Outcome({"items": [1, 2, 3]}, b'{"items":[1,2,3]}')
_CONTRACT = dict.fromkeys(
    (
        "tool_contract_fingerprint",
        "tool_contract_registered_fingerprint",
        "tool_contract_status",
        "tool_contract_enforcement",
        "tool_contract_mismatch",
    ),
    "x" * 16,
)


def _frozen(admission: Admission, call: Any, args: Any) -> None:
    call.args, call.args_size, call.args_digest = args, 100, "0" * 64


def _contract(admission: Admission, call: Any) -> None:
    call.contract = _CONTRACT


def _policy(admission: Admission, call: Any) -> None:
    call.policy_version, call.policy = "0" * 16, _ALLOWED


def _nothing(*args: Any, **named: Any) -> None:
    pass


Parts = list[tuple[str, list[tuple[Any, str, Any]]]]


def parts() -> Parts:
    """Names of parts, each with what is put in its place: owner, attribute, value."""
    return [
        ("arguments copied, made canonical, their digest", [(Admission, "_freeze", _frozen)]),
        ("kill switch", [(Recorder, "refuse_killed", _nothing)]),
        ("contract compared with registration", [(Admission, "_check_contract", _contract)]),
        ("policy, permissions, capabilities", [(Admission, "_check_policy", _policy)]),
        ("arguments against their schema", [(Admission, "_check_arguments", _nothing)]),
        ("whether a person must approve it", [(Admission, "_check_approval", _nothing)]),
        ("the tool, with copies of arguments and result", [(Attempts, "run", lambda *given: _OUTCOME)]),
        ("copy and canonical form of the result", [(Attempts, "judge", lambda *given: _OUTCOME)]),
        ("redaction of the event", [(event_log, "redact_json", lambda value: '{"args":{},"result":{}}')]),
        ("hash of the chain", [(event_log, "link_hash", lambda *given: "0" * 64)]),
        ("secrets masked in arguments and result", [(recorder, "scrub", lambda value, secrets: value)]),
        ("event appended", [(LogWrite, "append", lambda *given: 1)]),
        ("outcome on record, all of it", [(Recorder, "outcome", lambda *given: IntentState.DONE)]),
    ]


@contextlib.contextmanager
def without(replaced: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """The kernel with other functions in these places."""
    with contextlib.ExitStack() as stack:
        for owner, name, value in replaced:
            stack.enter_context(patch.object(owner, name, value))
        yield


def _cpu(action: Callable[[], object]) -> float:
    """Microseconds of CPU a call, over one block."""
    started = time.process_time()
    for _ in range(CALLS):
        action()
    return (time.process_time() - started) / CALLS * 1e6


def report() -> Iterator[str]:
    executor, ctx, by_hand = ToolExecutor(registry()), context(), MemoryReference(tool)

    def call() -> object:
        return executor.execute(ctx, "bench.read", ARGS)

    floor = median(_cpu(lambda: by_hand.call(ARGS)) for _ in range(ROUNDS))
    for name, replaced in parts():
        pairs = []
        for _ in range(ROUNDS):
            whole = _cpu(call)
            with without(replaced):
                pairs.append((whole, _cpu(call)))
        whole, rest = (median(pair[side] for pair in pairs) for side in (0, 1))
        costs = median(whole - rest for whole, rest in pairs)
        yield f"{name:<50} {costs:>6.1f} us   of {whole:>5.1f}, without it {rest:>5.1f} = {rest / floor:.1f} floors"
    yield f"{'the floor':<50} {floor:>6.1f} us"
