"""The console's style sheet, which is parsed once for each theme."""

from __future__ import annotations

from textual.css.stylesheet import Stylesheet


class ConsoleStyleSheet(Stylesheet):
    """Keeps the rules of each source while the variables stay the same.

    Textual parses every source again, twice, when a screen is shown for the first time: 40 ms in which no key is read.
    """

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        self.parse()
