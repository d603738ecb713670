"""The driver of a browser tab's app, which ends with its server."""

from __future__ import annotations

import os
import signal

from textual.drivers.web_driver import WebDriver


class TabDriver(WebDriver):
    """Textual's driver for a browser, which on its own reads on for ever when the server was killed."""

    def run_input_thread(self) -> None:
        super().run_input_thread()
        if not self.exit_event.is_set():
            os.kill(os.getpid(), signal.SIGTERM)  # the driver ends the app in order on it
