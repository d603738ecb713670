"""The stacks of a database: list, count, make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import orjson

from sb.base.text import LONGEST_NAME, nearest, plain
from sb.base.values.frozen import frozen
from sb.errors import NotFoundError, UsageError
from sb.memory.consent import ungranted
from sb.memory.masking import refuse_secret
from sb.memory.views import View
from sb.protocols.types import MemoryType, StackState
from sb.stack.views import VIEWS
from sb.store.database import Database
from sb.store.records.columns import ACTIVE, FORGOTTEN
from sb.store.records.places import Places
from sb.store.records.store import RecordStore

DEFAULT = "default"  # the stack of every Brain, unless it is told of another one
_SHOWN = frozenset(MemoryType)


@frozen
class StackEntry(View):
    """One stack.

    Args:
        state: whether it belongs to a core yet, and takes memories.
        memories: how many are present. kinds: how many there are of each kind, as the stack shows them.
        forgotten: how many no search finds. private: how many of all these only one core may read.
    """

    stack_id: str
    state: str
    memories: int
    kinds: Mapping[str, int]
    forgotten: int
    private: int


def all_stacks(
    database: Database, *, core: str | None = None, scopes: Collection[str] | None = None
) -> list[StackEntry]:
    """Every stack, by name; reads all records once.

    Args:
        core: count what this core may read; everything for None. scopes: count these alone; all of them for None.
    """
    states: dict[str, str] = dict(database.query("SELECT name, state FROM stacks"))
    places = Places(database).all()
    names = sorted({*states, *(place.stack for place in places.values())})
    kinds: dict[str, Counter[str]] = {name: Counter() for name in names}
    forgotten, private = Counter[str](), Counter[str]()
    ungranted = Counter[tuple[int, str, str]]() if core is None else _ungranted(database, places, core)
    for number, own_kind, state, of_all in RecordStore(database).counts():
        count = of_all - ungranted[number, own_kind, state]
        place, kind = places[number], VIEWS[own_kind].kind if own_kind in VIEWS else own_kind
        if not count or kind not in _SHOWN or (core is not None and place.owner not in ("", core)):
            continue
        if scopes is not None and place.scope not in scopes:
            continue
        if state == ACTIVE:
            kinds[place.stack][kind] += count
        elif state == FORGOTTEN:
            forgotten[place.stack] += count
        else:
            continue
        private[place.stack] += count if place.owner else 0
    return [
        StackEntry(
            name,
            states.get(name, StackState.INITIALIZING.value),
            kinds[name].total(),
            dict(kinds[name].most_common()),
            forgotten[name],
            private[name],
        )
        for name in names
    ]


def _ungranted(database: Database, places: Collection[int], core: str) -> Counter[tuple[int, str, str]]:
    """Counts, by place, kind and state, the records that name readers without this core, or people who did not agree."""
    hidden = ungranted(database, places, (core,))
    rows = database.query(
        "SELECT place, kind, state, count(*) FROM records WHERE id IN (SELECT value FROM json_each(?))"
        " GROUP BY place, kind, state",
        (orjson.dumps(hidden).decode(),),
    )
    return Counter({(place, kind, state): count for place, kind, state, count in rows})


def one_stack(
    database: Database, stack_id: str, *, core: str | None = None, scopes: Collection[str] | None = None
) -> StackEntry:
    """One of them.

    Raises:
        NotFoundError: there is none of that name.
    """
    found = all_stacks(database, core=core, scopes=scopes)
    for entry in found:
        if entry.stack_id == stack_id:
            return entry
    raise _missing(stack_id, [entry.stack_id for entry in found])


def require_stack(database: Database, stack_id: str) -> None:
    """Refuse a name that no stack has, so that a slip of the keyboard makes none; the default one is always there.

    Raises:
        NotFoundError: there is none of that name.
    """
    known = stack_names(database)
    if stack_id != DEFAULT and stack_id not in known:
        raise _missing(stack_id, known)


def stack_names(database: Database) -> list[str]:
    """The names of all stacks."""
    return [
        name
        for (name,) in database.query("SELECT name FROM stacks UNION SELECT stack FROM places ORDER BY 1")
    ]


def make_stack(database: Database, stack_id: str) -> None:
    """Make an empty stack, which belongs to no core yet.

    Raises:
        UsageError: there is one of that name, or it cannot be a name.
    """
    if not stack_id.strip() or len(stack_id) > LONGEST_NAME or plain(stack_id, one_line=True) != stack_id:
        raise UsageError(
            f"{plain(stack_id, one_line=True)[:LONGEST_NAME]!r} cannot be the name of a stack",
            f"one line of at most {LONGEST_NAME} characters",
        )
    try:
        refuse_secret("the name", stack_id)
    except ValueError as error:
        raise UsageError(str(error)) from None
    with database.write() as execute:
        if stack_id in stack_names(database):
            raise UsageError(f"stack {stack_id!r} already exists", "choose another name, or use it as it is")
        execute("INSERT INTO stacks (name, state) VALUES (?, ?)", (stack_id, StackState.INITIALIZING.value))


def _missing(stack_id: str, known: list[str]) -> NotFoundError:
    return NotFoundError(f"no stack {stack_id!r}{nearest(stack_id, known)}", "sb stack list")
