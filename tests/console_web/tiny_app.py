"""A console of one row, which says in which process it runs and whose signatures it can get."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from sb.screens.signing_agent import SOCKET_VARIABLE, remote_decider
from textual.app import App, ComposeResult
from textual.widgets import DataTable

STATEMENT = b'{"approval":"a1"}'


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
        decider = remote_decider(Path(os.environ[SOCKET_VARIABLE]))
        signed = {"key_id": decider.key_id, "signature": decider.sign(STATEMENT)}
        Path(os.environ["SB_HOME"], "signed.json").write_text(json.dumps(signed), encoding="utf-8")
        return decider.name

    def action_fail(self) -> None:
        raise RuntimeError("broken \x1b]0;title\x07 on purpose")

    def action_deliver(self) -> None:
        path = Path(os.environ["SB_HOME"], "export.html")
        path.write_text("<script>alert(1)</script>", encoding="utf-8")
        self.deliver_text(path, open_method="browser", mime_type="text/html")


if __name__ == "__main__":
    TinyApp().run()
