"""The handler of findings: what is not enforced, and the command that mends it."""

from __future__ import annotations

from collections.abc import Callable

from sb.screens.deciding import Deciding
from sb.screens.handlers.handler import Handler
from sb.screens.state.document import Document, Field

from sb.kernel.review.findings import Finding
from sb.present.needs import Need


class FindingHandler(Handler[Finding]):
    """Shows findings; nothing is decided about one.

    Args:
        find: the need of a finding, by its name.
    """

    title = "Not enforced"

    def __init__(
        self, screen: Deciding, changed: Callable[[], None], find: Callable[[str], Need | None]
    ) -> None:
        super().__init__(screen, changed)
        self._find = find

    def load(self, reference: str) -> Finding | None:
        need = self._find(reference)
        return need.about if need is not None and isinstance(need.about, Finding) else None

    def document(self) -> Document:
        if self.item is None:
            return []
        return [Field(self.item.name), Field("", self.item.detail), Field("Do", self.item.hint)]

    def command(self) -> str:
        return self.item.hint if self.item else ""
