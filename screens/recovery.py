"""The Recovery screen: reversals and calls with unknown outcomes, their dry runs and decisions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from sb.screens.actions import DECIDE, LISTS, PANELS, RECORDS, Action, bindings
from sb.screens.dialogs import ResultScreen
from sb.screens.document_view import DocumentView
from sb.screens.panel import Panel
from sb.screens.reading import trouble_of
from sb.screens.row_list import RowList
from sb.screens.state.approvals import unapprovable
from sb.screens.state.listing import row_of
from sb.screens.state.recovery import (
    CHANGES_VIEW,
    OPEN_VIEW,
    SETTLED_VIEW,
    VIEWS,
    Listed,
    call_facts,
    listed,
    located,
    possible_actions,
)
from sb.screens.state.recovery_record import (
    PERFORMING,
    Asked,
    Detail,
    DryRun,
    RunPlan,
    read_detail,
    recovery_document,
    recovery_question,
    run_question,
)
from sb.screens.waiting import CountedList
from textual import on
from textual.widget import Widget

from sb.errors import CheckFailed, DeniedError, SBError, StoreError
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.authority.signing import Decider
from sb.kernel.calls.intents import Intent
from sb.kernel.recovery_loop.escalations import Escalation
from sb.log.event import Subject
from sb.present.recovery import (
    RECOVERY,
    CallFacts,
    Item,
    dismissed_sentence,
    settled_sentence,
    undone_sentence,
)

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

from sb.base.text import counted
from sb.kernel.recovery_loop.answers import Undone

EMPTY = {
    OPEN_VIEW: "Nothing to recover.\n\nReversals to decide and calls with unknown outcomes appear here.",
    SETTLED_VIEW: "Nothing was settled yet.\n\n] shows what can be undone.",
    CHANGES_VIEW: "No undo records yet.\n\nsb demo makes some.",
}
VERDICTS = {"happened": "done", "not_happened": "not-done", "compensate": "compensate"}
OUTCOMES = ("It happened", "It did not happen", "It happened, undo it", "Not known: leave it open")


class RecoveryScreen(CountedList):
    """Recovery: escalations and undo, the soonest to expire first, the one under the cursor in full."""

    name_ = "recovery"
    parts = ("recovery", LISTS, RECORDS, PANELS)
    heading = "Recovery"
    failure = "not done"
    BINDINGS = bindings("recovery")

    def __init__(self) -> None:
        super().__init__()
        self.view = OPEN_VIEW
        self.page = Listed()
        self.known: dict[int, Item] = {}
        self._calls: dict[str, CallFacts] = {}
        self._detail: Detail | None = None
        self._dry_runs: dict[int, DryRun] = {}
        self._opened_digests: set[str] = set()  # of the requests that were opened to be read
        self._revealed: int | None = None  # the item of which secrets are shown
        self._shown: int | None = None
        self._wanted_name = ""  # for the cursor, once it is in the list

    def body(self) -> Iterable[Widget]:
        items = Panel(RowList(RECOVERY.columns["list"], id="recoveries"), views=VIEWS, id="items")
        yield self.split(items, Panel(DocumentView(id="recovery-detail"), title="Call"))

    @property
    def rows(self) -> RowList:
        return self.query_one("#recoveries", RowList)

    def waiting(self) -> Sequence[int]:
        return [item.key for item in self.known.values() if item.decidable or isinstance(item.about, Intent)]

    @property
    def current(self) -> Item | None:
        """The item under the cursor."""
        return self.known.get(self.rows.listing.current or 0)

    def pointed_at(self) -> Pointed:
        if self.current is None:
            return None
        about = self.current.about
        return Subject(about.run_id, "", about.agent, about.tool_id, about.call_id)

    def now(self) -> int:
        """Microseconds since the epoch."""
        return int(self.records.clock.now() * 1e6)

    def refresh_records(self) -> None:
        view = self.view
        self.read("recoveries", lambda: listed(self.records.log(), view, self._calls), self._show)

    def _show(self, found: Listed) -> None:
        if found.view != self.view:
            return  # another one was asked for meanwhile
        self.page = found
        self.known = {item.key: item for item in found.items}
        self._paint()
        self.rows.show(list(self.known), EMPTY[found.view])
        if self._wanted_name:
            self._select(self._wanted_name)
            self._wanted_name = ""
        self.move_on()
        self._read_detail()
        self.show_status()

    def _select(self, reference: str) -> None:
        for item in self.known.values():
            if item.known_as(reference):
                self.rows.select(item.key)
                return

    def _paint(self) -> None:
        now = self.now()
        self.rows.put({key: row_of(RECOVERY, item, now) for key, item in self.known.items()})
        self._show_detail()

    def tick(self) -> None:
        """Another second is over: what is left changes, and what ran out is read again."""
        now = self.now()
        if any(item.decidable and (item.ends_at or now) <= now for item in self.known.values()):
            self.refresh_records()
        elif not self.query_one(DocumentView).unfolded:
            self._paint()

    @on(RowList.Highlighted)
    def _highlighted(self, message: RowList.Highlighted) -> None:
        self._read_detail()

    def _read_detail(self) -> None:
        item = self.current
        self._show_detail()
        if item is not None:
            self.read("detail", lambda: read_detail(self.records.log(), item), self._detail_read)

    def _detail_read(self, detail: Detail) -> None:
        self._detail = detail
        self._show_detail()

    def _show_detail(self) -> None:
        item = self.current
        shown = item.key if item else None
        if shown != self._revealed:
            self._revealed = None
        fields = (
            recovery_document(
                item,
                self._detail,
                self._dry_runs.get(item.key),
                self.now(),
                reveal=item.key == self._revealed,
            )
            if item
            else []
        )
        self.query_one(DocumentView).show(fields, same_record=shown is not None and shown == self._shown)
        self._shown = shown

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        if self._request is not None:
            self._opened_digests.add(self._request.digest)
        self.focus_on(self.query_one(DocumentView))

    @property
    def _request(self) -> Disclosure | None:
        """For the reversal of the item under the cursor, once it was read."""
        item, detail = self.current, self._detail
        return detail.request if item and detail and detail.key == item.key else None

    def action_reveal(self) -> None:
        item = self.current
        self._revealed = item.key if item is not None and self._revealed is None else None
        self._show_detail()

    def start_over(self) -> None:
        self.page, self.known, self._detail = Listed(self.view), {}, None
        self._dry_runs.clear()
        self._calls.clear()
        self.rows.start_over()

    def command(self) -> str:
        item = self.current
        if item is None:
            return ""
        if isinstance(item.about, Escalation):
            return f"sb recovery show {item.about.id}"
        if isinstance(item.about, Intent):
            return f"sb recovery settle {item.about.call_id}"
        return f"sb undo show {item.mutation_id}"

    def view_counts(self) -> Mapping[str, int]:
        return self.page.counts

    def total(self) -> int:
        return self.page.counts.get(self.view, 0)

    def foot(self) -> Sequence[str]:
        listed = len(self.rows.listing.keys)
        cut = f"the first {listed} are listed" if self.total() > listed else ""
        return cut, "at work…" if self.at_work else ""

    def find(self, reference: str) -> None:
        """Put the cursor on what has this id, in the first view that shows it."""
        self.read(
            "find", lambda: located(self.records.log(), reference), lambda at: self._found(at, reference)
        )

    def _found(self, found: Listed, reference: str) -> None:
        if not found.items:
            self.notify_failure(f"nothing to recover is called {reference}: sb undo may still know it")
            return
        self.view, self._wanted_name = found.view, reference
        self.query_one("#items", Panel).show_view(found.view)
        self._show(found)

    def action_view(self, by: int) -> None:
        """Switch the view: open, settled, or all that can be undone."""
        self.step_view(by)

    @on(Panel.Viewed)
    def _viewed(self, message: Panel.Viewed) -> None:
        self.view = message.view
        self.rows.start_over()
        self.refresh_records()

    def possible(self, action: Action) -> bool:
        item = self.current
        if item is not None and action.group == DECIDE:
            return action.id in possible_actions(item, self.now())
        return super().possible(action)

    def action_try_out(self) -> None:
        """Look whether it could be undone; of a call of unknown outcome ask its tool."""
        if self.current is not None and isinstance(self.current.about, Intent):
            self._ask_tool(self.current)
        elif self.current is not None and self.current.mutation_id:
            self._look(self.current, lambda looked: None)
        else:
            self.console_app.say("no undo record here")

    def _look(self, item: Item, then: Callable[[DryRun], None], *, asks: bool = False) -> None:
        """Make a dry run, which may take as long as its preview does; then show it, and go on.

        Args:
            asks: a dialog follows, and what is typed meanwhile is its reason.
        """
        if self.console_app.read_only or self.refuses_more():
            return

        def looked(dry_run: DryRun) -> None:
            self._dry_runs[item.key] = dry_run
            self._show_detail()
            self.show_status()
            if self.is_current and self.current == item:
                then(dry_run)

        if asks:
            self.hold_keys()
        self.read("dry run", lambda: self._dry_run(item, asks), looked)
        self.show_status()

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

    def action_undo(self) -> None:
        item = self.current
        if item is None or not item.mutation_id:
            self.console_app.say("no undo record here")
        elif item.decidable:
            self.console_app.say("its reversal is pending: a approves it")
        else:
            self._look(
                item,
                lambda looked: self._ask("undo", item, self._undo, declined=self._end_preview),
                asks=True,
            )

    def action_undo_run(self) -> None:
        item = self.current
        if item is None:
            self.console_app.say("no undo record here")
        elif not self.console_app.read_only and not self.refuses_more():
            self.hold_keys()
            self.read(
                "dry run", lambda: self._plan_run(item), lambda found: self._ask_to_undo_run(item, found)
            )
            self.show_status()

    def _plan_run(self, item: Item) -> RunPlan:
        """Called in a worker."""
        runtime, run_id = self.records.runtime(), item.about.run_id
        log, recovery = runtime.log, runtime.recovery
        plans = recovery.plan_all(recovery.mutations.of_run(run_id))
        run = RunPlan(
            [(call_facts(log, plan.ref).object, plan) for plan in plans],
            [call_facts(log, intent).object for intent in runtime.executor.in_doubt(run_id)],
        )
        if not run.possible:
            recovery.close()
        return run

    def _ask_to_undo_run(self, item: Item, run: RunPlan) -> None:
        self.show_status()
        if not self.is_current or self.current != item:
            return
        if run.possible:
            self.ask(run_question(item, run), [item], self._undo_run, self._end_preview)
        else:
            self.notify_failure(run.refusal)

    def _undo_run(self, item: Item, by: Decider, reason: str) -> str:
        with closing(self.records.runtime().recovery) as recovery:
            done = list(recovery.undo_all(recovery.mutations.of_run(item.about.run_id), by, reason))
        number = sum(undone.state == "reversed" for undone in done)
        if number < len(done):
            return f"{counted(number, 'call')} undone; {_outcome(done[-1])}"
        return f"{counted(number, 'call')} of {item.about.agent} undone ({item.about.run_id})"

    def _ask(
        self,
        verb: str,
        item: Item,
        act: Callable[[Item, Decider, str], str],
        *,
        result: str = "",
        declined: Callable[[], None] = lambda: None,
    ) -> None:
        detail = self._detail if self._detail and self._detail.key == item.key else None
        if detail is None and verb in PERFORMING:
            self.console_app.say("still loading the reversal: press the key again")
            return
        read = detail or Detail(item.key)
        asked = Asked(
            self.now(),
            read,
            self._dry_runs.get(item.key),
            result,
            reveal=item.key == self._revealed,
            others=self.others(),
        )
        self.ask(recovery_question(verb, item, asked), [item], act, declined)

    def _end_preview(self) -> None:
        def end() -> None:
            self.records.runtime().recovery.close()

        self.read("end the preview", end, lambda done: None)

    def _undo(self, item: Item, by: Decider, reason: str) -> str:
        with closing(self.records.runtime().recovery) as recovery:
            return _outcome(recovery.undo(recovery.mutations.get(item.mutation_id), by, reason))

    def action_approve(self) -> None:
        item, request = self.current, self._request
        if item is None or not item.decidable:
            self.console_app.say("nothing to approve here: no reversal is pending")
            return
        waits = (
            request if request is not None and request.can_be_decided else None
        )  # else the kernel asks anew
        refused = unapprovable([waits], self._opened_digests) if waits else ""
        if refused:
            self.console_app.say(refused)
            return
        shown = waits.digest if waits else ""
        self._ask("approve", item, lambda item, by, why: self._approve(item, by, why, shown))

    def _approve(self, item: Item, by: Decider, reason: str, shown: str) -> str:
        return _outcome(self.records.runtime().recovery.approve(item.name, by, reason, displayed=shown))

    def action_deny(self) -> None:
        item = self.current
        if item is not None and "deny" in possible_actions(item, self.now()):
            self._ask("dismiss", item, self._dismiss)
        else:
            self.console_app.say("nothing to dismiss here")

    def _dismiss(self, item: Item, by: Decider, reason: str) -> str:
        found = self.records.runtime().recovery.dismiss(item.name, by, reason)
        return dismissed_sentence(item.call.object, "u among the changes", found.id)

    def action_settle(self) -> None:
        """Ask what became of a call of unknown outcome."""
        item = self.current
        intent = item.about if item else None
        if item is None or not isinstance(intent, Intent):
            self.console_app.say("this call's outcome is known")
            return
        if self.console_app.read_only or self.refuses_more():
            return
        from sb.screens.choosing import ChoiceScreen

        def chosen(number: int | None) -> None:
            if number is not None and number < len(VERDICTS):
                self._settle(list(VERDICTS)[number], item, intent)

        note = "A reason is asked for next." + ("" if intent.workflow else " t asks its tool.")
        self.app.push_screen(ChoiceScreen("Settle", OUTCOMES, note, item.call.object), chosen)

    def _settle(self, verb: str, item: Item, intent: Intent) -> None:
        if verb == "compensate" and not intent.reversal:
            self.console_app.say(f"{intent.tool_id} declares no reversal: settle it as happened or not")
            return

        def given(result: str | None) -> None:
            if result is not None:
                self._ask(
                    verb, item, lambda item, by, why: self._record(verb, item, by, why, result), result=result
                )

        if verb == "not_happened" or intent.reverses:
            given("")
        else:
            self.app.push_screen(ResultScreen(item.call.object), given)

    def _record(self, verb: str, item: Item, by: Decider, reason: str, result: str) -> str:
        from sb.kernel.recovery_loop.settling import Settlement, Settling

        value = json.loads(result) if result else None
        settling, verdict = Settling(self.records.runtime().recovery), Settlement(VERDICTS[verb])
        undone = settling.settle(item.name, verdict, by, reason, value)
        return _outcome(undone) if undone else settled_sentence(item.call.object, verdict, by.name, item.name)

    def _ask_tool(self, item: Item) -> None:
        if not self.console_app.read_only and not self.refuses_more():
            self.read("decide", lambda: self._probe(item), self._decided)

    def _probe(self, item: Item) -> tuple[list[str], list[str]]:
        from sb.kernel.recovery_loop.settling import Settling

        verdict = Settling(self.records.runtime().recovery).probe(item.name)
        return [settled_sentence(item.call.object, verdict, "its probe", item.name)], []

    def failed(self, error: BaseException) -> None:
        """Report a refusal of recovery; the database is not in trouble."""
        if isinstance(error, SBError) and not isinstance(error, StoreError | DeniedError):
            self.notify_failure(trouble_of(error))
        else:
            super().failed(error)


def _outcome(undone: Undone) -> str:
    """The outcome of a reversal; raises CheckFailed unless it was performed, or waits for a second person."""
    text = undone_sentence(undone)
    if undone.state in ("reversed", "waiting"):
        return text
    raise CheckFailed(text)
