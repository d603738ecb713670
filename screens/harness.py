"""The harness audit of Rules: grades, control by control."""

from __future__ import annotations

from collections.abc import Iterable

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.document_view import DocumentView
from sb.screens.filtering import Filtering
from sb.screens.panel import Panel
from sb.screens.reading import safe, trouble_of
from sb.screens.row_list import RowList
from sb.screens.state.harness_child import audit_document
from sb.screens.state.scorecard import CONTROL_COLUMNS, Graded, Scorecard, control_document, scorecard
from sb.screens.tab_view import TabView
from textual import on
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import get_current_worker

from sb.base.sources import iso
from sb.base.values.frozen import mutable
from sb.errors import SBError, StoreError

AUDITING = "auditing…"
NO_HIT = "No controls match.\n\nesc clears the filter."
NOT_RUN = "Not run in this console yet.\n\nr runs the audit: a few seconds, in a process of its own."
NO_GRADES = "No grades.\n\nr runs the audit again."


class HarnessScreen(Filtering, TabView):
    """The scorecard, outcome by outcome, and the control under the cursor in full."""

    name_ = "harness"
    parts = ("harness", LISTS, RECORDS, PANELS)
    heading = "Rules"
    BINDINGS = bindings("harness")
    DEFAULT_CSS = """
    HarnessScreen #score {
        height: 1; padding: 0 1; text-style: bold; text-wrap: nowrap; text-overflow: ellipsis;
    }
    HarnessScreen #score.-ok { color: $ok; }
    HarnessScreen #score.-warn { color: $warn; }
    HarnessScreen #score.-danger { color: $danger; }
    """

    @mutable
    class Auditing(Message):
        """A control begins."""

        step: str

    def __init__(self) -> None:
        super().__init__()
        self._step = ""
        self.card: Scorecard | None = None
        self.trouble = ""
        self._graded_at = ""
        self._shown: str | None = None

    def body(self) -> Iterable[Widget]:
        yield Static(id="score")
        yield self.split(
            self.views_panel(
                self.filter_box("words, status:fail severity:P0 outcome:…"),
                RowList(CONTROL_COLUMNS, id="controls"),
            ),
            Panel(DocumentView(id="control"), title="Control"),
        )

    @property
    def rows(self) -> RowList:
        return self.query_one("#controls", RowList)

    @property
    def auditing(self) -> bool:
        """True if the audit is under way."""
        return any(
            worker.group == "audit" and worker.node is self and not worker.is_finished
            for worker in self.workers
        )

    def refresh_records(self) -> None:
        """Keep the newest grades: agents' writes change none, and a view that is passed by starts no work."""
        if self.card is None and not self.trouble and not self.auditing:
            self.rows.show((), NOT_RUN)
        self.succeeded()

    def action_refresh(self) -> None:
        """Run the audit, unless it is under way."""
        if self.auditing:
            return

        def work() -> Scorecard:
            worker = get_current_worker()

            def progress(step: str) -> None:
                self.post_message(self.Auditing(step))

            return scorecard(audit_document(lambda: worker.is_cancelled, progress))

        self.trouble = self._step = ""
        self.read("audit", work, self._show)
        if self.card is None:
            self.rows.show((), AUDITING)
        self.show_status()

    @on(Auditing)
    def _begun(self, message: Auditing) -> None:
        if self.auditing:
            self._step = message.step
            if self.card is None:
                self.rows.show((), f"{AUDITING} {self._step}")
            self.show_status()

    def _show(self, card: Scorecard) -> None:
        self.card, self._graded_at = card, iso(self.records.clock.now())[11:19]
        self._show_rows()
        self.show_status()

    def failed(self, error: BaseException) -> None:
        """Report an audit without grades; the database is not in trouble."""
        if isinstance(error, SBError) and not isinstance(error, StoreError):
            self.trouble = trouble_of(error)
            if self.card is None:
                self.rows.show((), NO_GRADES)
        else:
            super().failed(error)
        self.show_status()

    def on_screen_suspend(self) -> None:
        """Another screen is shown: end the audit; below a dialog it goes on."""
        if self not in self.app.screen_stack:
            self.workers.cancel_group(self, "audit")

    def filter_changed(self) -> None:
        self._show_rows()
        if self.filter_text:
            self.rows.action_first()  # not on what the first letters happened to find

    def _show_rows(self) -> None:
        if self.card is not None:
            rows = self.card.rows(self.filter_text)
            self.rows.put(rows)
            self.rows.show(list(rows), NO_HIT)
            self._show_detail()

    @property
    def current(self) -> Graded | None:
        """The control under the cursor."""
        number = self.rows.listing.current
        return self.card.controls[number - 1] if self.card and number and number > 0 else None

    @on(RowList.Highlighted)
    def _highlighted(self, message: RowList.Highlighted) -> None:
        self._show_detail()

    def _show_detail(self) -> None:
        control = self.current
        fields = control_document(control) if control else []
        shown = control.id if control else None
        self.query_one(DocumentView).show(fields, same_record=shown == self._shown)
        self._shown = shown

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        self.focus_on(self.query_one(DocumentView))

    def show_status(self) -> None:
        super().show_status()
        for line in self.query("#score").results(Static):  # none before the screen is composed
            score, tone = (self.card.line, self.card.tone) if self.card else ("", "")
            if self.auditing:
                doing = f"{AUDITING} {self._step}".rstrip()
                score = f"{score} · {doing}" if score else doing
            elif self.trouble:
                score, tone = self.trouble, "danger"
            line.set_classes(f"-{tone}" if tone else "")
            line.update(safe(score, one_line=True))

    def summary(self) -> str:
        if self.card is None:
            return ""
        graded = f"graded {self._graded_at}"
        if not self.filter_text:
            return graded
        fitting = sum(key > 0 for key in self.rows.listing.keys)
        return f"{fitting} of {len(self.card.controls)} · filter: {self.filter_text} · {graded}"

    def show_title(self) -> None:
        if self.card is not None:
            self.console_app.view_counts["harness"] = len(self.card.controls)
        super().show_title()
