"""The console: hostile text does nothing, queries never run where the screen is painted, and a database that goes away
comes back."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from sb.screens.actions import VIEWS
from sb.screens.app import ConsoleApp
from sb.screens.document_view import DocumentView
from sb.screens.row_list import RowList
from sb.screens.state.listing import TONES, Row
from sb.screens.state.plain import PLAIN
from sb.screens.toned import LOOKS
from textual.events import Paste
from textual.pilot import Pilot

from sb.config import current_config
from sb.kernel import RunContext
from sb.kernel.authority.signing import Label
from sb.runtime import open_runtime
from sb.store.database import Database
from tests.conftest import CommandLine
from tests.screens.conftest import HOSTILE, Agents, Console
from tests.screens.contrast import contrast
from tests.screens.eval_runs import WRONG, attempt, case, save

RULES = list(VIEWS["contracts"])[: list(VIEWS["contracts"]).index("harness")]  # which runs long by itself
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f]")


def test_hostile_text_is_shown_and_does_nothing_on_any_screen(agents: Agents, console: Console) -> None:
    name = HOSTILE[:60]
    agents.work(2, text=HOSTILE)
    agents.call("notes.append", {"text": HOSTILE}, agent=name, intent=HOSTILE)
    agents.pay(HOSTILE)
    agents.runtime.approvals.deny(agents.pay("eve" + HOSTILE), Label(name), HOSTILE[:500])
    agents.runtime.registry.register_fn("x.y", name, lambda: 1, description=HOSTILE[:20_000])
    agents.call("x.y", {})
    agents.call("bank.hang", {"text": HOSTILE}, agent=name)
    agents.runtime.brain(name).remember(HOSTILE)
    painted: list[str] = []

    async def script(pilot: Pilot[None]) -> None:
        for keys in (
            ["G"],
            ["enter"],
            ["z"],
            ["d"],
            ["escape", "escape"],
            *(["k"] for _ in range(6)),
            *(["2"], ["enter"], ["escape", "right_square_bracket"], ["enter"]),
            ["3"],
            *(keys for _ in VIEWS["log"] for keys in (["enter"], ["z"], ["escape", "right_square_bracket"])),
            *(["4"], ["enter"], ["escape", "right_square_bracket"], ["enter"]),
            ["5"],
            *(keys for _ in RULES for keys in (["enter"], ["escape", "right_square_bracket"])),
            *(["5", "left_square_bracket"], ["enter"], ["escape", "left_square_bracket"], ["enter"]),
            ["2", "right_square_bracket"],
        ):
            await console.press(pilot, *keys)
            painted.append(console.text())
        for keys in (["enter"], ["enter"], ["z"], ["3"], ["slash"]):
            await console.press(pilot, *keys)
        console.app.post_message(Paste(HOSTILE[:2_000]))
        await console.shows(pilot, "the filter has more than 1,000 characters")
        painted.append(console.text())
        console.app.say(HOSTILE[:2_000])
        console.app.read_failed(HOSTILE)
        await console.settle(pilot)
        painted.append(console.text())
        await pilot.click(RowList, offset=(30, 2))
        await console.settle(pilot)
        assert console.app.is_running

    console(script, (120, 40))
    for text in painted:
        assert not FORBIDDEN.search(text.replace("\n", ""))
    assert any(HOSTILE[:10] in text for text in painted)


def test_hostile_text_does_nothing_in_plain_lines(agents: Agents, sb: CommandLine) -> None:
    agents.clock.time = time.time()  # what was asked for later than now is expired
    agents.work(1, text=HOSTILE)
    agents.pay(HOSTILE)
    agents.call("bank.hang", {"text": HOSTILE}, agent=HOSTILE[:60])
    brain = agents.runtime.brain(HOSTILE[:60])
    brain.remember(HOSTILE)
    brain.trigger_create("billing schema", HOSTILE[:500])
    brain.lesson_add(HOSTILE[:500], "npm run biuld")
    agents.runtime.entity(HOSTILE[:60]).checkpoint(HOSTILE[:5_000])
    save(agents.runtime.config.home, 1, case(HOSTILE, HOSTILE, attempt(WRONG, says=HOSTILE)), at=time.time())
    for screen in PLAIN:
        shown = sb("console", "--plain", screen)
        assert shown.code == 0, screen
        assert shown.out or screen in ("changes", "grants"), screen
        assert not FORBIDDEN.search((shown.out + shown.err).replace("\n", "")), screen


def test_invisible_marks_in_what_is_to_be_approved_are_made_visible(agents: Agents, console: Console) -> None:
    agents.pay("\u202eeve")

    async def script(pilot: Pilot[None]) -> None:
        assert console.text().count("\\u202eeve") == 2

    console(script)


def test_no_query_runs_on_the_thread_that_paints(
    agents: Agents, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents.work(30)
    agents.pay()
    agents.runtime.brain("clerk").remember("the office is in Bonn")
    for clerk in (agents.runtime.entity("clerk"), agents.runtime.entity("clerk", stack_id="work")):
        clerk.checkpoint()
    threads: set[int] = set()
    asked = Database.query

    def query(database: Database, sql: str, parameters: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        threads.add(threading.get_ident())
        return asked(database, sql, parameters)

    async def script(pilot: Pilot[None]) -> None:
        monkeypatch.setattr(Database, "query", query)
        for key in (
            *("2", "j", "right_square_bracket", "j", "enter", "enter"),
            *("3", "G", "g", "v", "right_square_bracket", "j", "right_square_bracket", "h"),
            *("right_square_bracket", "j", "slash", "b", "o", "enter", "r"),
            *("4", "G", "slash", "b", "o", "enter", "r", "right_square_bracket", "G", "u", "escape"),
            *("5", "j", *["right_square_bracket"] * (len(RULES) - 1)),
            *("5", "left_square_bracket", "left_square_bracket"),
            *("1", "j", "slash", "b", "enter", "r"),
        ):
            await console.press(pilot, key)
        assert threads
        assert threading.get_ident() not in threads

    console(script)


def test_only_the_rows_around_the_screen_are_fetched(agents: Agents, console: Console) -> None:
    agents.work(400)

    async def script(pilot: Pilot[None]) -> None:
        fetched: set[int] = set()
        await console.press(pilot, "3")
        rows = console.app.screen.query_one("#log", RowList)
        put = rows.put

        def counted(rows: Mapping[int, Row]) -> None:
            fetched.update(rows)
            put(rows)

        rows.put = counted  # type: ignore[method-assign]
        await console.press(pilot, "r", "G")
        await console.press(pilot, "g")
        assert len(rows.listing.keys) > 600
        page = rows.size.height
        assert 2 * page <= len(fetched) <= 5 * page

    console(script)


def test_a_database_that_is_gone_is_said_the_rows_stay_and_it_is_read_when_it_is_back(
    agents: Agents, console: Console, home: Path
) -> None:
    agents.work(2, text="former")
    path, away = home / "brain.db", home / "away.db"

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "j")
        path.rename(away)
        await console.shows(pilot, "trying again: no database at")
        assert "former" in console.text()
        away.rename(path)
        await console.until(pilot, lambda: "trying again" not in console.text())
        agents.work(1, text="latter")
        await console.shows(pilot, "latter")

    console(script)


def test_another_database_in_its_place_is_read_from_the_start(
    agents: Agents, console: Console, home: Path, tmp_path: Path
) -> None:
    agents.work(20, text="former")
    agents.runtime.close()
    fresh = tmp_path / "fresh.db"
    with open_runtime(replace(current_config(), database=fresh)) as runtime:
        runtime.executor.execute(RunContext.create("courier"), "files.list", {"path": "/nowhere"})

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "G")
        for suffix in ("", "-wal", "-shm"):
            (home / f"brain.db{suffix}").unlink(missing_ok=True)
        await console.shows(pilot, "trying again: no database at")
        (home / "brain.db").write_text("this is no database " * 100, encoding="utf-8")
        await console.shows(pilot, "is not a SQLite database")
        (home / "brain.db").unlink()
        fresh.rename(home / "brain.db")
        await console.shows(pilot, "courier")
        assert "former" not in console.text()

    console(script, (200, 24))


def test_a_console_without_a_database_waits_for_one(console: Console, home: Path, sb: CommandLine) -> None:
    console.records.config.database.rename(home / "away.db")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "no database at")
        (home / "away.db").rename(home / "brain.db")
        await console.shows(pilot, "Nothing waits for you")

    console(script)


def test_a_locked_database_is_said_and_waited_for(agents: Agents, console: Console, home: Path) -> None:
    agents.work(2)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3")
        real = console.records.log
        console.records.log = _locked  # type: ignore[method-assign, assignment]
        await console.press(pilot, "r")
        await console.shows(pilot, "is locked by another process")
        console.records.log = real  # type: ignore[method-assign]
        await console.until(pilot, lambda: "trying again" not in console.text())

    console(script)


def _locked(use: str = "rows") -> None:
    from sb.errors import StoreLocked

    raise StoreLocked("database brain.db is locked by another process")


def test_a_failure_of_our_own_is_one_line_and_a_file(agents: Agents, console: Console, home: Path) -> None:
    async def script(pilot: Pilot[None]) -> None:
        section = console.app.section
        assert section is not None
        section.read("broken", lambda: 1 // 0, lambda _: None)
        await console.says(pilot, "ZeroDivisionError")

    console(script)
    assert "ZeroDivisionError" in (home / "last-error.log").read_text(encoding="utf-8")


def test_every_theme_and_no_colour_at_all_can_be_read(
    agents: Agents, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents.pay()
    texts = []

    async def script(pilot: Pilot[None]) -> None:
        texts.append(console.text())
        assert isinstance(console.app, ConsoleApp)
        before = console.app.theme
        await console.press(pilot, "T")
        assert {before, console.app.theme} == {"sb-dark", "sb-light"}
        texts.append(console.text())

    console(script)
    monkeypatch.delenv("NO_COLOR", raising=False)
    console(script)
    assert len(set(texts)) == 1, "colours say nothing that the text does not"


def test_every_kind_of_line_stands_out_from_its_background_in_both_themes(
    agents: Agents, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        for _ in ("dark", "light"):
            for view in (console.app.screen.query_one(RowList), console.app.screen.query_one(DocumentView)):
                for name in LOOKS:
                    style = view.rich_style + view.look(name)
                    assert contrast(style) > 3, (name, style)
            await console.press(pilot, "T")

    monkeypatch.delenv("NO_COLOR", raising=False)
    console(script)


def test_the_line_under_the_cursor_can_be_read_in_every_tone_also_while_its_record_is_read(
    agents: Agents, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        rows = console.app.screen.query_one(RowList)
        for _ in ("dark", "light"):
            for key in ("enter", "escape"):
                await console.press(pilot, key)
                assert rows.has_focus == (key == "escape")
                cursor = "cursor" if rows.has_focus else "cursor2"
                for tone in ("", *TONES):
                    style = rows.rich_style + rows.look(tone) + rows.look(cursor)
                    assert contrast(style) >= 4.5, (tone, key, style)
            await console.press(pilot, "T")

    monkeypatch.delenv("NO_COLOR", raising=False)
    console(script)
