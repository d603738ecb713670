"""Descriptors of what is shown: each kind of record declares its fields once, and every face derives from them.

A face names the fields that it shows, in its order: the table of a command, the lists, documents and dialogs of the
console. `--json` and its schema come from the same declaration. `sb/present/approvals.py` is an example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from importlib import import_module
from typing import Any, Generic, TypeVar

from sb.base.fitting import Cut, Span
from sb.base.sources import iso, iso_micros, micros
from sb.base.text import plain, revealed_line
from sb.base.values.frozen import frozen
from sb.present.states import State

T = TypeVar("T")
LONGEST_CELL = 1_000  # characters that are looked at, whatever the width
NAMED = 40  # cells of a list from which on it names agents, also beside a record
ROOMY = 84  # cells of a list from which on it has columns that are left out at 80
WIDE = 96  # cells of a list from which on there is room for what can be left out
# Kinds by the names that their JSON has in the schema, each with its module here and its name in that.
KINDS = {
    "access_token": ("rules", "TOKEN"),
    "agent_run": ("agent_runs", "AGENT_RUN"),
    "autonomy_level": ("autonomy", "LEVEL"),
    "autonomy_proposal": ("autonomy", "PROPOSAL"),
    "approval": ("approvals", "REQUEST"),
    "charter": ("rules", "CHARTER"),
    "contract": ("contracts", "CONTRACT"),
    "enrolled_operator": ("rules", "OPERATOR"),
    "grant": ("approvals", "GRANT"),
    "incident": ("incidents", "INCIDENT"),
    "judgement": ("outcomes", "JUDGEMENT"),
    "outcome_group": ("outcomes", "OUTCOME_GROUP"),
    "kill_in_force": ("incidents", "KILL"),
    "release": ("rules", "RELEASE"),
    "run": ("runs", "RUN"),
    "source": ("rules", "SOURCE"),
    "need": ("needs", "NEED"),
    "undo_record": ("undo", "UNDO"),
    "workflow": ("workflows", "WORKFLOW"),
    "workflow_step": ("workflows", "STEP"),
}


@frozen
class Column:
    """One column of a list.

    Args:
        width: in cells; 0 for what is left.
        least: shown in a list of so many cells or more.
        tone: of its texts that have none of their own.
        cut: where a text that is too long is cut.
        right: numbers and ages end at the same place.
        badges: plain words begin where the word of a badge does.
        most: cells to which it grows where the column that takes what is left has enough; 0 for never.
        enough: the cells of that column.
    """

    width: int = 0
    least: int = 0
    tone: str = ""
    cut: Cut = Cut.END
    right: bool = False
    badges: bool = False
    most: int = 0
    enough: int = 72
    title: str = ""


@frozen
class Cell:
    """One value in a row; its text cannot command a terminal.

    Args:
        tone: "" or the name of a color token.
        badge: filled, as wide as its column: it asks for an act.
        hits: characters that were searched for, each from the first to behind the last.
        keeps: words that stay in view where the text is cut in its middle.
        trend: numbers of a sparkline, each with whether something was refused; painted instead of the text.
        at: microseconds since the epoch, of a time: a command's table on a terminal shows its age instead.
    """

    text: str
    tone: str = ""
    badge: bool = False
    hits: tuple[Span, ...] = ()
    trend: tuple[tuple[int, bool], ...] = ()
    keeps: tuple[str, ...] = ()
    at: int | None = None

    def __post_init__(self) -> None:
        raw, text, hits, place = self.text[:LONGEST_CELL], "", [], 0
        for start, end in sorted(self.hits):
            text += plain(raw[place:start], one_line=True)
            hit = plain(raw[max(start, place) : end], one_line=True)
            if hit:
                hits.append((len(text), len(text) + len(hit)))
            text, place = text + hit, max(end, place)
        text += plain(raw[place:], one_line=True)
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "hits", tuple(hits))


def time_cell(text: str, at: datetime | str | None) -> Cell:
    """A time in a table, of a moment or its ISO 8601; the text alone for none."""
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    return Cell(text, at=None if moment is None else micros(moment.timestamp()))


@frozen
class Field(Generic[T]):
    """One thing that is shown of a record.

    Args:
        name: by which faces list it.
        read: its text, state or cell, at a time in microseconds since the epoch; "" where there is none. A state is
            filled in columns for badges.
        column: how a list of the console shows it.
        label: before it in a document or a dialog, where that is not its name.
        folded: a document leaves it out until it is unfolded, such as ids.
        title: of its column in a command's table, where that is not its name.
    """

    name: str
    read: Callable[[T, int], Cell | State | str]
    column: Column = Column()
    label: str = ""
    folded: bool = False
    title: str = ""

    @property
    def headed(self) -> Column:
        """Its column, with a title above it."""
        return replace(
            self.column, title=self.column.title or (self.label or self.title or self.name).lower()
        )

    def cell(self, record: T, now: int) -> Cell:
        """Its cell in a list."""
        value = self.read(record, now)
        if isinstance(value, State):
            return Cell(value.word, value.tone, value.badge and self.column.badges)
        return value if isinstance(value, Cell) else Cell(revealed_line(value), self.column.tone)


class Kind(Generic[T]):
    """One kind of record.

    Args:
        fields: all that is shown of it.
        faces: the names of the fields that each face shows, in its order, with commas between them.
        json: its fields in JSON with their types, as commands/interface.yaml notes them; fields of one type may share an
            entry, with spaces between them. Each is the attribute of that name, else the text that is shown under it;
            a time is in microseconds since the epoch, or ISO 8601 already. "+" takes over the fields of a type of
            commands/interface.yaml, from the record's own `to_dict` where it has one.
        computed: those that are neither, by name.
        stored: the part of a record that has the attributes.
    """

    def __init__(
        self,
        *fields: Field[T],
        faces: Mapping[str, str],
        json: Mapping[str, Any] | None = None,
        computed: Mapping[str, Callable[[T, int], Any]] | None = None,
        stored: Callable[[T], Any] = lambda record: record,
    ) -> None:
        self.fields = {field.name: field for field in fields}
        self.faces = {
            face: tuple(self.fields[name] for name in names.split(",")) for face, names in faces.items()
        }
        self.columns = {
            face: tuple(field.headed if len(shown) > 1 else field.column for field in shown)
            for face, shown in self.faces.items()
        }
        self.json = {name: of for names, of in (json or {}).items() for name in names.split()}
        self.computed, self.stored = computed or {}, stored

    def titles(self, face: str = "table") -> tuple[str, ...]:
        """The titles of a table's columns."""
        return tuple(field.title or field.name for field in self.faces[face])

    def row(self, record: T, now: int, face: str = "table") -> tuple[Cell | str, ...]:
        """A record as a row of a command's table, with texts as long as they are."""
        values = (field.read(record, now) for field in self.faces[face])
        return tuple(it if isinstance(it, Cell) else revealed_line(_text(it)) for it in values)

    def cells(self, record: T, now: int, face: str = "table") -> tuple[Cell, ...]:
        """A record as a line of a list."""
        return tuple(field.cell(record, now) for field in self.faces[face])

    def text(self, record: T, now: int, name: str) -> str:
        """The whole text of one field."""
        return _text(self.fields[name].read(record, now))

    def facts(self, record: T, now: int, face: str) -> Iterator[tuple[Field[T], str, str]]:
        """The fields of a document or a dialog that have a text, each with that, as long as it is, and its tone."""
        for field in self.faces[face]:
            value = field.read(record, now)
            if text := _text(value):
                yield field, text, "" if isinstance(value, str) else value.tone

    def to_dict(self, record: T, now: int = 0) -> dict[str, Any]:
        """A record as plain JSON, with times in ISO 8601."""
        stored = self.stored(record)
        document: dict[str, Any] = {}
        if "+" in self.json:
            document = stored.to_dict() if hasattr(stored, "to_dict") else plain_json(stored)
        for name, shape in self.json.items():
            if name in self.computed:
                document[name] = self.computed[name](record, now)
            elif name != "+":
                has = hasattr(stored, name)
                document[name] = (
                    plain_json(getattr(stored, name), shape) if has else self.text(record, now, name)
                )
        return document


def _text(value: Cell | State | str) -> str:
    return value if isinstance(value, str) else value.word if isinstance(value, State) else value.text


def plain_json(value: Any, shape: Any = None) -> Any:
    """A value as commands print it in JSON: every field, times in UTC; an integer of shape "time" is in microseconds."""
    if isinstance(value, int) and shape in ("time", "time|null"):
        return iso_micros(value)
    if isinstance(value, datetime):
        return iso(value.timestamp())
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(name): plain_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    return str(value) if isinstance(value, str) else value  # of a StrEnum its word


def kinds() -> dict[str, Kind[Any]]:
    """Every kind by its name in the schema of `--json`."""
    return {
        name: getattr(import_module(f"sb.present.{module}"), attribute)
        for name, (module, attribute) in KINDS.items()
    }
