"""The lines of the Inbox: groups of what is alike, those that are open, and what was read of today."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sb.screens.state.listing import Row, row_of
from sb.screens.state.records import Records

from sb.base.fitting import Cut, count
from sb.errors import SBError
from sb.kernel.review.findings import Finding, Status
from sb.present.effects import BETWEEN
from sb.present.home import enforced
from sb.present.kind import Cell, Column
from sb.present.needs import NEED, Need, finding_need, kill_need
from sb.present.overview import AtWork
from sb.present.usage import money_text

if TYPE_CHECKING:
    from sb.operator.attention.inbox import Group, Waiting

NOTHING = "Nothing waits for you.\n\nCalls that need your approval appear here; 3 shows what agents do."


class InboxLines:
    """Lines of the Inbox, each under a number that stays its own.

    A group of several entries has a line, and one for each entry while it is open. Stops, and what is not enforced,
    follow the groups.
    """

    def __init__(self) -> None:
        self.keys: list[int] = []
        self._groups: Sequence[Group] = ()
        self._below: Sequence[Need] = ()
        self._with_below = True
        self._open: set[str] = set()  # keys of groups
        self._numbers: dict[str, int] = {}
        self._outcomes: dict[str, tuple[int, str, str]] = {}  # by key: place of its line, what came, its id
        self._group_at: dict[int, Group] = {}
        self._entry_at: dict[int, Waiting | Need] = {}

    @property
    def total(self) -> int:
        """The number of things that wait; under a filter of those that fit."""
        below = len(self._below) if self._with_below else 0
        return sum(len(group.entries) for group in self._groups) + below

    def show(self, groups: Sequence[Group], *, below: bool = True) -> None:
        """Take these groups for what waits.

        Args:
            below: list also what stands below them.
        """
        self._groups, self._with_below = groups, below
        self._arrange()

    def show_below(self, needs: Sequence[Need]) -> None:
        """Take these needs for what stands below the groups."""
        self._below = needs
        self._arrange()

    def _arrange(self) -> None:
        self._group_at, self._entry_at, self.keys = {}, {}, []
        for group in self._groups:
            if len(group.entries) > 1:
                number = self._number(f"group {_key(group)}")
                self._group_at[number] = group
                self.keys.append(number)
            if len(group.entries) == 1 or _key(group) in self._open:
                self._list(group.entries)
        if self._with_below:
            self._list(self._below)
        for key, (place, _, _) in self._outcomes.items():
            if self._numbers[key] not in self.keys:
                self.keys.insert(min(place, len(self.keys)), self._numbers[key])

    def _list(self, entries: Iterable[Waiting | Need]) -> None:
        for entry in entries:
            number = self._number(entry.key)
            self._entry_at[number] = entry
            self.keys.append(number)

    def _number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers) + 1)

    def keep(self, reference: str, text: str) -> None:
        """Let the line of what was decided say what came of it, until the lines are shown anew."""
        entry = next((it for it in self._entry_at.values() if it.reference == reference), None)
        if entry is not None:
            self._outcomes[entry.key] = self.keys.index(self._numbers[entry.key]), text, reference

    def clear_outcomes(self) -> None:
        """Leave out what was decided."""
        self._outcomes.clear()
        self._arrange()

    @property
    def decided(self) -> frozenset[int]:
        """The lines of what was decided."""
        return frozenset(self._numbers[key] for key in self._outcomes) - self._entry_at.keys()

    def outcome(self, number: int | None) -> tuple[str, str]:
        """The outcome of the decision about a line, and the id of what was decided; "" where it still waits."""
        known = (more for key, (_, *more) in self._outcomes.items() if self._numbers[key] == number)
        text, reference = next(known, ("", "")) if number in self.decided else ("", "")
        return text, reference

    def group(self, number: int | None) -> Group | None:
        """The group whose own line this is."""
        return self._group_at.get(number or 0)

    def entry(self, number: int | None) -> Waiting | Need | None:
        """The entry of a line; of a group's its first."""
        group = self.group(number)
        return group.entries[0] if group else self._entry_at.get(number or 0)

    def entries_of(self, numbers: Iterable[int]) -> list[Waiting | Need]:
        """The entries of lines; of a group's all of them."""
        return list({entry.key: entry for number in numbers for entry in self._behind(number)}.values())

    def _behind(self, number: int) -> Iterator[Waiting | Need]:
        group, entry = self.group(number), self._entry_at.get(number)
        if group is not None:
            yield from group.entries
        elif entry is not None:
            yield entry

    def waiting_of(self, numbers: Iterable[int]) -> list[Waiting]:
        """Entries of lines that have to be described; of a group's line its first."""
        entries = [entry for number in numbers if (entry := self.entry(number))]
        return [entry for entry in entries if not isinstance(entry, Need)]

    def toggle(self, number: int) -> None:
        """Open the group of a line, or close it."""
        group = self.group(number)
        if group is not None:
            self._open ^= {_key(group)}
            self._arrange()

    def number_of(self, reference: str) -> int | None:
        """The line of what has this id, after its group was opened; None if it does not wait."""
        for group in self._groups:
            found = next((entry for entry in group.entries if entry.reference == reference), None)
            if found is not None:
                if len(group.entries) > 1 and _key(group) not in self._open:
                    self._open.add(_key(group))
                    self._arrange()
                return self._numbers[found.key]
        return next((self._numbers[need.key] for need in self._below if need.reference == reference), None)

    def rows(self, numbers: Iterable[int], needs: Mapping[str, Need], now: int) -> dict[int, Row]:
        """The rows of lines, as far as what they are about was read; `now` in microseconds since the epoch."""
        below = {need.key: need for need in self._below}
        rows = {}
        for key, (_, text, _) in self._outcomes.items():
            if (number := self._numbers[key]) in self.decided:
                rows[number] = _outcome_row(needs.get(key) or below.get(key), text)
        for number in numbers:
            entry, group = self.entry(number), self.group(number)
            need = (needs.get(entry.key) or below.get(entry.key)) if entry else None
            if need is None or entry is None:
                continue
            if group is not None:
                rows[number] = self._group_row(group, need, now)
            else:
                inside = any(entry in group.entries for group in self._groups if _key(group) in self._open)
                row = row_of(NEED, need, now)
                rows[number] = Row(row.cells, depth=int(inside), columns=row.columns)
        return rows

    def _group_row(self, group: Group, first: Need, now: int) -> Row:
        parts = (group.label, count(len(group.entries)), _paid(group))
        shown = replace(first, object=BETWEEN.join(filter(None, parts)), why="")
        cells = NEED.cells(shown, now, "list")
        return Row(cells, fold=_key(group) in self._open, columns=NEED.columns["list"])


def _outcome_row(need: Need | None, text: str) -> Row:
    """The line of what was decided."""
    word, _, rest = text.partition(": ")
    state, sentence = (word.lower(), rest) if word.isalpha() else ("done", text)
    about = need.object if need else ""
    cells = (Cell(state, "soft"), Cell(sentence if about in sentence else f"{sentence} · {about}", "soft"))
    return Row(cells, columns=(NEED.columns["list"][0], Column(cut=Cut.END)))


def _paid(group: Group) -> str:
    """The sum of a group's payments and the largest amount; "" where they are not all of one currency."""
    amounts = [it.stake.amount for it in group.entries if it.stake.amount is not None]
    if len(amounts) < len(group.entries) or len({it.stake.scale for it in group.entries}) > 1:
        return ""
    currency = group.entries[0].stake.currency
    return f"{money_text(sum(amounts), currency)}, up to {money_text(max(amounts), '')}"


def _key(group: Group) -> str:
    return group.entries[0].group


def fitting(groups: Sequence[Group], text: str, now: int) -> Sequence[Group]:
    """The groups with what fits a filter; raises UsageError where it is none. `now` in microseconds."""
    if not text:
        return groups
    from sb.operator.filters import INBOX, Filter  # for which the first rows need not wait

    fits = Filter.parse(text, INBOX).inbox(now)
    left = (replace(group, entries=tuple(filter(fits, group.entries))) for group in groups)
    return [group for group in left if group.entries]


def at_work(records: Records) -> AtWork:
    """The acts of agents; the first time the calls of a day are counted for it."""
    with records.overview() as overview:
        return overview.at_work()


def thoroughly(records: Records) -> list[Need]:
    """Stops and what is not enforced, which take longer: signatures are checked, and tools loaded."""
    from sb.operator.attention.summary import (
        findings,  # with all tools, for which the first rows need not wait
    )

    standing = list(findings(records.config, records.log("inbox"), records.authority("inbox")))
    off = (finding for finding in enforced(standing).off if not _unsigned(finding))
    return [*_kills(records), *map(finding_need, off)]


def _kills(records: Records) -> Iterator[Need]:
    """Active kills, the newest first."""
    try:
        yield from map(kill_need, records.kill_switch("inbox").active()[::-1])
    except SBError as error:
        yield finding_need(
            Finding("stops", Status.FAIL, f"every call is denied: {error.message}", error.hint)
        )


def _unsigned(finding: Finding) -> bool:
    """True if it says that nobody is enrolled, which the tabs' line says on every screen."""
    return finding.name == "assurance" and finding.status is Status.WARN
