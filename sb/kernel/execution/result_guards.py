"""Guards of results: what may keep a call's answer from its caller, or set a warning beside it, once it is on record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sb.base.secrets.redaction import one_line
from sb.kernel.calls.call import ToolCall
from sb.kernel.contracts import ToolErrorCode
from sb.kernel.execution.outcome import Outcome
from sb.kernel.results import Effect


class ResultGuard(Protocol):
    """Looks at the outcome of a call, also of one that failed, and may change what its caller is given."""

    def __call__(self, call: ToolCall, outcome: Outcome) -> None: ...


def guard_result(guards: Sequence[ResultGuard], call: ToolCall, outcome: Outcome) -> None:
    """Let each guard look; an outcome that one of them cannot judge is withheld."""
    for guard in guards:
        try:
            guard(call, outcome)
        except Exception as error:  # noqa: BLE001 - a failing check withholds, whatever it is
            why = f"the result could not be checked: {type(error).__name__}: {one_line(error, 200)}"
            withhold(outcome, why)


def withhold(outcome: Outcome, why: str) -> None:
    """Keep the value from the caller; the tool ran, which the outcome says."""
    outcome.value, outcome.encoded = None, b"null"
    outcome.code, outcome.message = ToolErrorCode.PERMISSION_DENIED, why
    outcome.effect = Effect.DONE
