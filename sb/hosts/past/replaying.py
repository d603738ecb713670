"""Replay changes of a file backwards, from what it holds now, to see which of them brought each line.

A change that wrote a whole file has brought each of its lines that no earlier one did. Where something else changed the
file in between, such as a formatter, a text may be gone: then lines that stand in the file once are still recognised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sb.hosts.past.aligning import aligned
from sb.hosts.past.changes import Change, Replacement

MOST_WORK = 500_000_000  # characters that one replay goes through, a few seconds
_LINES_COST = 60  # times what a character costs that is only looked through: its lines are aligned
_SHORTEST = 4  # characters of a line that says by itself where it comes from
_MOST_PLACES = 1_000  # occurrences of one text


class Replay:
    """Origin of each line: the change that brought it.

    Args:
        content: of the file now, with line feeds. changes: in the order in which they were made.
        most: characters to go through.
    """

    def __init__(self, content: str, changes: Sequence[Change], *, most: int = MOST_WORK) -> None:
        self.lines = content.split("\n")
        self.origins: list[int | None] = [None] * len(self.lines)  # the number of a change
        self.sure = [True] * len(self.lines)
        self.complete = True  # whether every change was looked at
        self._state = list(self.lines)
        self._place: list[int | None] = list(
            range(len(self.lines))
        )  # of a line of the state, in the file now
        self._text = content  # the state in one piece; "" once that is out of date
        self._left = most
        self._size = len(content)
        for number in reversed(range(len(changes))):
            self._undo(number, changes[number])

    def _undo(self, number: int, change: Change) -> None:
        if change.content is not None:
            if self._affords(_LINES_COST * len(change.content)):
                self._written(number, change.content.split("\n"))
            return
        for replacement in reversed(change.replacements):
            if replacement.new and self._affords(len(replacement.old) + len(replacement.new)):
                self._replaced(number, replacement)

    def _affords(self, size: int) -> bool:
        self._left -= self._size + size + 1_000
        self.complete = self.complete and self._left >= 0
        return self._left >= 0

    def _written(self, number: int, before: list[str]) -> None:
        """Go back over a change that wrote the whole file."""
        places: list[int | None] = [None] * len(before)
        for at, there in enumerate(aligned(self._state, before)):
            place = self._place[at]
            if there is not None:
                places[there] = place
                self._claim(place, number)
        self._state, self._place, self._text = before, places, ""
        self._size = sum(map(len, before)) + len(before)

    def _replaced(self, number: int, change: Replacement) -> None:
        text = self._text = self._text or "\n".join(self._state)
        at = text.find(change.new)
        if at < 0:
            self._recognise(number, change)
            return
        places = [at]
        while (at := text.find(change.new, at + len(change.new))) >= 0 and len(places) < _MOST_PLACES:
            places.append(at)
        if not change.every and len(places) > 1:
            places = [next((at for at in places if self._is_free(text, at, change)), places[0])]
            sure = False
        else:
            sure = True
        for at in reversed(places):
            if not self._affords(0):
                return
            self._put_back(number, at, change, sure=sure)

    def _is_free(self, text: str, at: int, change: Replacement) -> bool:
        """True if no later change brought these lines."""
        first = text.count("\n", 0, at)
        places = self._place[first : first + change.new.count("\n") + 1]
        return all(place is not None and self.origins[place] is None for place in places)

    def _put_back(self, number: int, at: int, change: Replacement, *, sure: bool) -> None:
        text, end = self._text, at + len(change.new)
        first = text.count("\n", 0, at)
        last = first + change.new.count("\n") + 1
        line_end = text.find("\n", end)
        head = text[text.rfind("\n", 0, at) + 1 : at]
        tail = text[end : line_end if line_end >= 0 else len(text)]
        before = f"{head}{change.old}{tail}".split("\n")
        places: list[int | None] = [None] * len(before)
        for offset, there in enumerate(aligned(self._state[first:last], before)):
            place = self._place[first + offset]
            if there is not None:
                places[there] = place
            else:
                self._claim(place, number, sure=sure)
        self._state[first:last], self._place[first:last] = before, places
        self._text = f"{text[:at]}{change.old}{text[end:]}"
        self._size += len(change.old) - len(change.new)

    def _recognise(self, number: int, change: Replacement) -> None:
        """Find the lines of a text that is gone as a whole, where they stand in the file once."""
        fresh = set(change.new.split("\n")) - set(change.old.split("\n"))
        there = [(at, line) for at, line in enumerate(self._state) if line in fresh]
        times = Counter(line for _, line in there)
        for at, line in there:
            if times[line] == 1 and len(line.strip()) >= _SHORTEST:
                self._claim(self._place[at], number, sure=False)
                self._place[at] = None

    def _claim(self, place: int | None, number: int, *, sure: bool = True) -> None:
        if place is not None:
            self.origins[place], self.sure[place] = number, sure
