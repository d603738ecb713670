"""Steps of tests of the console: calls that wait or changed something, and dialogs that are filled."""

from __future__ import annotations

from sb.screens.decision import DecisionScreen
from sb.screens.document_view import DocumentView
from sb.screens.state.document import Field
from textual.pilot import Pilot
from textual.widgets import Input

from sb.kernel.contracts import MutationRef
from sb.kernel.events import AssumptionInvalidated
from tests.screens.conftest import Agents, Console

SHIPPED = "order_not_shipped:1002"
CHANGES = ("3", "right_square_bracket", "right_square_bracket")  # the keys that lead to what can be undone


async def give(console: Console, pilot: Pilot[None], text: str, box: str = "reason") -> None:
    """Fill a box of a dialog, and go on from it."""
    found = console.app.screen.query_one(f"#{box}", Input)
    found.value = text
    found.focus()
    await console.press(pilot, "enter")
    await pilot.pause()


async def ask(console: Console, pilot: Pilot[None], key: str) -> None:
    """Press a key that asks for a decision, and wait for its dialog."""
    await console.press(pilot, key)
    await console.until(pilot, lambda: isinstance(console.app.screen, DecisionScreen))


def dialog(console: Console) -> str:
    """The text of the dialog, its lines put together."""
    place = console.app.screen.query_one(".dialog").content_region
    lines = console.text().split("\n")[place.y : place.bottom]
    return " ".join("".join(line[place.x : place.right].strip() for line in lines).split())


def record(console: Console) -> str:
    """The whole record beside the list, also what is scrolled away or folded."""
    fields = [field for view in console.app.screen.query(DocumentView) for field in view.fields]
    return "\n".join(f"{field.name} {field.value or ''}" for field in fields if isinstance(field, Field))


def shell(agents: Agents, command: str, agent: str = "claude-code") -> str:
    """A request for a command line, as a host asks; returns its id."""
    args = {"command": command, "cwd": "/work", "tool": "Bash"}
    ctx = agents.context(agent)
    asked = agents.runtime.executor.external.announce(ctx, "host.shell.destructive", args, step="")
    return str(asked.data["approval_id"])


def done(agents: Agents, tool_id: str = "pay.human", **args: object) -> MutationRef:
    """A call of `tests.screens.shop` that succeeded, by what it left behind."""
    agents.clock.time += 1
    result = agents.call(tool_id, args or {"order": "1002"}, intent="settle the complaint")
    assert result.success, result
    return agents.runtime.recovery.mutations.get(result.mutation_id)


def escalate(agents: Agents, ref: MutationRef, cause: str = SHIPPED) -> str:
    """The id of the escalation after what the call relied on holds no more."""
    recovery = agents.runtime.recovery
    agents.clock.time += 1
    recovery.escalate(ref, AssumptionInvalidated(cause, reason="it has shipped"), f"{cause} turned false")
    return recovery.escalations.get(ref.mutation_id).id
