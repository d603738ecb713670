"""Decisions on a screen: a question with a reason, the key, and the outcome.

It is asked about with everything it covers, made in a thread by the kernel's own functions, one at a time, and signed
where operators are enrolled: the key is unlocked once, and stays in this process's memory.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeVar

from sb.screens.reading import Result, trouble_of
from sb.screens.section import Section
from sb.screens.state.document import Field
from textual import events
from textual.worker import Worker

from sb.base.fitting import short_span
from sb.errors import DeniedError, SBError
from sb.kernel.authority.signing import Decider

if TYPE_CHECKING:
    from sb.screens.dialogs import WorkingScreen
    from sb.screens.state.question import Question

Item = TypeVar("Item")
DRY_RUN = "dry run"
PREPARE = "prepare"
WORK = ("decide", DRY_RUN, PREPARE)  # groups of workers
SOON_S = 1.0  # after which a decision that is still written is said to wait
LOOK_FOR_THE_END_S = 0.2  # seconds between looks whether the console is closing


class NotSigned(DeniedError):
    """No key signed the decision, so nothing was decided."""


class Deciding(Section):
    """A section on which things are decided."""

    failure: ClassVar[str] = "not decided"  # the title of what is said of one that failed
    _typed_ahead = ""  # while a dry run was under way: the beginning of the reason
    _writing_since: float | None = None  # seconds, while a decision is written
    _working: WorkingScreen | None = None  # while keys are held back from this screen
    _outcome: frozenset[str] = frozenset()  # groups of workers that read the newest decision's outcome

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Besides `Reading`'s own handler, which Textual calls after this one."""
        if event.worker.group in WORK and event.worker.is_finished:
            typed = self._working.typed if self._working else ""
            self._let_keys_through()
            self._writing_since = None
            if event.worker.group != "decide":  # after a decision it may be a passphrase
                self._typed_ahead = typed
                self.call_later(self._drop_typed)

    def hold_keys(self) -> None:
        """Let no key reach this screen until the worker that was begun is done, or the person says esc."""
        from sb.screens.dialogs import WorkingScreen  # not before the first screen is there

        self._working = WorkingScreen(self._take_late)
        self._working.typed, self._typed_ahead = self._typed_ahead, ""
        self.app.push_screen(self._working)

    def prepare(self, work: Callable[[], Result], done: Callable[[Result], None]) -> None:
        """Read what a dialog is about; what is typed meanwhile is its reason.

        Args:
            work: touches no widget.
        """
        if not self.console_app.read_only and not self.refuses_more():
            self.hold_keys()
            self.read(PREPARE, work, done)

    def _let_keys_through(self) -> None:
        if self._working:
            self._working.finish()
            self._working = None

    def _take_late(self, event: events.Key) -> None:
        """A character that came between the end of the work and the dialog about it."""
        from sb.screens.dialogs import Dialog, text_of  # not before the first screen is there

        if isinstance(self.app.screen, Dialog):
            self.app.screen.type_ahead(event)
        elif self._working:
            self._working.typed += text_of(event)
        else:
            self._typed_ahead += text_of(event)

    def _drop_typed(self) -> None:
        """Drop the reason that was typed for a dialog which did not open, and say so."""
        if self._typed_ahead:
            self._typed_ahead = ""
            self.console_app.say_dropped()

    @property
    def at_work(self) -> bool:
        """True if a decision, or a dry run of one, is under way, on any screen: all reverse through the same runtime."""
        return any(worker.group in WORK and not worker.is_finished for worker in self.app.workers)

    @property
    def work_text(self) -> str:
        """The foot of a list while something is under way; "" for nothing."""
        return "at work…" if self.at_work else ""

    def is_deciding(self) -> bool:
        if self.app.screen not in (self, self._working):  # a dialog takes keys as they come
            return False
        own = [worker for worker in self.workers if worker.node is self and not worker.is_finished]
        busy = any(worker.group in ("decide", *self._outcome) for worker in own)
        self._outcome = self._outcome if busy else frozenset()
        return busy

    def waiting_text(self) -> str:
        if self._writing_since is None:
            return ""
        waited = self.records.clock.monotonic() - self._writing_since
        if waited < SOON_S:
            return ""
        until = f"gives up after {self.records.patience_s:g}s"
        return f"deciding for {short_span(waited)}: another process may be writing to the database; {until}"

    def others(self) -> list[str]:
        """The operators who could approve after this one."""
        app = self.console_app
        return [name for name in app.operators.enrolled if name != app.signature[1]]

    def refuses_more(self) -> bool:
        """True if something is under way, whose outcome would be lost with a newer one; says so."""
        if self.at_work:
            self.console_app.say("wait: the previous decision is still running")
        return self.at_work

    def ask(
        self,
        question: Question,
        items: Sequence[Item],
        act: Callable[[Item, Decider, str], str],
        declined: Callable[[], None] = lambda: None,
    ) -> None:
        """Ask, and decide each item if the answer is yes; one that cannot be decided does not stop the others.

        Args:
            act: decides one item, with who decides and why; returns what to say about it.
            declined: called when nothing is decided.
        """
        if self.console_app.read_only or self.refuses_more():
            return
        self.console_app.choose_operator(lambda: self._show_dialog(question, items, act, declined))

    def _show_dialog(
        self,
        question: Question,
        items: Sequence[Item],
        act: Callable[[Item, Decider, str], str],
        declined: Callable[[], None],
    ) -> None:
        from sb.screens.decision import DecisionScreen  # not before the first screen is there

        app = self.console_app

        def answered(reason: str | None) -> None:
            if reason is None:
                declined()
                return
            self.hold_keys()
            self.read("decide", lambda: self._decide(items, act, reason), written)

        def written(outcome: tuple[list[str], list[str]]) -> None:
            if not outcome[1]:
                app.drafts.pop(question.key, None)
            self.decided(outcome)

        dialog = DecisionScreen(question, app.drafts, app.signature, self._typed_ahead)
        self._typed_ahead = ""
        self.app.push_screen(dialog, answered)

    def _decide(
        self, items: Sequence[Item], act: Callable[[Item, Decider, str], str], reason: str
    ) -> tuple[list[str], list[str]]:
        try:
            by = self.console_app.signer.decider(self._ask_passphrase)
        except SBError as error:
            raise NotSigned(error.message, error.hint) from error
        self.app.call_from_thread(self._let_keys_through)
        self._writing_since = self.records.clock.monotonic()
        done: list[str] = []
        failed: list[str] = []
        for item in items:
            try:
                done.append(act(item, by, reason))
            except SBError as error:
                failed.append(trouble_of(error))
        if failed:
            self.console_app.signer.forget()
        return done, failed

    def _ask_passphrase(self, prompt: str) -> str:
        """Called in the worker, which waits for the person."""
        from sb.screens.dialogs import PassphraseScreen

        answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        leaving, app = self.console_app.leaving, self.app

        def show() -> None:
            typed = self._working.typed if self._working else ""
            app.push_screen(PassphraseScreen(prompt.rstrip(": "), typed), answers.put)

        app.call_from_thread(show)
        while True:
            try:
                answer = answers.get(timeout=LOOK_FOR_THE_END_S)
            except queue.Empty:
                if not leaving.is_set():
                    continue
                answer = None
            if answer is None:
                raise DeniedError("the key was not unlocked")
            return answer

    def decided(self, outcome: tuple[list[str], list[str]]) -> None:
        done, failed = outcome
        self.app.clear_notifications()  # what they say is older
        if len(done) == 1:
            self.console_app.say(done[0])
        elif done:
            self.console_app.say(f"{len(done):,} decided")
        if len(failed) == 1:
            self.notify_failure(failed[0])
        elif failed:
            fields = [Field("not decided", line) for line in failed]
            self.console_app.open_fields(f"{len(failed)} not decided", fields)
        before = set(self._waiting)
        self.refresh_records()
        self._outcome = frozenset(worker.group for worker in set(self._waiting) - before)

    def failed(self, error: BaseException) -> None:
        """Report a failed decision; the database is not in trouble."""
        if isinstance(error, DeniedError):
            self.console_app.signer.forget()
            self.notify_failure(trouble_of(error), "Not signed" if isinstance(error, NotSigned) else "")
        else:
            super().failed(error)

    def note_outcome(self, reference: str, text: str) -> None:
        """Called in a worker once a record was decided, with what came of it; for lists that keep its line."""

    def notify_failure(self, text: str, title: str = "") -> None:
        self.app.notify(text, title=title or self.failure, severity="error", timeout=8, markup=False)
