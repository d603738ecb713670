"""Plans and results of undoing a call."""

from __future__ import annotations

from typing import Any

from sb.base.values.frozen import frozen
from sb.kernel.approvals.disclosure import Argument
from sb.kernel.contracts import ToolResult
from sb.kernel.reversibility.contracts import MutationRef


@frozen
class Plan:
    """The plan of an undo.

    Args:
        ok: whether it would be tried. detail: why not, or what it would do.
        arguments: of the reversal, as who decides is shown them. checked: whether a tool looked whether it would work.
    """

    ref: MutationRef
    ok: bool
    detail: str
    arguments: tuple[Argument, ...]
    checked: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"mutation": self.ref.to_dict(), "ok": self.ok, "detail": self.detail, "checked": self.checked}


@frozen
class Undone:
    """The result of one reversal.

    Args:
        state: "reversed", "in part" where repeating it tries the rest, "failed", "in doubt", "under way" where somebody
            else is at it, or "waiting" for a second person.
        detail: one line for a person.
    """

    mutation_id: str
    state: str
    detail: str
    result: ToolResult | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        call_id = self.result.call_id if self.result else ""
        return {
            "mutation_id": self.mutation_id,
            "state": self.state,
            "detail": self.detail,
            "call_id": call_id,
        }
