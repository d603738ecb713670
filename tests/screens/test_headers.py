"""Lists name their columns, and keep agent and time at every width."""

from __future__ import annotations

from typing import Any

import pytest
from sb.screens.row_list import RowList
from textual.pilot import Pilot

from sb.present.events import CALL, EVENT
from sb.present.kind import Column, Kind
from sb.present.needs import NEED
from sb.present.recovery import RECOVERY
from tests.screens.conftest import Agents, Console
from tests.screens.steps import CHANGES

VIEWS = {
    "inbox": (["1"], ("state", "object", "agent", "when")),
    "log": (["3"], ("verdict", "object", "agent", "age")),
    "calls": (["3", "right_square_bracket"], ("verdict", "agent", "age")),
    "changes": ([*CHANGES, "h"], ("state", "call", "agent", "when")),
}


def lines(console: Console) -> list[str]:
    rows = console.app.screen.query_one(RowList)
    return [rows.render_line(y).text for y in range(3)]


@pytest.mark.parametrize("name", VIEWS)
def test_a_list_has_a_title_above_each_column_and_names_the_agent(
    agents: Agents, console: Console, name: str
) -> None:
    keys, titles = VIEWS[name]
    agents.work(2)
    agents.pay("bob")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *keys)
        for size in ((80, 24), (120, 36)):
            await console.resize(*size)
            await console.press(pilot, "r")
            header, first, _ = lines(console)
            assert [word for word in titles if word not in header.split()] == [], size
            assert header.index("agent") == first.index("clerk"), size

    console(script)


@pytest.mark.parametrize("kind", [NEED, RECOVERY, EVENT, CALL])
def test_titles_are_those_of_the_kind_and_lists_of_one_column_have_none(kind: Kind[Any]) -> None:
    assert all(column.title for column in kind.columns["list"])
    assert not RowList((Column(),), id="one")._top


def test_a_click_below_the_titles_chooses_the_line_that_was_clicked(agents: Agents, console: Console) -> None:
    agents.pay("bob", agent="courier")
    agents.pay("eve")

    async def script(pilot: Pilot[None]) -> None:
        rows = console.app.screen.query_one(RowList)
        await pilot.click(RowList, offset=(10, 2))
        await console.settle(pilot)
        assert rows.listing.index == 1
        await pilot.click(RowList, offset=(10, 0))
        await console.settle(pilot)
        assert rows.listing.index == 1, "the titles are no line"

    console(script, (120, 36))
