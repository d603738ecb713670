"""Files that a line writes before it runs them: what they hold, as far as the line tells."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from sb.shell.inputs import NOT_KNOWN, Input
from sb.shell.rules import operands

_MOST = 64  # files of one line
_COPIES = frozenset(("cp", "mv", "ln", "install"))


class ScriptFiles:
    """What a line has written to files so far, by their absolute paths.

    Attributes:
        ran: the paths of scripts that the line runs.
    """

    def __init__(self) -> None:
        self._contents: dict[str, Input] = {}
        self.ran: dict[str, None] = {}

    def write(self, places: Iterable[str], content: Input, *, append: bool = False) -> None:
        """Note the content that files are given; more of them than fit are taken for unknown."""
        for place in places:
            before = self._contents.get(place)
            if append and before is not None:
                known = before.kind == content.kind == "text"
                merged = Input("text", f"{before.text}\n{content.text}") if known else NOT_KNOWN
            else:
                merged = content if content.kind == "text" else NOT_KNOWN
            self._contents[place] = merged if len(self._contents) < _MOST else NOT_KNOWN

    def copy(self, program: str, arguments: Sequence[str], places: Sequence[Sequence[str]]) -> None:
        """Note that a program gives written files another name.

        Args:
            places: the absolute paths of each operand.
        """
        if program not in _COPIES or len(places) < 2 or not self._contents:
            return
        names = [arguments[at] for at in operands(arguments)]
        for name, sources in zip(names[:-1], places[:-1], strict=False):
            for content in [self._contents[source] for source in sources if source in self._contents]:
                inside = [os.path.join(place, os.path.basename(name)) for place in places[-1]]
                self.write((*places[-1], *inside), content)

    def content(self, places: Iterable[str]) -> Input | None:
        """What the line has written to the file that it runs; None if it has not written it."""
        places = list(places)
        self.ran.update(dict.fromkeys(places))
        return self.text_of(places)

    def text_of(self, places: Iterable[str]) -> Input | None:
        """What the line has written to a file; None if it has not written it."""
        return next((self._contents[place] for place in places if place in self._contents), None)
