"""What can be done or opened by typing its name?"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from sb.screens.reading import safe
from sb.screens.section import Section
from textual.command import DiscoveryHit, Hit, Hits, Provider

CHECKPOINT = r"\S+_\d{8}_\d{6}_\d{6}_[0-9a-f]{8}"
MEMORY = r"(?:mem|sug)_[0-9a-z_]{4,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # those of cores are UUIDs
_RECORD = re.compile(rf"(?:call|run|apr|esc|mut)_[0-9a-z_]{{4,}}|\d{{1,12}}|{MEMORY}|{CHECKPOINT}")


class ConsoleCommands(Provider):
    """The actions that can be taken now, the screens, and any record by its id."""

    async def discover(self) -> Hits:
        for text, help_text, command in self._commands():
            yield DiscoveryHit(safe(text), command, text=text, help=help_text)

    async def search(self, query: str) -> Hits:
        section = self.screen
        if isinstance(section, Section):
            reference, app = query.strip(), section.console_app
            if _RECORD.fullmatch(reference):
                text = f"open {reference}"
                yield Hit(1.0, safe(text), partial(app.open_reference, reference), text=text)
            text = f"search the log for {reference}"
            yield Hit(0.1, safe(text, one_line=True), partial(app.find_on, "log", reference), text=text)
        matcher = self.matcher(query)
        for text, help_text, command in self._commands():
            score = matcher.match(text)
            if score > 0:
                yield Hit(score, matcher.highlight(text), command, text=text, help=help_text)

    def _commands(self) -> list[tuple[str, str, Callable[[], object]]]:
        return self.screen.console_app.commands() if isinstance(self.screen, Section) else []
