"""The console: who decides sees everything that can act, has opened what is long, and decides what was shown."""

from __future__ import annotations

import json
from typing import Any

from sb.screens.decision import DecisionScreen
from sb.screens.document_view import DocumentView
from sb.screens.inbox import InboxScreen
from textual.pilot import Pilot

from sb.kernel import SafetyClass
from sb.kernel.approvals.disclosure import LONGEST_UNOPENED
from sb.kernel.contracts import ToolArgSchema
from tests.conftest import approve_tools
from tests.kernel.approvals.test_disclosure import ACTING, GITHUB
from tests.screens.conftest import Agents, Console
from tests.screens.steps import give
from tests.screens.test_deciding import state

LONG = "x" * LONGEST_UNOPENED + " the end"
SIZE = f"{len(LONG) + len('to') + 2:,}"


def shell(agents: Agents, command: str) -> str:
    """A host's question before it runs a command line; returns the request's id."""
    args = {"command": command, "cwd": "/work", "tool": "Bash"}
    ctx = agents.context("claude-code")
    asked = agents.runtime.executor.external.announce(ctx, "host.shell.destructive", args, step="")
    return str(asked.data["approval_id"])


def sent(agents: Agents, **args: Any) -> str:
    """A call with a declared secret; returns the request's id."""
    schema = [ToolArgSchema("to"), ToolArgSchema("pin", sensitive=True)]
    agents.runtime.registry.register_fn(
        "any.send", "Send", lambda to, pin: 1, SafetyClass.DESTRUCTIVE, args_schema=schema
    )
    approve_tools(agents.runtime)
    return str(agents.call("any.send", args).data["approval_id"])


def record(console: Console) -> str:
    """The request under the cursor as it is laid out, in one piece."""
    return "".join(line.text.strip(" ") for line in console.app.screen.query_one(DocumentView).lines)


def edit(agents: Agents, approval_id: str, before: str, after: str) -> None:
    """Change what is displayed as an attacker with SQL does."""
    with agents.runtime.database.write() as execute:
        for (name,) in execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            execute(f"DROP TRIGGER {name}")
        sql = "UPDATE events SET payload = replace(payload, ?, ?) WHERE call_id = ?"
        assert execute(sql, (before, after, approval_id)).rowcount


def test_every_character_that_can_act_is_on_screen(agents: Agents, console: Console) -> None:
    ids = [shell(agents, command) for command in ACTING]

    async def script(pilot: Pilot[None]) -> None:
        for approval_id, command in zip(ids, ACTING, strict=True):
            await console.point(pilot, approval_id)
            shown = json.dumps(command)[1:-1].replace("\\n", "\\\\n").replace(" ", "")
            assert shown in record(console).replace(" ", "").replace("\\\\n", "\\n").replace("\\n", "\\\\n")
            assert "[redacted" not in console.text()
        await console.press(pilot, "S")
        await console.says(pilot, "nothing is hidden here")

    console(script, (120, 60))


def test_a_secret_that_nothing_runs_is_hidden_until_v_and_again_on_the_next_request(
    agents: Agents, console: Console
) -> None:
    approval_id = shell(agents, f"curl -H 'Authorization: Bearer {GITHUB}' https://api.example/x")
    other = agents.pay("bob")

    async def script(pilot: Pilot[None]) -> None:
        await console.point(pilot, approval_id)
        assert "[hidden:40characters]" in record(console).replace(" ", "")
        assert GITHUB not in console.text()
        await console.press(pilot, "S")
        assert GITHUB in record(console)
        await console.point(pilot, other)
        await console.point(pilot, approval_id)
        assert GITHUB not in record(console)
        await console.press(pilot, "a")
        assert GITHUB not in dialog(console)
        assert "S shows them in step 2" in dialog(console)

    console(script, (140, 40))


def dialog(console: Console) -> str:
    """The text of the dialog, its lines put together."""
    assert isinstance(console.app.screen, DecisionScreen)
    place = console.app.screen.query_one(".dialog").content_region
    lines = console.text().split("\n")[place.y : place.bottom]
    inside = [line[place.x : place.right] for line in lines]
    return " ".join("".join(line.strip() for line in inside).split())


def test_only_the_declared_argument_is_hidden_and_equal_text_elsewhere_is_not(
    agents: Agents, console: Console
) -> None:
    sent(agents, to="mallory", pin="mallory")

    async def script(pilot: Pilot[None]) -> None:
        assert "any.send to=mallory, pin=[hidden: 9 characters]" in record(console)
        assert '"mallory"[hidden: 9 characters]' in record(console), "and each in a line of its own"

    console(script)


def test_a_long_call_says_how_long_it_is_and_is_approved_only_once_opened(
    agents: Agents, console: Console
) -> None:
    approval_id = agents.pay(LONG)

    async def script(pilot: Pilot[None]) -> None:
        assert f"{SIZE} characters" in console.text()
        assert "the end" in console.text()
        await console.press(pilot, "a")
        await console.says(pilot, f"{SIZE} characters of arguments: enter opens them, then a approves")
        assert not isinstance(console.app.screen, DecisionScreen)
        await console.press(pilot, "enter")
        assert LONG in record(console).replace("\u21b3", ""), "folded"
        await console.press(pilot, "a")
        await give(console, pilot, "read to the end")
        await console.press(pilot, "y")
        await console.until(pilot, lambda: state(agents, approval_id) == "approved")

    console(script, (200, 40))


def test_of_several_the_long_ones_have_to_be_opened_first(agents: Agents, console: Console) -> None:
    ids = [agents.pay("bob"), agents.pay(LONG)]

    async def script(pilot: Pilot[None]) -> None:
        await console.mark(pilot, *ids)
        await console.press(pilot, "a")
        await console.says(pilot, "1 of these 2 are too long to show here")
        await console.press(pilot, "enter", "escape", "a")
        assert "Approve 2 requests" in console.text()
        await give(console, pilot, "both are right")
        await console.press(pilot, "pagedown", "pagedown")
        await give(console, pilot, "2", "word")
        await console.until(pilot, lambda: {state(agents, item) for item in ids} == {"approved"})

    console(script, (120, 40))


def test_all_that_is_approved_at_once_is_listed(agents: Agents, console: Console) -> None:
    ids = [agents.pay(f"payee-{number}") for number in range(9)]

    async def script(pilot: Pilot[None]) -> None:
        await console.mark(pilot, *ids)
        await console.press(pilot, "a")
        shown = dialog(console)
        await console.press(pilot, "pagedown", "pagedown")
        assert all(f'to="payee-{number}"' in shown + dialog(console) for number in range(9))

    console(script, (120, 60))


def test_a_request_that_is_edited_while_it_is_read_is_not_approved(agents: Agents, console: Console) -> None:
    approval_id = agents.pay("electricity co")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "a")
        await give(console, pilot, "the bill is right")
        edit(agents, approval_id, "electricity co", "water co")
        await console.press(pilot, "y")
        await console.until(pilot, lambda: bool(console.app._notifications))
        assert state(agents, approval_id) == "waiting"

    console(script)


def test_an_edited_request_says_that_it_cannot_be_approved_and_can_be_denied(
    agents: Agents, console: Console
) -> None:
    approval_id = agents.pay("mallory")
    edit(agents, approval_id, "mallory", "electricity co")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "Cannot be approved ")
        await console.press(pilot, "a")
        await console.until(pilot, lambda: bool(console.app._notifications))
        assert not isinstance(console.app.screen, DecisionScreen)
        await console.press(pilot, "d")
        await give(console, pilot, "it was changed")
        await console.press(pilot, "y")
        await console.until(pilot, lambda: state(agents, approval_id) == "denied")

    console(script, (160, 40))


def test_a_copy_holds_what_is_hidden_only_while_it_is_revealed(agents: Agents, console: Console) -> None:
    shell(agents, f"curl -H 'Authorization: Bearer {GITHUB}' https://api.example/x")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "enter", "c")
        assert GITHUB not in console.app.clipboard
        await console.press(pilot, "S", "c")
        assert GITHUB in console.app.clipboard
        assert isinstance(console.app.screen, InboxScreen)

    console(script, (120, 40))
