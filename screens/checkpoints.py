"""The checkpoints view of Memory: saved cores, and restoring one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sb.screens.actions import LISTS, PANELS, RECORDS, Action, bindings
from sb.screens.deciding import Deciding
from sb.screens.document_view import DocumentView
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.state.checkpoints import (
    checkpoint_document,
    listed,
    question,
    restore,
)
from sb.screens.state.listing import row_of
from sb.screens.tab_view import ListView
from textual import on
from textual.widget import Widget

from sb.base.sources import MICROSECONDS
from sb.entity import Checkpoint
from sb.kernel.authority.signing import Decider
from sb.log.event import Subject
from sb.present.checkpoints import CHECKPOINT, ShownCheckpoint

if TYPE_CHECKING:
    from sb.screens.state.document import Document
    from sb.screens.state.kills import Pointed

    from sb.entity.composition import Difference

EMPTY = "No checkpoints yet. Saved cores appear here.\n\nsb checkpoint save --agent NAME saves one."


class CheckpointsScreen(Deciding, ListView[ShownCheckpoint]):
    """Every checkpoint, the newest first, and the one under the cursor in full."""

    name_ = "checkpoints"
    parts = ("checkpoints", LISTS, RECORDS, PANELS)
    heading = "Memory"
    failure = "not restored"
    gone = "there is no such checkpoint"
    BINDINGS = bindings("checkpoints")

    def __init__(self) -> None:
        super().__init__()
        self._version = 0
        self._shown = ""

    def body(self) -> Iterable[Widget]:
        yield self.split(
            self.views_panel(RowList(CHECKPOINT.columns["list"], id="checkpoints")),
            Panel(DocumentView(id="checkpoint"), title="What going back changes"),
        )

    def refresh_records(self) -> None:
        def work() -> tuple[int, list[ShownCheckpoint]]:
            present = self.records.present("rows")
            return present.version(), listed(present)  # what is written in between is found by the next look

        self.read("checkpoints", work, self._show)

    def _show(self, found: tuple[int, list[ShownCheckpoint]]) -> None:
        self._version, checkpoints = found
        self.keep(checkpoints, [checkpoint.checkpoint_id for checkpoint in checkpoints])
        now = int(self.records.clock.now() * MICROSECONDS)
        self.rows.put(
            {number: row_of(CHECKPOINT, checkpoint, now) for number, checkpoint in self.known.items()}
        )
        self.rows.show(list(self.known), EMPTY)
        self.go_to_wanted([checkpoint.checkpoint_id for checkpoint in checkpoints])
        self._read_chosen()
        self.show_status()

    def tick(self) -> None:
        """Look whether another process has kept a checkpoint: these are files, not in the database."""
        self.read("look", lambda: self.records.present("rows").version(), self._looked)

    def _looked(self, version: int) -> None:
        if version != self._version:
            self.refresh_records()

    @on(RowList.Highlighted)
    def _highlighted(self, message: RowList.Highlighted) -> None:
        self._read_chosen()

    def _read_chosen(self) -> None:
        chosen = self.current

        def work() -> Document:
            return () if chosen is None else checkpoint_document(self.records.present("detail"), chosen)

        def done(document: Document) -> None:
            if chosen == self.current:
                shown = chosen.checkpoint_id if chosen else ""
                self.query_one(DocumentView).show(document, same_record=shown == self._shown)
                self._shown = shown

        self.read("detail", work, done)

    def start_over(self) -> None:
        self.known = {}
        self.rows.start_over()

    def pointed_at(self) -> Pointed:
        found = self.current.found if self.current else ""
        return Subject(agent=found.binding.core_id) if isinstance(found, Checkpoint) else None

    def summary(self) -> str:
        return ""

    def possible(self, action: Action) -> bool:
        if action.id == "undo":
            found = self.current.found if self.current else ""
            return isinstance(found, Checkpoint) and found.intact
        return super().possible(action)

    def action_undo(self) -> None:
        found = self.current.found if self.current else ""
        if not isinstance(found, Checkpoint):
            self.console_app.say("no checkpoint under the cursor")
        elif not found.intact:
            self.console_app.say("its file was edited, so it cannot be restored")
        else:
            self.prepare(lambda: self._changes(found), self._ask)

    def _changes(self, found: Checkpoint) -> tuple[Checkpoint, tuple[Difference, ...]]:
        return found, self.records.present("detail").changes(found)

    def _ask(self, preview: tuple[Checkpoint, tuple[Difference, ...]]) -> None:
        found, changes = preview
        if changes:
            self.ask(question(found, changes), [found.checkpoint_id], self._restore)
        else:
            self.console_app.say("nothing to restore: the core is already in this state")

    def _restore(self, checkpoint_id: str, by: Decider, reason: str) -> str:
        return restore(self.records, checkpoint_id, by.name, reason)
