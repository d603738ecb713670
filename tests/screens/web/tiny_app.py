"""A console of one row, which says in which process it runs and who decides for it; it approves what waits."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from textual.app import App, ComposeResult
from textual.widgets import DataTable


class TinyApp(App[None]):
    BINDINGS = [("q", "quit", "Quit"), ("x", "fail", "Fail"), ("d", "deliver", "Deliver")]

    def compose(self) -> ComposeResult:
        table: DataTable[str] = DataTable()
        table.add_columns("what", "who")
        table.add_row(f"process={os.getpid()};", f"signer={self._signer()};")
        yield table

    def _signer(self) -> str:
        if "--read-only" in sys.argv:
            return "nobody"
        # half of what a tab's start takes, and most sign nothing
        from sb.screens.state.records import Records
        from sb.screens.state.signer import Signer

        from sb.config import current_config

        records = Records(current_config())
        try:
            decider = Signer(records).decider(str)
            approvals = records.approvals()
            (waiting,) = approvals.page()
            shown = approvals.disclose(waiting).digest
            approvals.approve(waiting.id, decider, "the bill is right", displayed=shown)
        finally:
            records.close()
        return decider.name

    def action_fail(self) -> None:
        raise RuntimeError("broken \x1b]0;title\x07 on purpose")

    def action_deliver(self) -> None:
        path = Path(os.environ["SB_HOME"], "export.html")
        path.write_text("<script>alert(1)</script>", encoding="utf-8")
        self.deliver_text(path, open_method="browser", mime_type="text/html")


if __name__ == "__main__":
    TinyApp().run()
