"""The handler of reversals, calls of unknown outcome and undo records: dry runs, undo, and what became of a call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from sb.screens.deciding import DRY_RUN
from sb.screens.handlers.handler import Handler
from sb.screens.state.approvals import unapprovable
from sb.screens.state.document import Document, Field
from sb.screens.state.recovery import call_facts, item_of, possible_actions
from sb.screens.state.recovery_record import (
    HIDDEN,
    Asked,
    Detail,
    DryRun,
    RunPlan,
    read_detail,
    recovery_document,
    recovery_question,
    run_question,
)

from sb.base.text import counted
from sb.base.values.frozen import frozen
from sb.errors import CheckFailed
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.authority.signing import Decider
from sb.kernel.calls.intents import Intent
from sb.kernel.recovery_loop.answers import Undone
from sb.kernel.recovery_loop.escalations import Escalation
from sb.log.event import Subject
from sb.present.recovery import Item, dismissed_sentence, settled_sentence, undone_sentence

if TYPE_CHECKING:
    from sb.screens.deciding import Deciding
    from sb.screens.state.kills import Pointed

VERDICTS = {"happened": "done", "not_happened": "not-done", "compensate": "compensate"}
OUTCOMES = ("It happened", "It did not happen", "It happened, undo it", "Not known: leave it open")
ASK_TOOL = "Not known: ask its tool"


@frozen
class ReadItem:
    """An item, and what was read of it."""

    item: Item
    detail: Detail


class RecoveryHandler(Handler[ReadItem]):
    """Reverses, settles and dismisses."""

    title = "Call"

    @property
    def labels(self) -> Mapping[str, str]:
        return {"approve": "undo it", "deny": "dismiss"}

    def __init__(self, screen: Deciding, changed: Callable[[], None], *, read: str = "detail") -> None:
        super().__init__(screen, changed, read=read)
        self._dry_runs: dict[int, DryRun] = {}
        self._opened: set[str] = set()  # digests of the requests that were opened to be read

    def load(self, reference: str) -> ReadItem | None:
        log = self.records.log("rows")
        item = item_of(log, reference)
        return None if item is None else ReadItem(item, read_detail(log, item))

    @property
    def _current(self) -> Item | None:
        return self.item.item if self.item else None

    def document(self) -> Document:
        if self.item is None:
            return []
        item = self.item.item
        dry_run = self._dry_runs.get(item.key)
        return recovery_document(item, self.item.detail, dry_run, self.now(), reveal=self.revealed)

    def possible(self, action: str) -> bool:
        item = self._current
        if action == "reveal":
            return any(field.name == HIDDEN for field in self.document() if isinstance(field, Field))
        return item is not None and action in possible_actions(item, self.now())

    def command(self) -> str:
        item = self._current
        if item is None:
            return ""
        if isinstance(item.about, Escalation):
            return f"sb recovery show {item.about.id}"
        if isinstance(item.about, Intent):
            return f"sb recovery settle {item.about.call_id}"
        return f"sb undo show {item.mutation_id}"

    def pointed_at(self) -> Pointed:
        if self._current is None:
            return None
        about = self._current.about
        return Subject(about.run_id, "", about.agent, about.tool_id, about.call_id)

    def open(self) -> None:
        if self._request is not None:
            self._opened.add(self._request.digest)

    @property
    def _request(self) -> Disclosure | None:
        """For the reversal of the item."""
        return self.item.detail.request if self.item else None

    def reveal(self) -> None:
        """Show the secrets in the reversal's arguments, or hide them again."""
        self.revealed = self.item is not None and not self.revealed
        self.changed()

    def try_out(self, references: Sequence[str] = ()) -> None:
        """Look whether it could be undone; of a call of unknown outcome ask its tool."""
        item = self._current
        if item is not None and isinstance(item.about, Intent):
            self._ask_tool(item)
        elif item is not None and item.mutation_id:
            self._look(item, lambda looked: None)
        else:
            self.say("no undo record here")

    def _look(self, item: Item, then: Callable[[DryRun], None], *, asks: bool = False) -> None:
        """Make a dry run, which may take as long as its preview does; then show it, and go on.

        Args:
            asks: a dialog follows, and what is typed meanwhile is its reason.
        """
        if self.console.read_only or self.screen.refuses_more():
            return

        def looked(dry_run: DryRun) -> None:
            self._dry_runs[item.key] = dry_run
            self.changed()
            self.screen.show_status()
            if self.screen.is_current and self._current == item:
                then(dry_run)

        if asks:
            self.screen.hold_keys()
        self.screen.read(DRY_RUN, lambda: self._dry_run(item, asks), looked)
        self.screen.show_status()

    def _dry_run(self, item: Item, asks: bool) -> DryRun:
        """Called in a worker; the undo that a dialog asks about goes on in the run of its preview."""
        runtime = self.records.runtime()
        plan = runtime.recovery.plan(runtime.recovery.mutations.get(item.mutation_id))
        if not (asks and plan.ok):
            runtime.recovery.close()
        missing = [
            f"tools of {entry.source} were not loaded: {entry.message}" for entry in runtime.load_failures
        ]
        detail = "; ".join([plan.detail, *([] if plan.ok else missing)])
        return DryRun(self.now(), plan.ok, plan.checked, detail, plan.arguments)

    def undo(self, references: Sequence[str] = ()) -> None:
        item = self._current
        if item is None or not item.mutation_id:
            self.say("no undo record here")
        elif item.decidable:
            self.say("its reversal is pending: a approves it")
        else:
            self._look(
                item,
                lambda looked: self._ask("undo", item, self._undo, declined=self._end_preview),
                asks=True,
            )

    def undo_run(self, references: Sequence[str] = ()) -> None:
        item = self._current
        if item is None:
            self.say("no undo record here")
        else:
            self.undo_all_of(item.about.run_id, item.who)

    def undo_all_of(self, run_id: str, who: str) -> None:
        """Ask about undoing everything that a run did, newest first.

        Args:
            who: the agent of the run and its project.
        """
        if self.console.read_only or self.screen.refuses_more():
            return
        self.screen.hold_keys()
        self.screen.read(
            DRY_RUN, lambda: self._plan_run(run_id), lambda found: self._ask_to_undo_run(run_id, who, found)
        )
        self.screen.show_status()

    def _plan_run(self, run_id: str) -> RunPlan:
        """Called in a worker."""
        runtime = self.records.runtime()
        log, recovery = runtime.log, runtime.recovery
        plans = recovery.plan_all(recovery.mutations.of_run(run_id))
        run = RunPlan(
            [(call_facts(log, plan.ref).object, plan) for plan in plans],
            [call_facts(log, intent).object for intent in runtime.executor.in_doubt(run_id)],
        )
        if not run.possible:
            recovery.close()
        return run

    def _ask_to_undo_run(self, run_id: str, who: str, run: RunPlan) -> None:
        self.screen.show_status()
        if not self.screen.is_current:
            return
        if run.possible:
            self.screen.ask(run_question(run_id, who, run), [run_id], self._undo_run, self._end_preview)
        else:
            self.screen.notify_failure(run.refusal)

    def _undo_run(self, run_id: str, by: Decider, reason: str) -> str:
        with closing(self.records.runtime().recovery) as recovery:
            done = list(recovery.undo_all(recovery.mutations.of_run(run_id), by, reason))
        number = sum(undone.state == "reversed" for undone in done)
        if number < len(done):
            return f"{counted(number, 'call')} undone; {_outcome(done[-1])}"
        return f"{counted(number, 'call')} of the run undone ({run_id})"

    def _ask(
        self,
        verb: str,
        item: Item,
        act: Callable[[Item, Decider, str], str],
        *,
        result: str = "",
        declined: Callable[[], None] = lambda: None,
    ) -> None:
        read = self.item.detail if self.item and self.item.item.key == item.key else Detail(item.key)
        asked = Asked(
            self.now(),
            read,
            self._dry_runs.get(item.key),
            result,
            others=self.screen.others(),
        )
        self.hide()
        noted = self.noting(act, lambda item: item.name)
        self.screen.ask(recovery_question(verb, item, asked), [item], noted, declined)

    def _end_preview(self) -> None:
        def end() -> None:
            self.records.runtime().recovery.close()

        self.screen.read("end the preview", end, lambda done: None)

    def _undo(self, item: Item, by: Decider, reason: str) -> str:
        with closing(self.records.runtime().recovery) as recovery:
            return _outcome(recovery.undo(recovery.mutations.get(item.mutation_id), by, reason))

    def approve(self, references: Sequence[str] = ()) -> None:
        item, request = self._current, self._request
        if item is None or not item.decidable:
            self.say("nothing to approve here: no reversal is pending")
            return
        waits = (
            request if request is not None and request.can_be_decided else None
        )  # else the kernel asks anew
        refused = unapprovable([waits], self._opened) if waits else ""
        if refused:
            self.say(refused)
            return
        shown = waits.digest if waits else ""
        self._ask("approve", item, lambda item, by, why: self._approve(item, by, why, shown))

    def _approve(self, item: Item, by: Decider, reason: str, shown: str) -> str:
        return _outcome(self.records.runtime().recovery.approve(item.name, by, reason, displayed=shown))

    def deny(self, references: Sequence[str] = ()) -> None:
        item = self._current
        if item is not None and "deny" in possible_actions(item, self.now()):
            self._ask("dismiss", item, self._dismiss)
        else:
            self.say("nothing to dismiss here")

    def _dismiss(self, item: Item, by: Decider, reason: str) -> str:
        found = self.records.runtime().recovery.dismiss(item.name, by, reason)
        return dismissed_sentence(item.call.object, "u among the changes", found.id)

    def settle(self, references: Sequence[str] = ()) -> None:
        """Ask what became of a call of unknown outcome."""
        item = self._current
        intent = item.about if item else None
        if item is None or not isinstance(intent, Intent):
            self.say("this call's outcome is known")
            return
        if self.console.read_only or self.screen.refuses_more():
            return
        from sb.screens.choosing import ChoiceScreen

        def chosen(number: int | None) -> None:
            if number is not None and number < len(VERDICTS):
                self._settle(list(VERDICTS)[number], item, intent)
            elif number == len(OUTCOMES):
                self._ask_tool(item)

        outcomes: tuple[str, ...] = OUTCOMES
        keys: dict[str, int] = {}
        note = "A reason is asked for next."
        if not intent.workflow:  # a step is a plain function, which has no probe
            outcomes, keys = (*OUTCOMES, ASK_TOOL), {"t": len(OUTCOMES)}
            note += " t asks its tool, without one."
        dialog = ChoiceScreen("Settle", outcomes, note, item.call.object, keys)
        self.screen.app.push_screen(dialog, chosen)

    def _settle(self, verb: str, item: Item, intent: Intent) -> None:
        if verb == "compensate" and not intent.reversal:
            self.say(f"{intent.tool_id} declares no reversal: settle it as happened or not")
            return

        def given(result: str | None) -> None:
            if result is not None:
                self._ask(
                    verb, item, lambda item, by, why: self._record(verb, item, by, why, result), result=result
                )

        if verb == "not_happened" or intent.reverses:
            given("")
        else:
            from sb.screens.dialogs import ResultScreen  # not before the first screen is there

            self.screen.app.push_screen(ResultScreen(item.call.object), given)

    def _record(self, verb: str, item: Item, by: Decider, reason: str, result: str) -> str:
        from sb.kernel.recovery_loop.settling import Settlement, Settling

        value = json.loads(result) if result else None
        settling, verdict = Settling(self.records.runtime().recovery), Settlement(VERDICTS[verb])
        undone = settling.settle(item.name, verdict, by, reason, value)
        return _outcome(undone) if undone else settled_sentence(item.call.object, verdict, by.name, item.name)

    def _ask_tool(self, item: Item) -> None:
        if not self.console.read_only and not self.screen.refuses_more():
            self.screen.read("decide", lambda: self._probe(item), self.screen.decided)

    def _probe(self, item: Item) -> tuple[list[str], list[str]]:
        from sb.kernel.recovery_loop.settling import Settling

        verdict = Settling(self.records.runtime().recovery).probe(item.name)
        return [settled_sentence(item.call.object, verdict, "its probe", item.name)], []


def _outcome(undone: Undone) -> str:
    """The outcome of a reversal; raises CheckFailed unless it was performed, or waits for a second person."""
    text = undone_sentence(undone)
    if undone.state in ("reversed", "waiting"):
        return text
    raise CheckFailed(text)
