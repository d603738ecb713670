"""The console's screen of memory: everything that is remembered, found as one types, and mended with a reason."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import pytest
from sb.screens.memory import MemoryScreen
from sb.screens.panel import Panel
from sb.screens.state.memory import BEST, BEST_HEADING, NEAREST_HEADING, REST_HEADING, Ranking, arranged
from sb.screens.state.search import Found
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Input

from sb.base.sources import SteeredClock
from sb.memory import Brain
from tests.screens.conftest import HOSTILE, Agents, Console
from tests.screens.overflow import WIDE, WIDTHS, overflowing
from tests.screens.test_safety import FORBIDDEN

DAY_S = 86_400.0


@pytest.fixture
def clerk(agents: Agents) -> Iterator[Brain]:
    """An agent that remembers a little, and one old decision."""
    with agents.runtime.brain("clerk", scope="project:shop", session="ses_clerk") as brain:
        yield brain


def shop(brain: Brain, clock: SteeredClock) -> dict[str, str]:
    """A year of memories; returns ids by name."""
    known = {}
    known["table"] = brain.entity("orders table", "service", observations=["12 million rows"])
    known["event"] = brain.log("the queue was full at noon", "warning")
    clock.time += DAY_S
    known["choice"] = brain.decide(
        "Postgres instead of MySQL",
        "the orders table needs partial indexes",
        derived_from=[known["event"]],
    )
    brain.relate(known["choice"], "about", known["table"])
    clock.time += 300 * DAY_S
    for number in range(30):
        clock.time += DAY_S
        brain.remember(f"invoice {number} was paid late", project="books")
    known["mine"] = brain.remember("ask Eve before a refund above 500", "preference", private=True)
    known["lesson"] = brain.remember("a reindex of the orders table takes an hour", "lesson")
    brain.search("how long does a reindex take")
    return known


def screen(console: Console) -> MemoryScreen:
    shown = console.app.screen
    assert isinstance(shown, MemoryScreen)
    return shown


def lines(console: Console) -> str:
    """The list, without what is above and below it."""
    return console.text().partition("Records")[2].partition("Text  Origin")[0]


async def tells(console: Console, pilot: Pilot[None], *texts: str) -> None:
    """Wait until the memory under the cursor is told with these words."""
    await console.until(pilot, lambda: all(text in console.detail() for text in texts))


def uid(console: Console) -> str:
    """The id of the memory under the cursor, "" for none."""
    current = screen(console).current
    return current["uid"] if current else ""


async def type_filter(console: Console, pilot: Pilot[None], text: str) -> None:
    await console.press(pilot, "slash")
    console.app.screen.query_one(Input).value = text
    await console.until(pilot, lambda: screen(console).search.text == text)
    await console.until(pilot, lambda: screen(console).search.ranking is not None)


WORDS_ALONE = pytest.mark.parametrize("settings", ["database: brain.db\nmemory: {embedder: none}\n"])


@WORDS_ALONE
def test_the_screen_looks_as_it_did(clerk: Brain, clock: SteeredClock, console: Console) -> None:
    known = shop(clerk, clock)
    clerk.protect(known["choice"], reason="everything rests on it")
    clerk.forget(known["mine"], "Eve has left")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        await console.looks(pilot, "memory")
        await type_filter(console, pilot, "orders table")
        await console.looks(pilot, "memory-search")
        await console.press(pilot, "enter", "enter", "z")
        await console.looks(pilot, "memory-detail")

    console(script)


def test_a_person_finds_an_old_decision_by_typing_three_letters(
    clerk: Brain, clock: SteeredClock, console: Console
) -> None:
    shop(clerk, clock)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        assert "Postgres" not in console.text()
        await console.press(pilot, "slash", "p", "o", "s")
        await console.shows(pilot, "1 of 35 · filter: pos")
        await console.press(pilot, "enter")
        await tells(console, pilot, "Kind decision")
        assert "Postgres instead of MySQL" in console.text()

    console(script)


def test_without_memories_it_says_how_there_will_be_one(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        await console.looks(pilot, "memory-empty")
        with agents.runtime.brain("clerk") as brain:
            brain.remember("the first of all")
        await console.shows(pilot, "the first of all")

    console(script)


async def mend(console: Console, pilot: Pilot[None], key: str, reason: str) -> None:
    await console.press(pilot, key)
    console.app.screen.query_one("#reason", Input).value = reason
    await console.press(pilot, "enter", "y")
    await console.until(pilot, lambda: isinstance(console.app.screen, MemoryScreen))


def test_a_person_forgets_recovers_and_protects_with_a_reason(
    clerk: Brain, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    record = clerk.remember("the office is in Bonn")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "u")
        await console.says(pilot, "nothing to recover here")
        await mend(console, pilot, "x", "it moved")
        await tells(console, pilot, "State forgotten")
        assert clerk.search("office") == []
        await mend(console, pilot, "u", "it did not")
        await tells(console, pilot, "State strong")
        assert [hit.id for hit in clerk.search("office")] == [record]
        await mend(console, pilot, "P", "everybody asks")
        await tells(console, pilot, "State protected")
        await console.press(pilot, "x")
        await console.says(pilot, "nothing to forget here")
        await mend(console, pilot, "P", "nobody asks any more")
        await tells(console, pilot, "State strong")

    console(script)
    done = clerk.space.records.history(clerk.space.records.find(record)["id"])  # type: ignore[index]
    assert [(item["operation"], item["actor"], item["reason"]) for item in done] == [
        ("forget", "local:ada", "it moved"),
        ("recover", "local:ada", "it did not"),
        ("protect", "local:ada", "everybody asks"),
        ("protect", "local:ada", "nobody asks any more"),
    ]


def test_several_are_forgotten_once_their_number_is_typed(clerk: Brain, console: Console) -> None:
    for number in range(4):
        clerk.remember(f"note {number}")
    clerk.protect(clerk.remember("a protected note"), reason="it stays")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "space", "space", "space", "x")
        assert "Forget 2 memories" in console.text(), "what is protected is left out"
        console.app.screen.query_one("#reason", Input).value = "they are old"
        await console.press(pilot, "enter", "y", "enter")
        assert "type 2, or press esc" in console.text()
        console.app.screen.query_one("#word", Input).value = "2"
        await console.press(pilot, "enter")
        await console.says(pilot, "2 decided")
        await type_filter(console, pilot, "state:forgotten note")
        await console.shows(pilot, "2 of 5")

    console(script)


def test_what_somebody_else_protected_meanwhile_is_said_and_nothing_is_changed(
    clerk: Brain, console: Console
) -> None:
    record = clerk.remember("the office is in Bonn")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "x")
        clerk.protect(record)
        console.app.screen.query_one("#reason", Input).value = "it moved"
        await console.press(pilot, "enter", "y")
        await console.says(pilot, f"{record} is protected")

    console(script)
    assert clerk.get(record).content == "the office is in Bonn"


def test_read_only_changes_nothing(clerk: Brain, console: Console) -> None:
    clerk.remember("the office is in Bonn")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "x", "P", "u", "space")
        assert isinstance(console.app.screen, MemoryScreen)
        assert "forget" not in console.text()
        await tells(console, pilot, "State strong")

    console(script, read_only=True)


def test_while_one_types_the_newest_come_first_and_after_a_pause_the_best(
    clerk: Brain, clock: SteeredClock, console: Console
) -> None:
    best = clerk.remember("refund policy: no refund after thirty days")
    for number in range(BEST + 5):
        clerk.remember(f"call {number} of the day was long, it was about a refund")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "slash")
        console.app.screen.query_one(Input).value = "refund policy"
        await console.shows(pilot, "1 of 26")
        console.app.screen.query_one(Input).value = "ref"
        await console.shows(pilot, "26 of 26 · filter: ref")
        assert list(screen(console).search.hits.keys) == list(range(26, 0, -1))
        await type_filter(console, pilot, "refund")
        assert "Best first, by words and meaning" in console.text()
        assert screen(console).current["uid"] == best  # type: ignore[index]
        await console.press(pilot, "enter", "G")
        assert "Other matches, newest first" in console.text()

    console(script, (80, 40))


def test_a_question_that_no_memory_has_the_words_of_finds_the_nearest(
    clerk: Brain, clock: SteeredClock, console: Console
) -> None:
    known = shop(clerk, clock)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        await type_filter(console, pilot, "why did we choose Postgres over MySQL")
        assert "0 of 35" in console.text()
        assert "No exact match; closest in meaning" in console.text()
        assert screen(console).current["uid"] == known["choice"]  # type: ignore[index]

    console(script)


def test_memory_says_how_much_is_remembered_and_the_newest(clerk: Brain, console: Console) -> None:
    clerk.remember("an older one")
    clerk.remember("the office is in Bonn")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        await console.shows(pilot, "Records 2")
        assert "fact the office is in Bonn" in console.squeezed()

    console(script, (160, 48))


def test_what_nothing_fits_says_so(clerk: Brain, console: Console) -> None:
    clerk.remember("the office is in Bonn")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "slash")
        console.app.screen.query_one(Input).value = "kind:decision"
        await console.shows(pilot, "No memories match.")
        assert "0 of 1 · filter: kind" in console.text()
        await console.press(pilot, "escape")
        await console.shows(pilot, "office")

    console(script)


@WORDS_ALONE
def test_without_vectors_it_ranks_by_words_alone_and_says_why(clerk: Brain, console: Console) -> None:
    clerk.remember("the office is in Bonn")
    clerk.remember("the cellar is in Trier")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        await type_filter(console, pilot, "offices")
        assert "by words alone: memory.embedder is none" in console.text()
        assert "Bonn" in lines(console)

    console(script)


def test_the_detail_tells_where_it_is_from_what_is_beside_it_what_was_done_and_who_read_it(
    clerk: Brain, clock: SteeredClock, console: Console
) -> None:
    known = shop(clerk, clock)
    source = clerk.space.records.find(known["event"])
    assert source is not None
    clerk.entity("orders table", "service", observations=["13 million rows"])
    clerk.forget(known["event"], "noise")
    clerk.refute(known["lesson"], "it took two")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        for name, view, expected in (
            ("choice", "origin", ["derived from the queue was full at noon", "forgotten, clerk)"]),
            ("choice", "neighbours", ["about → orders table"]),
            ("event", "origin", [f"Derived memories\n {known['choice']}"]),
            ("lesson", "origin", ["Restated or judged 1 time", "refuted by clerk, counts 1"]),
            ("event", "history", ["forget by clerk: noise", "state"]),
            ("table", "neighbours", ["← about Postgres"]),
            ("table", "history", ["update by clerk", '- ["12 million', '"13 million rows"]']),
            ("lesson", "history", ["Read once by an agent", "search 'how long does a reindex take'"]),
        ):
            console.app.open_reference(known[name])
            await console.until(pilot, lambda: uid(console) == known[name])  # noqa: B023
            await console.press(pilot, "enter")
            panel = screen(console).query_one("#about", Panel)
            while panel.view != view:
                await console.press(pilot, "right_square_bracket")
            await tells(console, pilot, *expected)
            await console.press(pilot, "escape")

    console(script, (120, 36))


def test_a_memory_is_opened_by_its_id_before_the_screen_was_ever_visited_and_under_a_filter(
    clerk: Brain, clock: SteeredClock, console: Console
) -> None:
    known = shop(clerk, clock)

    async def script(pilot: Pilot[None]) -> None:
        console.app.open_reference(known["table"])
        await console.until(pilot, lambda: uid(console) == known["table"])
        await type_filter(console, pilot, "invoice")
        console.app.open_reference(known["choice"])
        await console.until(pilot, lambda: uid(console) == known["choice"])
        console.app.open_reference("mem_0000")
        await console.says(pilot, "there is no such memory")

    console(script)


def test_what_is_remembered_meanwhile_slides_in_and_the_cursor_stays(clerk: Brain, console: Console) -> None:
    for number in range(3):
        clerk.remember(f"note {number}")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "j")
        clerk.remember("a fresh one")
        await console.shows(pilot, "a fresh one")
        assert screen(console).current["text"] == "note 1"  # type: ignore[index]
        assert "Records 4 " in console.text()

    console(script)


def test_a_match_far_behind_is_in_view(clerk: Brain, console: Console) -> None:
    clerk.remember("so much for that " * 40 + "and the password of the printer is on its back")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        await type_filter(console, pilot, "printer")
        assert "printer is on" in lines(console)

    console(script)


def test_hostile_memories_are_shown_and_do_nothing(agents: Agents, console: Console) -> None:
    with agents.runtime.brain(HOSTILE[:60] or "x") as brain:
        record = brain.remember(HOSTILE, tags=[HOSTILE[:500]], speaker=HOSTILE[:60])
        brain.relate(record, "names", brain.entity(HOSTILE[:200], "person"))
        brain.search(HOSTILE[:2_000])
        brain.protect(record, reason=HOSTILE[:500])

    async def script(pilot: Pilot[None]) -> None:
        painted = []
        for keys in (["6"], ["j"], ["P"], ["escape"], ["enter"], ["z"], ["G"], ["escape"], ["slash"]):
            await console.press(pilot, *keys)
            painted.append(console.text())
        console.app.post_message(Paste(HOSTILE[:1_000]))
        await console.shows(pilot, "filter: ")
        painted.append(console.text())
        for text in painted:
            assert not FORBIDDEN.search(text.replace("\n", ""))
        assert console.app.is_running

    console(script, (120, 36))


def test_on_a_narrow_terminal_columns_give_way_to_what_the_memory_says(
    clerk: Brain, console: Console
) -> None:
    clerk.remember("zebras are counted twice")

    async def look(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        assert "zebras" in lines(console)
        assert "fact" in lines(console)

    console(look, (40, 12))


def test_no_line_is_wider_than_its_place(clerk: Brain, console: Console) -> None:
    for number in range(12):
        clerk.remember(f"{WIDE} {number}")
    clerk.decide(WIDE, WIDE)

    async def script(pilot: Pilot[None]) -> None:
        for keys in (["6"], ["left_square_bracket"], ["7"]):
            await console.press(pilot, *keys)
            for width in WIDTHS:
                await console.resize(width, 24 if width < 100 else 36)
                assert not overflowing(console.app), (keys, width)

    console(script)


def test_a_million_keys_are_put_in_order_without_looking_at_each() -> None:
    numbers = array("q", range(1_000_000, 0, -1))
    keys = arranged(Found(numbers, 1_000_000, True), Ranking([7, 1_000_000, 500_000], [2_000_000]))
    assert list(keys[:5]) == [BEST_HEADING, 7, 1_000_000, 500_000, REST_HEADING]
    assert list(keys[-2:]) == [NEAREST_HEADING, 2_000_000]
    assert len(keys) == 1_000_000 + 4
    assert set(keys[5:-2]) == set(numbers) - {7, 1_000_000, 500_000}
