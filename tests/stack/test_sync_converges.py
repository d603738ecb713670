"""Whatever is done in whichever copy, in whatever order they meet: in the end all say the same, and nothing was lost."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.protocols import SyncResult
from sb.protocols.types import SyncConflict
from sb.store.database import database_files, open_database
from tests.rounds import rounds
from tests.stack.copies import Copy, home

WHERE = st.sampled_from([0, 1, 2])
WHAT = st.sampled_from(["content", "tags", "reason", "confidence"])
KINDS = st.sampled_from(
    ["edit"] * 4 + ["sync"] * 4 + ["resolve", "forget", "note", "erase", "back up", "put back"]
)
STEP = st.tuples(KINDS, WHERE, WHERE, WHAT)
PARTS = ("text", "tags", "fields.reason", "trust")
Value = tuple[str, str, str]  # a note, a part of it, and what that says
KEEPS = ("local", "remote", "both")


class Group:
    """Some copies, and what was ever said in any of them.

    `knew` says of each value which others whoever said it had seen by then: these, and no others, may it replace elsewhere.
    """

    def __init__(self, folder: Path, number: int, blank: Path) -> None:
        config = home(folder / "home")
        for name in range(number):
            shutil.copyfile(blank, folder / f"{name}.db")  # to make one takes longer
        self.copies = [
            Copy(folder / f"{name}.db", config=config, ahead_s=1000.0 * (name - 1)) for name in range(number)
        ]
        self.ids: list[str] = []
        self.erased: set[str] = set()
        self.counter = itertools.count(1)
        self.knew: dict[Value, set[Value]] = defaultdict(set)
        self.seen: dict[int, set[Value]] = defaultdict(set)  # what each copy has held, or chosen from
        self.backups: dict[int, tuple[bytes, set[Value]]] = {}
        for _ in range(2):
            self.do(("note", 0, 0, ""))
        for other in self.copies[1:]:
            self.meet(self.copies[0], other)

    def values_of(self, copy: Copy) -> dict[tuple[str, str], Value]:
        """The values of a copy, by note and part."""
        return {
            (uid, part): (uid, part, repr(item.get(part)))
            for uid, item in copy.state().items()
            if item is not None
            for part in PARTS
        }

    def look(self, copy: Copy) -> None:
        """Note what a copy says by now, and what it knew when it came to say that."""
        number = self.copies.index(copy)
        for value in self.values_of(copy).values():
            if value not in self.knew:
                self.knew[value] |= self.seen[number]
            self.seen[number] |= {value, *self.knew[value]}

    def meet(self, copy: Copy, other: Copy) -> SyncResult:
        """Let two copies meet; what is replaced was known to whoever replaced it."""
        before = {entry: self.values_of(entry) for entry in (copy, other)}
        result = copy.with_remote(other).sync()
        for item, values in before.items():
            for place, value in self.values_of(item).items():
                former = values.get(place, value)
                assert former == value or former in self.knew[value], f"{former} was lost to {value}"
            self.look(item)
        return result

    def choose(self, copy: Copy, conflict: SyncConflict, keep: Any) -> None:
        """Resolve a conflict, knowing both sides of it."""
        uid = conflict.record_id
        document = copy.database.query("SELECT document FROM sync_conflicts WHERE id = ?", (conflict.id,))
        theirs = orjson.loads(document[0][0])["parts"]
        mine = copy.state()[uid]
        copy.stack.resolve_conflict(conflict.id, keep, "as the test says")
        values = {(uid, part, repr(item.get(part))) for item in (mine, theirs) for part in PARTS}
        known = values | {item for value in values for item in self.knew[value]}
        self.seen[self.copies.index(copy)] |= known
        for value in self.values_of(copy).values():
            if value[0] == uid:
                self.knew[value] |= known
        self.look(copy)

    def do(self, step: tuple[str, int, int, str]) -> None:
        kind, where, which, what = step
        copy = self.copies[where % len(self.copies)]
        if kind == "note" and len(self.ids) < 3:
            self.ids.append(copy.note(f"text {next(self.counter)}"))
            self.look(copy)
        elif kind == "sync":
            other = self.copies[which % len(self.copies)]
            if other is not copy:
                self.meet(copy, other)
        elif kind == "resolve":
            for conflict in copy.stack.conflicts()[: which + 1]:
                self.choose(copy, conflict, KEEPS[which % 3])
        elif kind == "back up":
            copy.database.rewrite()
            self.backups[self.copies.index(copy)] = (
                copy.path.read_bytes(),
                set(self.seen[self.copies.index(copy)]),
            )
        elif kind == "put back":
            self._put_back(self.copies.index(copy))
        elif kind in ("edit", "forget", "erase") and which < len(self.ids):
            self._change(kind, copy, self.ids[which], what)

    def _change(self, kind: str, copy: Copy, uid: str, what: str) -> None:
        if copy.read(uid) is None:
            return
        number = next(self.counter)
        if kind == "forget":
            copy.stack.forget_memory("note", uid, "noise")
        elif kind == "erase" and number % 3 == 0:
            copy.erase(uid)
            self.erased.add(uid)
        else:
            values: dict[str, Any] = {"tags": [f"t{number}"], "confidence": number / 1000}
            copy.edit(uid, **{what: values.get(what, f"text {number}")})
        self.look(copy)

    def _put_back(self, number: int) -> None:
        """Let a copy be what it was when it was backed up; what only it knew since is lost with it."""
        if number not in self.backups:
            return
        content, self.seen[number] = self.backups[number]
        former = self.copies[number]
        former.close()
        for path in database_files(former.path):
            path.unlink(missing_ok=True)
        former.path.write_bytes(content)
        copy = self.copies[number] = Copy(former.path, config=former.config)
        copy.clock.time = former.clock.time
        self.seen[number] = set(self.seen[number])
        states = [item.state() for item in self.copies]
        self.ids = [uid for uid in self.ids if any(uid in state for state in states)]
        self.erased = {uid for uid in self.erased if any(state.get(uid, 0) is None for state in states)}

    def settle(self) -> None:
        """Let all meet, and somebody choose, until nothing is left to be said."""
        for _ in range(8):
            done = 0
            for copy, other in itertools.permutations(self.copies, 2):
                result = self.meet(copy, other)
                assert result.errors == []
                for conflict in copy.stack.conflicts():
                    self.choose(copy, conflict, "local")
                    done += 1
                done += result.pulled + result.pushed
            if not done:
                return
        raise AssertionError("they do not come to an end")


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that nothing was ever kept in."""
    path = tmp_path_factory.mktemp("blank") / "blank.db"
    open_database(path).close()
    return path


@pytest.mark.prove
@pytest.mark.parametrize("number", [2, 3])
@given(steps=st.lists(STEP, min_size=6, max_size=20))
@settings(max_examples=rounds(20), suppress_health_check=[HealthCheck.too_slow])
def test_all_copies_come_to_say_the_same(
    blank: Path, number: int, steps: list[tuple[str, int, int, str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        group = Group(Path(folder), number, blank)
        try:
            for step in steps:
                group.do(step)
            group.settle()
            first, *others = [copy.state() for copy in group.copies]
            for other in others:
                assert {uid: item for uid, item in other.items() if item} == {
                    uid: item for uid, item in first.items() if item
                }
            assert not any(first.get(uid) for uid in group.erased)
            assert {uid for uid in group.ids if uid not in group.erased} <= {
                uid for uid, item in first.items() if item
            }
            for copy in group.copies:
                assert copy.stack.get_pending_sync_count() == 0
        finally:
            for copy in group.copies:
                copy.close()
