"""Outcome of a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sb.kernel.contracts import ToolErrorCode, ToolProvenance
from sb.kernel.results import Effect


@dataclass(slots=True)
class Outcome:
    """Outcome of a call.

    Args:
        value: what it returned, as plain JSON; None on failure.
        encoded: the canonical form of that value.
        latency_ms: milliseconds inside the tool, waits between attempts included.
        provenance: where the value came from, if the tool said so.
        final: whether another attempt could not help.
        done: whether the tool came to its end, so that its effect happened even if its answer was unusable.
        effect: of a failure: whether something was changed all the same.
        warning: what its caller is told beside the value.
    """

    value: Any = None
    encoded: bytes = b"null"
    code: ToolErrorCode | None = None
    message: str = ""
    latency_ms: float = 0.0
    retries: int = 0
    provenance: ToolProvenance | None = None
    done: bool = True
    final: bool = False
    effect: Effect = Effect.UNSTATED
    warning: str = ""
