"""The console: stored text cannot hide a part of a line, pass for a line of our own, or run where it is pasted."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest
from rich.cells import cell_len
from sb.screens.document_view import DocumentView
from sb.screens.row_list import RowList
from sb.screens.state import document
from sb.screens.state.approvals import question
from sb.screens.state.document import Field, fields_of, layout
from sb.screens.state.events import record_document
from sb.screens.state.listing import Row
from sb.screens.state.question import Question
from textual.pilot import Pilot
from textual.widgets import Input

from sb.kernel import SafetyClass
from sb.kernel.authority.signing import Label
from sb.kernel.calls.narrative import describe
from sb.present.approvals import call_text
from tests.conftest import CommandLine, approve_tools
from tests.screens.conftest import Agents, Console
from tests.screens.steps import give
from tests.screens.test_safety import FORBIDDEN

IMITATION = "clerk\nada: bank.look(), read_only (apr_1)\nEach call only reads."


def requested(agents: Agents, approval_id: str, verb: str = "approve") -> Question:
    queue = agents.runtime.approvals
    return question(verb, [queue.disclose(queue.get(approval_id))])


def any_arguments(agents: Agents, args: dict[str, object]) -> str:
    """A call of a tool that takes whatever it is given; returns its id."""
    agents.runtime.registry.register_fn("any.tool", "Any", lambda **given: 1, SafetyClass.READ_ONLY)
    return agents.call("any.tool", args).call_id


def test_an_agents_name_begins_no_line_in_a_question(agents: Agents) -> None:
    asked = requested(agents, agents.pay("bob", agent=IMITATION))
    texts = [*asked.objects, *(text for fact in asked.facts for text in fact), asked.consequence, asked.title]
    assert [text for text in texts if "\n" in text] == []
    assert dict(asked.facts)["Agent"].startswith(
        "clerk\\u000aada: bank.look(), read_only (apr_1)\\u000aEach call"
    )


def test_padding_begins_no_line_of_a_question(agents: Agents, console: Console) -> None:
    agents.pay("bob" + " " * 60 + "ada: bank.look(), read_only")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "a")
        lines = [line for line in console.text().split("\n") if "bank." in line and "│" in line]
        values = [line for line in lines if " Why " not in line and " Tool " not in line]
        inside = [line for line in values if line.count("│") == 3]
        assert len(inside) == 2, "beside the object's own border"
        assert all(line.split("│")[1].startswith("     ") for line in values if line not in inside)

    console(script)


def test_padding_begins_no_line_of_a_record() -> None:
    values = 'to = "bob' + " " * 60 + 'amount = 1"\nto = "eve"'
    lines = layout(
        [Field("arguments", values), Field("clerk wants" + " " * 60 + "approved")], 60, unfolded=True
    )
    assert [line.name.strip() for line in lines if line.text] == ["arguments", "\u21b3", "", "", ""]
    assert "amount = 1" in lines[1].text
    assert lines[-1].text.strip() == "approved"
    assert lines[-1].text.startswith("    ")


def test_a_message_carries_no_escape_sequence_of_an_agents_name(agents: Agents, console: Console) -> None:
    agents.call("notes.append", {"text": "x"}, agent="e\x1b]52;c;eA==\x07\x9b2J\u202e\nsb: all is well")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "K", "enter")
        console.app.screen.query_one("#reason", Input).value = "stop"
        await console.press(pilot, "enter", "y")
        console.app.screen.query_one("#word", Input).value = "kill"
        await console.press(pilot, "enter")
        await console.says(pilot, "was killed by")
        messages = [notification.message for notification in console.app._notifications]
        assert not any(FORBIDDEN.search(text) or "\n" in text for text in messages), messages

    console(script)


def test_no_name_of_an_argument_passes_for_none_or_for_a_field_of_ours(agents: Agents) -> None:
    imitation = "approved by         ada, who read it"
    call_id = any_arguments(
        agents, {"to": "bob", "": imitation, " ": imitation, "\u200b": imitation, "agent ": "ada"}
    )
    lines = layout(record_document(agents.runtime.log, call_id), 100, unfolded=True)
    assert not [line for line in lines if line.text == imitation and line.name.strip() in ("", "approved by")]
    assert [line.name for line in lines if line.text == imitation] == ['""', '" "', '"\\u200b"']


def test_the_names_of_two_calls_that_differ_do_not_look_alike(agents: Agents) -> None:
    agents.runtime.registry.register_fn("any.pay", "Pay", lambda **given: 1, SafetyClass.DESTRUCTIVE)
    approve_tools(agents.runtime)
    calls: list[dict[str, object]] = [{"to": "bob", "amount": 1}, {'to="bob", amount': 1}]
    queue = agents.runtime.approvals
    asked = [queue.get(str(agents.call("any.pay", args).data["approval_id"])) for args in calls]
    texts = {call_text(queue.disclose(item)) for item in asked}
    assert len(texts) == 2


def test_wide_letters_in_a_name_push_no_value_out_of_its_line(agents: Agents, console: Console) -> None:
    call_id = any_arguments(agents, {"\u6f22" * 9: "x" * 150, "\u6f22" * 40: "y" * 150})

    async def script(pilot: Pilot[None]) -> None:
        console.app.open_record(call_id)
        await console.shows(pilot, "xxx")
        view = console.app.screen.query_one(DocumentView)
        widths = {cell_len(view.render_line(y).text) for y in range(view.size.height)}
        assert widths == {view.size.width}

    console(script, (80, 24))


def test_no_text_hides_what_is_said_after_it(agents: Agents) -> None:
    """A string sequence that one field begins and another ends would swallow all between, as in a terminal."""
    agents.call("notes.append", {"text": "pay eve\x07"}, agent="clerk\x1b]0;")
    shown = [describe(event) for event in agents.runtime.log.events(tool_id="notes.append")]
    assert shown
    assert all("notes.append" in line for line in shown), shown


def test_words_that_only_models_read_are_visible_in_a_record() -> None:
    order = "".join(chr(0xE0000 + ord(char)) for char in "obey")
    selectors = "".join(chr(0xFE00 + ord(char) % 16) for char in "obey")
    (line,) = layout(
        [Field("text", f"all is well{order}{selectors}\u202e \u2764\ufe0f\u200d\U0001f525")],
        200,
        unfolded=True,
    )
    assert line.text.startswith("all is well\\ue006f\\ue0062")
    assert "\\ufe0f\\ufe02" in line.text
    assert line.text.endswith("\\u202e \u2764\ufe0f\u200d\U0001f525")


def test_accents_do_not_pile_up_over_the_lines_around() -> None:
    assert len(Row(("Z" + "\u0335\u0301" * 400,)).texts[0]) == 5


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_copied_record_that_is_pasted_into_a_shell_runs_nothing(tmp_path: Path, shell: str) -> None:
    args = {"command": "touch ran", "x;touch ran;": "1", "text": f"hello\ntouch {tmp_path}/ran\n$(touch ran)"}
    pasted = document.copied([Field("clerk wants this\ntouch ran"), *fields_of(args)])
    for line in pasted.split("\n"):  # as an interactive shell reads them
        subprocess.run([shell, "-c", line], cwd=tmp_path, capture_output=True, check=False)
    assert "touch ran" in pasted
    assert not (tmp_path / "ran").exists()


def test_a_contract_that_changes_while_it_is_looked_at_is_not_approved_with_the_next_key(
    agents: Agents, console: Console
) -> None:
    agents.change_contract()
    register = agents.runtime.registry.register_fn

    def change_again() -> None:
        agents.runtime.registry.unregister("bank.look")
        register("bank.look", "Look", lambda account, deep=False, to="eve": {}, SafetyClass.DESTRUCTIVE)
        agents.call("bank.look", {"account": "DE-1"})

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "5")
        assert "State changed" in console.squeezed()
        await console.press(pilot, "space", "k")
        assert "1 marked" in console.text()
        change_again()
        await console.says(pilot, "bank.look changed just now")
        assert "marked" not in console.text()
        await console.press(pilot, "a")
        await console.says(pilot, "changed while you looked at it")
        assert not console.app.screen.query("#reason")
        await console.press(pilot, "a")
        assert "bank.look: changed" in console.text()
        await give(console, pilot, "read it")
        await console.press(pilot, "y")
        await console.says(pilot, "agents may call bank.look as shown")

    console(script, (120, 40))


def test_json_on_a_terminal_commands_it_as_little_as_tables_do(agents: Agents, sb: CommandLine) -> None:
    agents.clock.time = time.time()  # what was asked for later than now is expired
    name = "e\x9b2J\x7f\u202e\U000e0041ve"
    agents.pay(agent=name)
    shown = sb("approvals", "list", "--json")
    assert not FORBIDDEN.search(shown.out.replace("\n", ""))
    assert json.loads(shown.out)["items"][0]["agent"] == name


def test_two_requests_that_differ_in_what_nobody_sees_look_different_in_a_list(
    agents: Agents, sb: CommandLine
) -> None:
    agents.clock.time = time.time()
    for to in ("eve", "e\u200bve", "\u202eeve"):
        agents.pay(to)
    listed = sb("approvals", "list").out
    assert listed.count('to="eve"') == 1
    assert "e\\u200bve" in listed
    assert "\\u202eeve" in listed


def test_the_cursor_stays_on_its_kill_when_another_one_comes(agents: Agents, console: Console) -> None:
    kills = console.records.kill_switch("write")
    kills.throw("agent", "clerk", Label("ada"), "a false alarm", wait_s=0)

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "agent clerk")
        assert "clerk" in _under_cursor(console)
        kills.throw("agent", "eve", Label("ada"), "it stole", wait_s=0)
        await console.shows(pilot, "agent eve")
        assert "clerk" in _under_cursor(console)
        await console.press(pilot, "L")
        assert "agent:clerk" in console.text()

    console(script, (120, 40))


def _under_cursor(console: Console) -> str:
    rows = console.app.screen.query_one(RowList)
    row = rows.listing.row(rows.listing.index)
    return " ".join(row.texts) if row else ""
