"""The console app: its screens, its look at the database, and the ways between screens."""

from __future__ import annotations

import gc
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from sb.screens.actions import EVERYWHERE, MODULES, MOVE, SECTIONS, TABS, Action, actions, bindings
from sb.screens.ascii_glyphs import AsciiGlyphs, ascii_only
from sb.screens.garbage import Garbage
from sb.screens.keys_in_order import KeysInOrder
from sb.screens.locking import LOCK, LOCK_HELP, NOTHING_TO_LOCK, KeyLock
from sb.screens.panel import Shares
from sb.screens.section import Section
from sb.screens.state.last_places import LastPlaces
from sb.screens.state.records import NOBODY, UNSIGNED, Look, Records, Stops, active_stops
from sb.screens.style_sheet import ConsoleStyleSheet
from sb.screens.terminal_driver import TerminalDriver
from sb.screens.theme import DARK, LIGHT, theme
from sb.screens.timers import keep_late_timers
from textual import events, on
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.worker import get_current_worker

from sb.base.fitting import short_span
from sb.base.text import plain

if TYPE_CHECKING:
    from sb.screens.palette import Entry
    from sb.screens.state.document import Document
    from sb.screens.state.signer import Signer

    from sb.operator.attention.inbox import Group

LOOK_EVERY_S = 0.5
TRANSITION_S = 0.01  # in which a new screen may settle before it is painted
STALE_AFTER_S = 3.0
FIRST_ROWS_S = 1.0  # for which the imports of other screens wait at most
COUNT_EVERY_S = 10.0  # while nothing is written: time runs out and ages grow


def _screen(name: str) -> Callable[[], Screen[Any]]:
    """Makes the screen of a view, importing it then: the console starts without the others."""

    def make() -> Screen[Any]:
        class_name = f"{name.title().replace('_', '')}Screen"
        screen: Screen[Any] = getattr(import_module(f"sb.screens.{MODULES.get(name, name)}"), class_name)()
        return screen

    return make


class ConsoleApp(KeysInOrder):
    """The operator console.

    Args:
        records: what is shown; closed by whoever made it.
        read_only: nothing can be decided or changed.
        operator: who decides, where this home has several keys.
        look_every_s: seconds between looks for what is new.
    """

    TITLE = "SecondBrain"
    ENABLE_COMMAND_PALETTE = False
    MODES: ClassVar[dict[str, Any]] = {name: _screen(name) for name in (*SECTIONS, *TABS)}
    DEFAULT_MODE = next(iter(SECTIONS))
    BINDINGS = bindings(EVERYWHERE)
    CSS = """
    ToastRack { align-horizontal: right; }
    .-touched ToastRack { margin-bottom: 5; }
    Toast { width: 56; max-width: 100%; background: $raised; color: $text; }
    """

    class Looked(Message):
        """The database was looked at."""

        def __init__(self, look: Look) -> None:
            super().__init__()
            self.look = look

    def __init__(
        self,
        records: Records,
        *,
        read_only: bool = False,
        operator: str = "",
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        keep_late_timers()
        super().__init__(
            records.clock, driver_class=None if "TEXTUAL_DRIVER" in os.environ else TerminalDriver
        )
        cube = self.console.color_system in ("256", "standard")
        for name in (DARK, LIGHT):
            self.register_theme(theme(name, cube=cube))
        self.last_places = LastPlaces(records.config.home, read_only=read_only)
        self.theme = LIGHT if self.last_places.saved.theme() == LIGHT else DARK
        self.restyles = False
        if ascii_only():
            self._filters.append(AsciiGlyphs())
        self.stylesheet = ConsoleStyleSheet(variables=self.get_css_variables())
        self.records = records
        self.read_only = read_only
        self.paused = False
        self.trouble = ""
        self.operator = operator
        self.view_counts: dict[str, int] = {}  # how many records each view has, as far as it was read
        self.inbox: Sequence[Group] | None = None  # what waits, once it was read
        self.stops = Stops()
        self._counted_at: float | None = None
        self.shares = Shares()
        self.operators = NOBODY
        self.drafts: dict[str, str] = {}
        self._mode_before = self.DEFAULT_MODE
        self._look_every_s = look_every_s
        self.leaving = threading.Event()
        self._counted_once = threading.Event()
        self._garbage = Garbage(records.clock)
        self._lock = KeyLock(records.clock, records.config.console.lock_after_min)
        self._version: tuple[int, int] | None = None
        self._stale = False
        self._read_at = records.clock.monotonic()

    def on_mount(self) -> None:
        self.set_interval(1.0, self._tick)
        self.call_after_refresh(self._start_looking)

    async def on_event(self, event: events.Event) -> None:
        """Clean what is pasted: it comes from anywhere, and a box would paint it as it is."""
        if isinstance(event, events.Paste) and not event.is_forwarded:
            event = events.Paste(plain(event.text))
        elif isinstance(event, events.Key):
            self._garbage.typed()
        self._lock.used(event)
        await super().on_event(event)

    def decides(self) -> bool:
        return self.section is not None and self.section.is_deciding()

    def on_key(self, event: events.Key) -> None:
        """A key that was on its way to a list when a dialog opened over it belongs to the dialog."""
        type_ahead = getattr(self.screen, "type_ahead", None)  # the first screen imports no dialogs
        if type_ahead is not None:
            type_ahead(event)
        elif isinstance(self.screen, Section):
            self.answer_idle(event, self.available())

    def _start_looking(self) -> None:
        self.run_worker(self._import_the_rest, group="look", thread=True, exit_on_error=False)
        self.run_worker(self._keep_looking, group="look", thread=True, exit_on_error=False)

    def _import_the_rest(self) -> None:
        """So that the first visit of a section does not wait for it; the first rows do not wait for this."""
        self._counted_once.wait(FIRST_ROWS_S)
        try:
            for name in (*SECTIONS, *TABS, "record", "palette", "help", "killing"):
                import_module(f"sb.screens.{MODULES.get(name, name)}")
        finally:
            if not gc.isenabled():  # whoever started us wanted the first screen first
                self._garbage.begin()

    def _keep_looking(self) -> None:
        worker = get_current_worker()
        while not worker.is_cancelled:
            self.post_message(self.Looked(self.records.look()))
            if self.leaving.wait(self._look_every_s):
                return

    def exit(self, *result: Any, **more: Any) -> None:
        """Nothing is painted from now on: widgets go one by one, and the next tick would miss some."""
        self.leaving.set()
        super().exit(*result, **more)

    def on_unmount(self) -> None:
        self.leaving.set()
        self._counted_once.set()

    @property
    def looked(self) -> bool:
        """True if the database was found and looked at."""
        return self._version is not None

    @property
    def _has_signer(self) -> bool:
        return "signer" in vars(self)  # once something was decided; its modules are not imported before

    @cached_property
    def signer(self) -> Signer:
        """The decider."""
        from sb.screens.state.signer import Signer

        return Signer(self.records, self.operator)

    @property
    def section(self) -> Section | None:
        """The screen in view, below any dialog."""
        return next((screen for screen in reversed(self.screen_stack) if isinstance(screen, Section)), None)

    @on(Looked)
    def _looked(self, message: Looked) -> None:
        look, section = message.look, self.section
        if look.version is None:
            self.read_failed(look.trouble)
            return
        if look.operators != self.operators:
            self.operators = look.operators
            self._show_status()
            if not self.who and len(self.operators.here) > 1 and not self.read_only:
                self.choose_operator(lambda: None)
        before, self._version = self._version, look.version
        if before is not None and before[0] != look.version[0]:
            for screen in self._all_sections():
                screen.start_over()
        changed = before not in (None, look.version)
        if self.paused or section is None:
            return
        if self._counted_at is None or changed or self._stale:
            self.count_needs()
        if changed or self._stale:
            section.refresh_records()
        else:
            self.read_succeeded()

    def count_needs(self) -> None:
        """Count again what needs you."""
        if self.section is not None:
            self._counted_at = self.records.clock.monotonic()
            self.section.read("needs", self.records.inbox, self._counted)

    def _counted(self, groups: Sequence[Group]) -> None:
        self.inbox = groups
        if self.section is not None and not self.paused:
            self.section.show_status()
            self.section.show_inbox(groups)
        self.call_after_refresh(self._counted_once.set)
        if self.section is not None:  # once these rows are painted
            read, active = self.section.read, partial(active_stops, self.records)
            self.call_after_refresh(read, "stops", active, self.stops.take)

    @property
    def needs(self) -> Mapping[str, int]:
        """Counts of what needs you, by place."""
        waiting = sum(len(group.entries) for group in self.inbox or ())
        return {"inbox": waiting + self.stops.count}

    def _all_sections(self) -> list[Section]:
        stacks = self._screen_stacks.values()
        return [screen for stack in stacks for screen in stack if isinstance(screen, Section)]

    def read_succeeded(self) -> None:
        """Note that the screen shows what is on record."""
        self._read_at = self.records.clock.monotonic()
        self._stale = False
        if self.trouble:
            self.trouble = ""
            self._show_status()

    def read_failed(self, trouble: str) -> None:
        """Keep what is on screen, say why it is old, and read again as soon as that is possible."""
        self._stale = True
        self.trouble = f"trying again: {trouble}"
        self._show_status()

    def _tick(self) -> None:
        self._garbage.tick()
        if self._has_signer:
            self._lock.tick(self.signer)
        if self.section is not None:
            self.section.show_status()
            if self.section.is_current and self.section.composed and not self.paused:
                if self.records.clock.monotonic() - (self._counted_at or 0.0) >= COUNT_EVERY_S:
                    self.count_needs()
                self.section.tick()

    def _show_status(self) -> None:
        if self.section is not None:
            self.section.show_status()

    def freshness(self) -> Content:
        """The freshness of what is on screen."""
        age = self.records.clock.monotonic() - self._read_at
        words = [("read-only", "bold")] if self.read_only else []
        words += [(self.stops.word, "bold $danger")] if self.stops.word else []
        if self.operators.trouble:
            words.append((plain(self.operators.trouble, one_line=True), "$warn"))
        elif self.who:
            words.append((plain(self.who, one_line=True), ""))
        if self._has_signer and self.signer.locked:
            words.append(("locked", "bold $warn"))
        if self.paused:
            words.append((f"paused {short_span(age)}", "bold $warn"))
        elif age < STALE_AFTER_S:
            words.append(("● live", "$ok"))
        else:
            words.append((f"stale {short_span(age)}", "bold $danger"))
        return Content(" ").join(Content.styled(text, style) for text, style in words)

    @property
    def who(self) -> str:
        """The operator who decides here; "" where none is enrolled, or none was chosen of several."""
        here = self.operators.here
        return self.operator or (here[0] if len(here) == 1 else "")

    @property
    def signature(self) -> tuple[str, str]:
        """A word on whether decisions are signed, and by whom."""
        if not self.operators.enrolled:
            known = self.operators.trouble in ("", UNSIGNED)
            return "Unsigned", "no operator is enrolled" if known else "who is enrolled is unreliable"
        return "Signed", self.who or "no key of an operator is in this home"

    def choose_operator(self, then: Callable[[], None]) -> None:
        """Go on once it is known who decides, where this home has the keys of several."""
        if self.who or len(self.operators.here) < 2:
            then()
            return
        from sb.screens.choosing import ChoiceScreen

        names = self.operators.here

        def chosen(number: int | None) -> None:
            if number is not None:
                self.operator = self.signer.name = names[number]
                self._show_status()
                then()

        note = "Your key signs what you decide. Its passphrase is asked for once, with the first decision."
        self.push_screen(ChoiceScreen("Who decides?", names, note), chosen)

    def allows(self, action: Action) -> bool:
        """True if it can be done in this console at all."""
        return not (action.writes and self.read_only)

    def refresh_css(self, animate: bool = True) -> None:
        """Style what is on screen anew, which Textual asks for with each first visit, in case the theme had changed."""
        if self.restyles:
            super().refresh_css(animate)

    def delay_update(self, delay: float = TRANSITION_S) -> None:
        """Textual waits 50 ms before it paints another screen, which one feels."""
        super().delay_update(min(delay, TRANSITION_S))

    def go(self, name: str) -> None:
        """Show a section."""
        self._mode_before = self.current_mode if name != self.current_mode else self._mode_before
        self.switch_mode(name)

    def action_last_screen(self) -> None:
        self.go(self._mode_before)

    def action_go(self, name: str) -> None:
        self.go(name)

    def open_record(self, reference: str | int) -> None:
        """Show a call, or a row of the log, in full."""
        from sb.screens.record import RecordScreen
        from sb.screens.state.events import record_document

        shown = f"row {reference}" if isinstance(reference, int) else reference
        self.push_screen(RecordScreen(shown, lambda log: record_document(log, reference), reference))

    def open_fields(self, reference: str, fields: Document) -> None:
        """Show what is known already."""
        from sb.screens.record import RecordScreen

        self.push_screen(RecordScreen(reference, lambda log: fields))

    def open_reference(self, reference: str) -> None:
        """Show what a person named by its id."""
        from sb.screens.state.finding import CHECKPOINT, MEMORY

        if reference.isdecimal():
            self.open_record(int(reference))
        elif reference.startswith("run_"):
            self.find_on("log", f"run:{reference}")
        elif reference.startswith(("apr_", "esc_")):
            self.find_on("inbox", reference)
        elif reference.startswith("mut_"):
            self.find_on("changes", reference)
        elif re.fullmatch(MEMORY, reference):
            self.find_on("memory", reference)
        elif re.fullmatch(CHECKPOINT, reference):
            self.find_on("checkpoints", reference)
        else:
            self.open_record(reference)

    def find_on(self, name: str, reference: str) -> None:
        """Go to a section and find something there."""
        self.go(name)

        def find() -> None:
            if self.section is not None and self.section.name_ == name:
                self.section.find(reference)

        self.call_after_refresh(find)

    def entries(self) -> list[Entry]:
        """The palette's entries before a search: actions, screens, commands for a terminal."""
        from sb.screens.palette import HERE, SCREENS, Entry, terminal_entries, view_entries

        section = self.section
        listed: list[Entry] = []
        for action in self.available():
            group = SCREENS if action.id.startswith(("go(", "view(", "last_screen")) else HERE
            possible = section is None or section.possible(action)
            if group is HERE and (action.group == MOVE or action.id == "palette" or not possible):
                continue
            key = action.shown_keys.split()[0]
            listed.append(Entry(group, action.label, key, partial(self.run_declared, action), action.help))
        listed.append(Entry(HERE, LOCK, "", self.lock_key, LOCK_HELP))
        listed.sort(key=lambda entry: entry.group is SCREENS)
        commands = terminal_entries(self.copy_command, section.command() if section else "")
        return [*listed, *view_entries(self.go), *commands]

    def lock_key(self) -> None:
        """Forget the passphrase of the operator's key."""
        locked = "locked: the next decision asks for the passphrase"
        self.say(locked if self.signer.lock() else NOTHING_TO_LOCK)
        self._show_status()

    def copy_command(self, command: str) -> None:
        """Copy a command line for a terminal."""
        self.copy_to_clipboard(command)
        self.say(f"copied {command}")

    def available(self) -> list[Action]:
        """The actions of the screen in view."""
        parts = self.section.parts if self.section else ()
        return [action for action in actions(*parts, EVERYWHERE) if self.allows(action)]

    async def run_declared(self, action: Action) -> None:
        """Do what an action's key would do, where the focus is."""
        handler = f"action_{action.id.partition('(')[0]}"
        nodes = [*(self.focused.ancestors_with_self if self.focused else ()), self.section, self]
        namespace = next(node for node in nodes if node is not None and hasattr(node, handler))
        await self.run_action(action.id, namespace)

    def action_palette(self) -> None:
        from sb.screens.palette import PaletteScreen

        def chosen(do: Callable[[], object] | None) -> None:
            if do is not None:
                self.call_later(do)

        self.push_screen(PaletteScreen(self, self.entries()), chosen)

    def action_help(self) -> None:
        title = self.section.heading if self.section else self.TITLE
        from sb.screens.help import HelpScreen

        self.push_screen(HelpScreen(title, self.available()))

    def action_refresh(self) -> None:
        if self.section is not None:
            self.section.action_refresh()

    def action_pause(self) -> None:
        self.paused = not self.paused
        self._show_status()
        if not self.paused and self.section is not None:
            self.count_needs()
            self.section.refresh_records()

    def action_kill(self) -> None:
        if self.section is not None and not self.read_only:
            from sb.screens.killing import ask_to_kill

            ask_to_kill(self.section)

    def action_theme(self) -> None:
        self.restyles = True
        self.theme = LIGHT if self.current_theme.dark else DARK
        if self.section is not None:
            self.last_places.keep_theme(self.section, self.theme, self.say)

    async def action_back(self) -> None:
        if self.section is not None:
            self.section.action_back()

    def notify(self, message: str, *, title: str = "", markup: bool = False, **how: Any) -> None:
        """Show a short message, whoever wrote its text: no markup, no controls, one paragraph."""
        super().notify(plain(message, one_line=True), title=plain(title, one_line=True), markup=False, **how)

    def on_delivery_complete(self, message: events.DeliveryComplete) -> None:
        self.say(f"wrote {message.path or 'the download'}")

    def on_delivery_failed(self, message: events.DeliveryFailed) -> None:
        self.notify(f"{message.exception}", title="Not written", severity="error", timeout=8)

    def say(self, text: str) -> None:
        """A short confirmation."""
        self.notify(text, timeout=3)
