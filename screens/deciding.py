"""How does a decision get from a person to the log?

It is asked about with everything it covers, made in a thread by the kernel's own functions, one at a time, and signed
where operators are enrolled: the key is unlocked once, and stays in this process's memory.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeVar

from sb.screens.reading import trouble_of
from sb.screens.section import Section
from sb.screens.state.document import Field

from sb.errors import DeniedError, SBError
from sb.kernel.authority.signing import Decider

if TYPE_CHECKING:
    from sb.screens.state.approvals import Question

Item = TypeVar("Item")
WORK = ("decide", "dry run")  # groups of workers
LOOK_FOR_THE_END_S = 0.2  # seconds between looks whether the console is closing


class Deciding(Section):
    """A section on which things are decided."""

    failure: ClassVar[str] = "not decided"  # the title of what is said of one that failed

    @property
    def at_work(self) -> bool:
        """Whether a decision, or a dry run of one, is under way here."""
        own = [worker for worker in self.workers if worker.node is self and not worker.is_finished]
        return any(worker.group in WORK for worker in own)

    def refuses_more(self) -> bool:
        """Whether something is under way here, whose outcome would be lost with a newer one; says so."""
        if self.at_work:
            self.console_app.say("wait: the one before is still under way")
        return self.at_work

    def ask(
        self, question: Question, items: Sequence[Item], act: Callable[[Item, Decider, str], str]
    ) -> None:
        """Ask, and decide each item if the answer is yes; one that cannot be decided does not stop the others.

        Args:
            act: decides one item, with who decides and why; returns what to say about it.
        """
        if self.console_app.read_only or self.refuses_more():
            return
        from sb.screens.dialogs import DecisionScreen  # not before the first screen is there

        def answered(reason: str | None) -> None:
            if reason is not None:
                self.read("decide", lambda: self._decide(items, act, reason), self._decided)

        self.app.push_screen(DecisionScreen(question), answered)

    def _decide(
        self, items: Sequence[Item], act: Callable[[Item, Decider, str], str], reason: str
    ) -> tuple[list[str], list[str]]:
        by = self.console_app.signer.decider(self._ask_passphrase)
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
        app.call_from_thread(app.push_screen, PassphraseScreen(prompt.rstrip(": ")), answers.put)
        while True:
            try:
                answer = answers.get(timeout=LOOK_FOR_THE_END_S)
            except queue.Empty:
                if not leaving.is_set():
                    continue
                answer = None
            if answer is None:
                raise DeniedError("nothing was decided: the key was not unlocked")
            return answer

    def _decided(self, outcome: tuple[list[str], list[str]]) -> None:
        done, failed = outcome
        if len(done) == 1:
            self.console_app.say(done[0])
        elif done:
            self.console_app.say(f"{len(done):,} decided")
        if len(failed) == 1:
            self.notify_failure(failed[0])
        elif failed:
            fields = [Field("not decided", line) for line in failed]
            self.console_app.open_fields(f"{len(failed)} could not be decided", fields)
        self.refresh_records()

    def failed(self, error: BaseException) -> None:
        """A decision that failed is no trouble with the database."""
        if isinstance(error, DeniedError):
            self.console_app.signer.forget()
            self.notify_failure(trouble_of(error))
        else:
            super().failed(error)

    def notify_failure(self, text: str) -> None:
        self.app.notify(text, title=self.failure, severity="error", timeout=8, markup=False)
