"""A console over a database that a test fills, with a clock and ids of its own."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sb.screens.actions import SECTIONS, TABS, VIEWS
from sb.screens.app import ConsoleApp
from sb.screens.dialogs import PassphraseScreen
from sb.screens.document_view import DocumentView
from sb.screens.inbox import InboxScreen
from sb.screens.state.document import CONTINUED, HANGING
from sb.screens.state.records import Records
from textual import events
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.geometry import Size
from textual.message import Message
from textual.notifications import Notify
from textual.pilot import Pilot
from textual.widgets import Input

from sb.base.sources import CountingIds, SteeredClock
from sb.config import current_config
from sb.kernel import RunBudget, RunContext, SafetyClass, ToolResult
from sb.present.needs import Need
from sb.runtime import Runtime, open_runtime
from tests.conftest import approve_tools

SNAPSHOTS = Path(__file__).parent / "snapshots"
SLOWLY_S = 1.0
FRAME_S, BLINK_S, LONGEST_PAUSE_S = 1 / 60, 0.001, 0.1
# A console is started for what is hostile, so it is one text: all that acts, in the 60 characters of a name, at both
# ends of a megabyte.
ACTS = "see [/etc]\u202ee\u2066\x9b2J\x00[@click=app.quit]x[/]\x1b[31m\x1b]0;t\x07\x1b]52;;eA==\x07"
HOSTILE = ACTS + "x" * 1_000_000 + ACTS
SIZES = ((80, 24), (120, 36))  # of terminals; most tests need one
Script = Callable[[Pilot[None]], Awaitable[None]]


class Console:
    """Runs a script against the console, in an event loop of its own."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.app: ConsoleApp
        self.toasts: list[
            str
        ] = []  # short messages, also those that are gone: a loaded machine outlasts them
        self._heard_to = 0
        self._typed_s = 0.0  # that keys are typed later than they are pressed: no two of them are one burst

    def __call__(
        self,
        script: Script,
        size: tuple[int, int] = (80, 24),
        *,
        read_only: bool = False,
        every_s: float = 0.05,
        notifications: bool = False,
    ) -> None:
        self.app = ConsoleApp(self.records, read_only=read_only, look_every_s=every_s)

        self.toasts.clear()
        self._heard_to = 0

        async def run() -> None:
            test = self.app.run_test(size=size, notifications=notifications, message_hook=self._hear)
            async with test as pilot:
                await self.until(pilot, self._looked)
                await script(pilot)
                self.app.exit()  # as a person does: the pilot takes away the widgets while the clock ticks

        asyncio.run(run())

    def _hear(self, message: Message) -> None:
        if isinstance(message, Notify):
            self.toasts.append(message.notification.message)

    def _looked(self) -> bool:
        return self.app.trouble != "" or self.app.looked

    async def resize(self, width: int, height: int) -> None:
        """Give the terminal another size, and wait until everything has its place; whoever looks then renders it."""
        await Pilot(self.app).resize_terminal(width, height)
        size = Size(width, height)
        await self._rest(lambda: self.app.screen._compositor.size == size)

    async def settle(self, pilot: Pilot[None]) -> None:
        """Wait until the database was looked at, and everything that was asked for has been read and arranged."""
        await asyncio.sleep(1.5 * self.app._look_every_s)
        await self.until(pilot, lambda: True)

    def _busy(self) -> str:
        """The work that is under way; "" for nothing."""
        screen, app = self.app.screen, self.app
        if app._typed or app._batch_count or screen._layout_required or screen._scroll_required:
            return f"keys {list(app._typed)}, batches {app._batch_count}, layout {screen._layout_required}"
        if screen._callbacks:
            return f"callbacks of {screen}: {screen._callbacks}"
        if workers := [worker for worker in app.workers if worker.group != "look"]:
            return f"workers {workers}"
        # Scrollbars too, which no query finds.
        return next((f"messages of {node!r}" for node in list(app._registry) if node.message_queue_size), "")

    async def until(self, pilot: Pilot[None], holds: Callable[[], bool]) -> None:
        """Wait until it holds, and nothing is under way; then render the screen."""
        await self._rest(holds)
        self._paint()

    async def _rest(self, holds: Callable[[], bool]) -> None:
        """Wait until nothing is under way, as four looks in a row say, and it holds.

        What holds is often asked of the whole screen, as text: looks that fail come further and further apart.
        """
        end, calm, pause_s, failed_s = time.monotonic() + 60, 0, BLINK_S, FRAME_S / 4
        while True:
            await asyncio.sleep(pause_s)
            busy = self._busy()
            idle = not busy
            calm = calm + 1 if idle else 0
            pause_s = BLINK_S if idle else min(2 * pause_s, FRAME_S / 4)
            if calm == 4:
                if holds():
                    return
                calm, pause_s = 0, failed_s
                failed_s = min(1.5 * failed_s, LONGEST_PAUSE_S)
            assert time.monotonic() < end, f"it did not come to that ({busy or 'idle'}):\n{self.text()}"

    def _paint(self) -> None:
        """Render every widget on screen. Textual's joining of their lines is left to `text`: half of the time."""
        visible_screen_stack.set(self.app._background_screens)  # what lies below a dialog is part of it
        for _ in self.app.screen._compositor._get_renders():
            pass

    async def shows(self, pilot: Pilot[None], text: str) -> None:
        """Wait until this is on screen."""
        await self.until(pilot, lambda: text in self.text())

    async def says(self, pilot: Pilot[None], text: str) -> None:
        """Wait until a short message says this, or has said so since the last one that was waited for."""

        def has_message() -> bool:
            shown = [notification.message for notification in self.app._notifications]
            return any(text in message for message in (*self.toasts[self._heard_to :], *shown))

        await self.until(pilot, has_message)
        self._heard_to = len(self.toasts)

    async def asks(self, pilot: Pilot[None]) -> None:
        """Wait until a passphrase is asked for and has what was typed; the worker that wants it goes on waiting."""

        def takes_text() -> bool:
            box = self.app.focused  # there is none yet when the dialog is the screen already
            return isinstance(self.app.screen, PassphraseScreen) and isinstance(box, Input)

        await self.comes(lambda: takes_text() and not self.app._typed)

    async def comes(self, holds: Callable[[], object], within_s: float = 60) -> None:
        """Wait until it holds, whatever else is under way."""
        end = time.monotonic() + within_s
        while not holds():
            await asyncio.sleep(FRAME_S)
            assert time.monotonic() < end, "it did not come to that:\n" + self.text()

    async def press(self, pilot: Pilot[None], *keys: str) -> None:
        """Press keys, each when what the one before asked for has been read and arranged; render what the last leaves."""
        for key in keys:
            event = events.Key(key, None)
            self._typed_s += SLOWLY_S
            event.time += self._typed_s
            self.app.post_message(event)
            await self._rest(lambda: True)
        self._paint()

    async def visit(self, pilot: Pilot[None], view: str) -> None:
        """Go to a view by the key of its place, and on through the views before it."""
        place = TABS.get(view, view)
        steps = list(VIEWS.get(place, (view,))).index(view)
        number = list(SECTIONS).index(place) + 1
        await self.press(pilot, str(number), *["right_square_bracket"] * steps)
        assert self.at(view)

    async def point(self, pilot: Pilot[None], text: str) -> None:
        """Go to the one thing in the Inbox whose id or object has this text, wherever it stands."""
        await self.visit(pilot, "inbox")
        section = self.app.section
        assert isinstance(section, InboxScreen)
        entries = section.lines.entries_of(section.lines.keys)
        needs = {it.key: it for it in entries if isinstance(it, Need)}
        needs |= self.records.describe([it for it in entries if not isinstance(it, Need)])
        [found] = {it.reference for it in needs.values() if text == it.reference or text in it.object}
        section.find(found)
        await self.until(pilot, lambda: section.handler is not None and section.handler.reference == found)
        await self.press(pilot)

    async def mark(self, pilot: Pilot[None], *references: str) -> None:
        """Mark these things in the Inbox, and stay on the last."""
        for reference in references:
            await self.point(pilot, reference)
            await self.press(pilot, "space")
        await self.point(pilot, references[-1])

    def text(self) -> str:
        """The text on screen, line by line."""
        visible_screen_stack.set(self.app._background_screens)  # what lies below a dialog, as for a terminal
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    def at(self, name: str) -> bool:
        """True if this screen is in view."""
        return self.app.section is not None and self.app.section.name_ == name

    def squeezed(self) -> str:
        """The text on screen, with one space for each gap."""
        return re.sub(" +", " ", self.text())

    def detail(self) -> str:
        """The record in view to its end, however its lines are wrapped; a line for each name and value."""
        text = ""
        for line in self.app.screen.query_one(DocumentView).lines:
            more = line.name.strip() == CONTINUED or (line.text.startswith(HANGING) and line.tone == "strong")
            text += line.text.removeprefix(HANGING) if more else f"\n{line.name} {line.text}"
        return re.sub(" +", " ", text)

    async def looks(self, pilot: Pilot[None], name: str, sizes: Sequence[tuple[int, int]] = SIZES) -> None:
        """Compare the screen at each of these sizes with its stored text, beginning with the one that it has."""
        for size in sorted(sizes, key=lambda size: size != self.app.size):
            if self.app.size != size:
                await self.resize(*size)
            self.snapshot(f"{name}-{size[0]}x{size[1]}")

    def snapshot(self, name: str, shown: str = "") -> None:
        """Compare with the stored text; WRITE_SNAPSHOTS=1 stores it.

        Args:
            shown: by default what is on screen.
        """
        path = SNAPSHOTS / f"{name}.txt"
        shown = (shown or self.text()) + "\n"
        if os.environ.get("WRITE_SNAPSHOTS"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(shown, encoding="utf-8")
        assert shown == path.read_text(encoding="utf-8"), f"{path.name}: WRITE_SNAPSHOTS=1 stores it anew"


class Agents:
    """Calls tools, as processes beside the console would."""

    def __init__(self, runtime: Runtime, clock: SteeredClock, ids: CountingIds) -> None:
        self.runtime = runtime
        self.clock = clock
        self.ids = ids
        register = runtime.registry.register_fn
        register("bank.look", "Look", lambda account: {"balance": 12}, SafetyClass.READ_ONLY)
        register("notes.append", "Append", lambda text: {"length": len(text)}, SafetyClass.LOCAL_WRITE)
        register("bank.pay", "Pay", lambda to: f"paid {to}", SafetyClass.DESTRUCTIVE)
        register("bank.hang", "Hang", _hang, SafetyClass.LOCAL_WRITE)
        approve_tools(runtime)

    def work(self, count: int = 3, *, agent: str = "clerk", text: str = "hello") -> str:
        """One run of so many calls; returns its id."""
        ctx = RunContext.create(
            agent,
            intent="keep the books",
            budget=RunBudget(max_tool_calls=10**6, max_latency_ms=10**9),
            clock=self.clock,
            ids=self.ids,
        )
        with self.runtime.executor.run(ctx):
            for number in range(count):
                self.clock.time += 1
                tool, args = ("notes.append", {"text": f"{text} {number}"})
                if number % 2:
                    tool, args = ("bank.look", {"account": f"DE-{number}"})
                self.runtime.executor.execute(ctx, tool, args)
        return ctx.run_id

    def session(
        self,
        host: str = "claude-code",
        project: str = "/data/ada/shop",
        *,
        session: str = "5f0c2e1a-77aa-4f0e-9f3b-1d2e3f405162",
        calls: int = 2,
    ) -> RunContext:
        """Work as a coding agent's host does: an open run of so many calls; returns it, to go on with."""
        ctx = RunContext.create(
            host,
            session_id=session,
            metadata={"host": host, "project": project},
            budget=RunBudget(max_tool_calls=10**6, max_latency_ms=10**9),
            clock=self.clock,
            ids=self.ids,
        )
        for number in range(calls):
            self.runtime.executor.execute(ctx, "notes.append", {"text": f"line {number}"})
        return ctx

    def context(self, agent: str, intent: str = "") -> RunContext:
        return RunContext.create(agent, intent=intent, clock=self.clock, ids=self.ids)

    def call(
        self, tool: str, args: dict[str, object], *, agent: str = "clerk", intent: str = ""
    ) -> ToolResult:
        """One call in a run of its own."""
        ctx = self.context(agent, intent)
        return self.runtime.executor.execute(ctx, tool, args)

    def pay(self, to: str = "bob", *, agent: str = "clerk") -> str:
        """A call that waits for a person; returns the request's id."""
        return str(self.call("bank.pay", {"to": to}, agent=agent, intent="pay the bills").data["approval_id"])

    def contracts(self) -> dict[str, str]:
        """The contract of each tool."""
        return {spec.tool_id: spec.contract_fingerprint() for spec in self.runtime.registry.list_all()}

    def change_contract(self) -> None:
        """The tool bank.look is not what it was any more, and an agent calls it; a new tool is there too."""
        register = self.runtime.registry.register_fn
        self.runtime.registry.unregister("bank.look")
        register("bank.look", "Look", lambda account, deep=False: {}, SafetyClass.LOCAL_WRITE)
        register("mail.send", "Send", lambda to: "sent", SafetyClass.NETWORK)
        self.call("bank.look", {"account": "DE-1"})
        self.call("mail.send", {"to": "eve"})


def _hang(text: str) -> None:
    raise TimeoutError(text)


@pytest.fixture(autouse=True, scope="session")
def parsed_once() -> Iterator[None]:
    """Every console has the same style sheets: they are parsed for the first one, a seventh of what the others would take."""
    known: dict[object, list[RuleSet]] = {}
    parse = Stylesheet._parse_rules

    def parse_rules(sheet: Stylesheet, *css: Any, **more: Any) -> list[RuleSet]:
        key = (css, tuple(more.items()), tuple(sheet._variables.items()))
        if key not in known:
            known[key] = parse(sheet, *css, **more)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_rules)
        yield


@pytest.fixture(autouse=True, scope="session")
def painted_at_rest() -> Iterator[None]:
    """No terminal reads the frames before a screen comes to rest; `Console.until` renders it then, whole."""

    def skip(compositor: Compositor, *_: object, **__: object) -> None:
        compositor._dirty_regions.clear()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compositor, "render_update", skip)
        yield


@pytest.fixture(autouse=True)
def in_color(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without color each line is painted twice, a twentieth of the time; tests of that ask for it."""
    monkeypatch.delenv("NO_COLOR")


@pytest.fixture
def settings() -> str:
    """The text of this home's config.yaml."""
    return "database: brain.db\nfiles: {roots: []}\n"


@pytest.fixture
def agents(home: Path, settings: str, clock: SteeredClock, ids: CountingIds) -> Iterator[Agents]:
    home.mkdir(mode=0o700)
    (home / "digest.key").write_bytes(b"k" * 32)
    (home / "config.yaml").write_text(settings, encoding="utf-8")
    with open_runtime(clock=clock, ids=ids) as runtime:
        yield Agents(runtime, clock, ids)


@pytest.fixture
def console(agents: Agents, clock: SteeredClock, ids: CountingIds) -> Iterator[Console]:
    records = Records(current_config(), clock=clock, ids=ids)
    yield Console(records)
    records.close()
