"""Questions before a decision."""

from __future__ import annotations

from sb.base.text import revealed_line
from sb.base.values.frozen import frozen

MOST_OBJECTS = 6  # of what is denied, revoked or forgotten; what is approved is listed in full


@frozen
class Question:
    """One decision in two steps: the reason, then the confirmation.

    Args:
        title: the verb, and of several records their number.
        objects: what exactly is decided, a text each; none of them begins another line.
        facts: names and values below them, such as effect, agent, place and undo.
        consequence: what follows, and what takes it back.
        records: the ids of what is decided; a reason that was not used comes back with the same ones.
        word: has to be typed in the second step; "" where `y` is enough.
        refused: why there is no second step, such as what a dry run says; "" where there is one.
        does: what `y` does, in the line of keys. tone: of border and title, "ok" or "danger"; "" for neither.
        revealed: the objects with their secrets, which a key shows in the second step; () where none is hidden.
        looks: for each object `del` or `add` where a change removes or adds it, which its first character says too.
    """

    title: str
    objects: tuple[str, ...]
    facts: tuple[tuple[str, str], ...] = ()
    consequence: str = ""
    records: tuple[str, ...] = ()
    word: str = ""
    refused: str = ""
    looks: tuple[str, ...] = ()
    revealed: tuple[str, ...] = ()
    does: str = "does it"
    tone: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", revealed_line(self.title))
        object.__setattr__(self, "objects", tuple(map(revealed_line, self.objects)))
        object.__setattr__(self, "revealed", tuple(map(revealed_line, self.revealed)))
        object.__setattr__(
            self, "facts", tuple((name, revealed_line(text)) for name, text in self.facts if text)
        )
        object.__setattr__(self, "refused", revealed_line(self.refused))
        object.__setattr__(self, "consequence", revealed_line(self.consequence))
        if len(self.records) > 1 and not self.word:
            object.__setattr__(self, "word", str(len(self.records)))

    @property
    def key(self) -> str:
        """By which a reason that was not used is found again, for the same decision about the same records."""
        return "\n".join((self.title, *self.records))


def some(texts: list[str], count: int) -> tuple[str, ...]:
    """The first of so many texts, then how many are left out."""
    more = [f"and {count - MOST_OBJECTS:,} more"] if count > MOST_OBJECTS else []
    return (*texts[:MOST_OBJECTS], *more)
