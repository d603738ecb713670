"""Undo records: what a call changed, and how that can be undone.

Bound in the transaction of the outcome, so that nothing has to be worked out from the log later. Nothing here undoes
anything. Source: the survival layer, section 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from sb.base.secrets.redaction import one_line, redact_text, scrub
from sb.base.sources import micros
from sb.base.values.canonical import digest, encode
from sb.errors import NotFoundError, StoreCorrupt, UsageError
from sb.kernel.registry.arguments import secret_texts
from sb.kernel.reversibility.contracts import (
    Assumption,
    MutationRef,
    MutationState,
    RecoveryApprovalMode,
    ReversalClass,
    ReversalSpec,
    Sources,
    Unresolved,
    filled_in,
    mapped_from,
    resolved,
)
from sb.log.event import EVENT_COLUMNS, Subject
from sb.log.event_log import EventLog, LogWrite
from sb.log.people_events import sound
from sb.store import driver

_NUMBER_ALONE = re.compile(r"mut_([0-9]{1,13})(_[0-9a-f]{0,3})?")  # enough to name a mutation
MUTATION_ID = re.compile(r"mut_([0-9]{1,13})_([0-9a-f]{4})")
MOST_ASSUMPTIONS = 50  # of one call
LONGEST_REF = 200  # characters of an assumption's name
_SELECT = (
    "SELECT m.id, m.call_id, m.state, m.ref, e.run_id, e.agent, e.tool_id"
    " FROM mutations AS m JOIN events AS e ON e.id = m.id"
)


class Reversibility(StrEnum):
    """Level of reversibility: undo records are bound ("observe"), and limits enforced as well ("enforce")."""

    OFF = "off"
    OBSERVE = "observe"
    ENFORCE = "enforce"


Named = Sequence[Assumption | str]
Watched = tuple[str, int | None, str]  # an assumption's name, until when it holds, and the call that tells


def sources_of(args: Mapping[str, Any], result: Any, call_id: str, idempotency_key: str) -> Sources:
    """The sources that a mapping may take values from."""
    return {"args": args, "result": result, "call": {"idempotency_key": idempotency_key, "call_id": call_id}}


def begun(spec: ReversalSpec, fingerprint: str, args: Mapping[str, Any], named: Named) -> str | None:
    """The undo facts stored of a call until it ends, so that one with unknown outcome can be undone."""
    if not (spec.compensation_capability or spec.assumptions or named):
        return None
    inputs = {name: args[name] for name in spec.needs if name in args}
    assumed = [item if isinstance(item, str) else item.to_dict() for item in named]
    return encode({"args": inputs, "assumptions": assumed, "fingerprint": fingerprint}).decode()


def assumptions_of(
    spec: ReversalSpec, named: Named, sources: Sources, now: int, hidden: Collection[str] = ()
) -> list[Watched]:
    """The assumptions of a call with everything filled in, by their whole names.

    Those that the tool declares come first and those of its caller last, who can neither replace nor crowd out others.

    Args:
        named: by the caller. now: microseconds since the epoch. hidden: the arguments that are never shown.
    """
    given = [*spec.assumptions, *_from_result(spec, sources), *named]
    found: dict[str, Watched] = {}
    for assumption in given[:MOST_ASSUMPTIONS]:
        if isinstance(assumption, str):
            entry: Watched = (assumption, None, "")
        else:
            entry = _watched(assumption, sources, now, hidden)
        found.setdefault(entry[0], entry)
    return list(found.values())


_LONGEST_WHY = 300  # characters


def assumption_name(text: str) -> str:
    """The name under which an assumption is kept and found: without secrets, short, and told apart from others."""
    name = redact_text(text)
    if len(name) <= LONGEST_REF and name == text:
        return name
    return f"{name[: LONGEST_REF - 17]}…{digest(text.encode())[:16]}"


def _from_result(spec: ReversalSpec, sources: Sources) -> list[str]:
    try:
        names = resolved({"": spec.assumptions_from}, sources).get("", []) if spec.assumptions_from else []
    except Unresolved:
        return []
    return [str(name) for name in names] if isinstance(names, list) else [str(names)]


def _watched(assumption: Assumption, sources: Sources, now: int, hidden: Collection[str]) -> Watched:
    """One with everything filled in; what cannot be keeps its name as it was declared, and nobody looks at it."""
    until = None if assumption.holds_for_ms is None else now + assumption.holds_for_ms * 1000
    watch = ""
    try:
        if assumption.tool_id:
            asked = resolved(assumption.args, sources)
            equals = resolved({"": assumption.equals}, sources).get("")
            call = {"tool_id": assumption.tool_id, "args": asked, "path": assumption.path, "equals": equals}
            secret = mapped_from({**assumption.args, "": assumption.equals}, hidden)
            if secret:
                call["secrets"] = [equals if name == "" else asked.get(name) for name in secret]
            watch = encode(call).decode()
        ref = filled_in(assumption.ref, sources)
    except Unresolved:
        ref, watch = assumption.ref, ""
    return ref, until, watch


@dataclass(slots=True)
class Done:
    """A call that was done, as far as its way back is made from it.

    Args:
        sources: see `sources_of`. named: the assumptions that its caller gave.
        hidden: the arguments that are never shown.
        row: of its outcome in the log. now: when it was done, in microseconds since the epoch.
    """

    spec: ReversalSpec
    fingerprint: str
    subject: Subject
    sources: Sources
    named: Named
    row: int
    now: int
    hidden: Sequence[str] = ()

    def mutation(self, mask: Callable[[str, list[str]], str]) -> tuple[dict[str, Any], list[Watched]]:
        """The fields of the MutationRef that its event does not say and that are not empty; and what justified the call.

        Args:
            mask: takes secrets out of an assumption's name.
        """
        spec = self.spec
        args, handle, watched, missing = {}, "", list[Watched](), ""
        secrets = secret_texts([self.sources["args"][name] for name in self.hidden]) if self.hidden else []
        try:
            if spec.assumptions or spec.assumptions_from or self.named:
                watched = assumptions_of(spec, self.named, self.sources, self.now, self.hidden)
                watched = [(mask(name, secrets), until, watch) for name, until, watch in watched]
            args = resolved(spec.reversal_args, self.sources)
            if spec.external_handle:
                handle = scrub(str(resolved({"": spec.external_handle}, self.sources).get("", "")), secrets)
        except Unresolved as error:
            missing = error.message
        reversal_class = spec.class_of(self.sources["args"])
        why = self._no_way_back(reversal_class, missing)
        fields: dict[str, Any] = {
            "reversal_class": reversal_class,
            "recovery_approval_mode": spec.recovery_approval_mode,
            "idempotency_key": self.sources["call"]["idempotency_key"],
            "bound_at": self.now,
            "reversal_fingerprint": self.fingerprint,
        }
        if spec.reversal_window_ms is not None:
            fields["window_ends_at"] = self.now + spec.reversal_window_ms * 1000
        if watched:
            fields["assumption_refs"] = [item[0] for item in watched]
        if handle:
            fields["external_handle"] = handle
        if why:
            fields["no_way_back"] = why
            return fields, watched
        fields["reversal_tool"], fields["reversal_args"] = spec.compensation_capability, args
        if spec.preview_capability:
            fields["preview_tool"] = spec.preview_capability
        if self.hidden:
            fields["sensitive"] = self._sensitive(args, secrets)
        return fields, watched

    def _sensitive(self, args: dict[str, Any], secrets: list[str]) -> list[str]:
        mapped = mapped_from(self.spec.reversal_args, self.hidden)
        return [name for name, value in args.items() if name in mapped or scrub(value, secrets) != value]

    @property
    def mutation_id(self) -> str:
        return f"mut_{self.row}_{self.subject.call_id[-4:]}"

    def _no_way_back(self, reversal_class: ReversalClass, missing: str) -> str:
        tool_id = self.subject.tool_id
        if reversal_class is ReversalClass.IRREVERSIBLE:
            always = self.spec.reversal_class is ReversalClass.IRREVERSIBLE
            return f"{tool_id} cannot be undone" + ("" if always else " with these arguments")
        if missing and isinstance(self.sources["result"], Mapping):
            why = self.sources["result"].get(
                "not_undone"
            )  # of a tool that knows why its reversal has no arguments
            if isinstance(why, str) and why:
                return one_line(why, _LONGEST_WHY)
        if missing:
            return f"the arguments of its reversal could not be made: {missing}"
        return "" if self.spec.compensation_capability else f"{tool_id} declares no undo"


def secrets_of(ref: MutationRef) -> list[str]:
    """The texts of a reversal that may appear nowhere, longest first."""
    hidden = [ref.reversal_args[name] for name in ref.sensitive if name in ref.reversal_args]
    return secret_texts(hidden) if hidden else []


def mutation_row(mutation_id: str) -> tuple[int, str]:
    """The log's row and the end of the call's id that an id names; raises NotFoundError."""
    match = MUTATION_ID.fullmatch(mutation_id)
    if match is None:
        shown = one_line(mutation_id, 40)
        raise NotFoundError(f"no mutation {shown!r}", "sb undo --list shows them")
    return int(match[1]), match[2]


def mutation_number(log: EventLog, mutation_id: str) -> int | None:
    """The number of a mutation in other tables; None for anything but a mutation's id."""
    match = MUTATION_ID.fullmatch(mutation_id)
    return log.first_id + int(match[1]) if match else None


class MutationStore:
    """The mutations of one log's database, newest last; writing happens inside the log's transactions."""

    def __init__(self, log: EventLog) -> None:
        self.log = log

    def now(self) -> int:
        """Microseconds since the epoch."""
        return micros(self.log.clock.now())

    def bind(
        self,
        write: LogWrite,
        done: Done,
        append: Callable[[dict[str, Any]], int],
    ) -> tuple[str, int]:
        """Keep the way back from a call under the event of its outcome; returns its id and the event's.

        Args:
            append: writes that event, with these facts besides its own.
        """
        fields, watched = done.mutation(self._mask)
        mutation_id, body = done.mutation_id, encode(fields)
        facts: dict[str, Any] = {"mutation": mutation_id, "mutation_digest": self._digest(body, watched)}
        event_id = append(facts | ({"no_way_back": True} if "no_way_back" in fields else {}))
        row = (event_id, done.subject.call_id, body.decode())
        write.execute("INSERT INTO mutations VALUES (?, ?, 'committed', ?)", row)
        for name, until, watch in watched:
            row_of_it = (name, event_id, done.subject.run_id, until, watch)
            write.execute("INSERT OR IGNORE INTO assumptions VALUES (?, ?, ?, ?, ?)", row_of_it)
        return mutation_id, event_id

    def no_way_back(self, done: Done) -> str:
        """The reason why a call that was done could not be undone, "" if it could."""
        return str(done.mutation(self._mask)[0].get("no_way_back", ""))

    def move(self, write: LogWrite, number: int, before: MutationState, after: MutationState) -> bool:
        """Change a mutation's state, unless it is in another than `before`; returns whether it was."""
        changed = write.execute(
            "UPDATE mutations SET state = ? WHERE id = ? AND state = ?", (after, number, before)
        )
        return bool(changed.rowcount)

    def get(self, mutation_id: str) -> MutationRef:
        """One mutation, by its id or by its number, as in mut_7; raises NotFoundError."""
        short = _NUMBER_ALONE.fullmatch(mutation_id)
        seq, tail = (int(short[1]), "") if short else mutation_row(mutation_id)
        rows = self.log.database.query(f"{_SELECT} WHERE m.id = ?", (self.log.first_id + seq,))
        if not rows or not rows[0][1].endswith(tail):
            raise NotFoundError(f"no mutation {mutation_id}", "sb undo --list shows them")
        return self._ref(rows[0])

    def numbered(self, number: int) -> MutationRef:
        """One mutation by the key that other tables have for it; raises NotFoundError."""
        rows = self.log.database.query(f"{_SELECT} WHERE m.id = ?", (number,))
        if not rows:
            raise NotFoundError(f"no mutation has the number {number - self.log.first_id}")
        return self._ref(rows[0])

    def number(self, mutation_id: str) -> int:
        """The key that other tables have for it."""
        return self.log.first_id + mutation_row(mutation_id)[0]

    def id_of(self, execute: Callable[..., driver.Cursor], number: int) -> str:
        """The id of a mutation by its number."""
        row = execute("SELECT call_id FROM mutations WHERE id = ?", (number,)).fetchone()
        return f"mut_{number - self.log.first_id}_{row[0][-4:]}" if row else ""

    def for_call(self, reference: str) -> MutationRef | None:
        """The undo record of a call, by the call's id or the record's own; newest first."""
        if reference.startswith("mut_"):
            try:
                return self.get(reference)
            except NotFoundError:
                return None
        sql = f"{_SELECT} WHERE m.call_id = ? ORDER BY m.id DESC LIMIT 1"
        rows = self.log.database.query(sql, (reference,))
        return self._ref(rows[0]) if rows else None

    def of_run(self, run_id: str) -> list[MutationRef]:
        """The undo records of a run, oldest first."""
        rows = self.log.database.query(f"{_SELECT} WHERE e.run_id = ? ORDER BY m.id", (run_id,))
        return [self._ref(row) for row in rows]

    def newest(self, *, limit: int = 50, agent: str = "") -> list[MutationRef]:
        """The last mutations, newest first; 0 for all, "" for those of every agent."""
        where, of = (" WHERE e.agent = ?", (agent,)) if agent else ("", ())
        rows = self.log.database.query(f"{_SELECT}{where} ORDER BY m.id DESC LIMIT +?", (*of, limit or -1))
        return [self._ref(row) for row in rows]

    def resolve(self, reference: str) -> str:
        """The id that a reference means: itself, or the only id of an undo record or call that begins with it.

        Raises:
            UsageError: several do.
        """
        if not re.fullmatch(r"(mut|call)_[0-9a-z_]*", reference):
            return reference
        rows = self.log.database.query("SELECT id, call_id FROM mutations ORDER BY id DESC")
        ids = [f"mut_{number - self.log.first_id}_{call_id[-4:]}" for number, call_id in rows]
        if reference.startswith("call_"):
            ids = [call_id for _, call_id in rows]
        if reference in ids:
            return reference
        found = [item for item in ids if item.startswith(reference)]
        if len(found) > 1:
            raise UsageError(
                f"{reference} begins {len(found)} ids: {', '.join(found[:3])}…", "type more of it"
            )
        return found[0] if found else reference

    def about_path(self, path: str) -> list[MutationRef]:
        """The undo records that may restore a path, newest first: they name it, or a folder that it is in.

        Args:
            path: absolute.
        """
        names, above = list[str](), path
        while above not in ("", "/"):
            names.append(encode({"path": above}).decode()[1:-1])
            above = above.rpartition("/")[0]
        where = " OR ".join("instr(m.ref, ?) > 0" for _ in names)
        rows = self.log.database.query(f"{_SELECT} WHERE {where} ORDER BY m.id DESC LIMIT 200", tuple(names))
        return [self._ref(row) for row in rows]

    def promised_keys(self) -> set[str]:
        """The idempotency keys of calls whose undo window is open."""
        marked = "state = 'committed' AND instr(coalesce(ref, ''), '\"window_ends_at\":') > 0"
        found = set()
        for (body,) in self.log.database.query(f"SELECT ref FROM mutations WHERE {marked}"):
            with suppress(ValueError, AttributeError, TypeError):
                fields = json.loads(body)
                if fields["window_ends_at"] > self.now():
                    found.add(str(fields.get("idempotency_key", "")))
        return found

    def last(self, *, undoable: bool = True) -> MutationRef:
        """The newest that was not undone; raises NotFoundError.

        Args:
            undoable: leave out those without a way back.
        """
        where = "m.state <> 'reversed'"
        if undoable:
            where += " AND instr(coalesce(m.ref, ''), '\"no_way_back\":') = 0"
        sql = f"{_SELECT} WHERE {where} ORDER BY m.id DESC LIMIT 1"
        rows = self.log.database.query(sql)
        if not rows:
            raise NotFoundError("nothing to undo", "sb undo --list shows what was done")
        return self._ref(rows[0])

    def assuming(self, assumption_ref: str, run_id: str = "", mutation_id: str = "") -> list[MutationRef]:
        """The mutations that an assumption justified, newest first, since later ones may build on earlier ones.

        Args:
            run_id: only of this run; "" for all. mutation_id: only this one; alike.
        """
        where, parameters = "", list[str | int]()
        if run_id:
            where, parameters = " AND a.run_id = ?", [run_id]
        if mutation_id:
            where, parameters = f"{where} AND a.mutation_id = ?", [*parameters, self.number(mutation_id)]
        rows = self.log.database.query(
            f"{_SELECT} JOIN assumptions AS a ON a.mutation_id = m.id WHERE a.ref = ?{where} ORDER BY m.id DESC",
            (assumption_ref, *parameters),
        )
        found = [self._ref(row) for row in rows]
        return [ref for ref in found if assumption_ref in ref.assumption_refs]  # as it was bound

    def unaltered(self, execute: Callable[..., driver.Cursor], ref: MutationRef) -> None:
        """Pass if a mutation is still what was bound; for a process that has the key of the log's digests.

        Raises:
            StoreCorrupt: it was changed in the database, or removed.
        """
        number = self.number(ref.mutation_id)
        row = execute(f"{_SELECT} WHERE m.id = ?", (number,)).fetchone()
        event = execute(f"SELECT {EVENT_COLUMNS} FROM events WHERE id = ?", (number,)).fetchone()
        if not row or row[3] is None or not event or event[12] is None:
            raise StoreCorrupt(f"the undo record of {ref.mutation_id} was removed")
        mutation_digest = (sound(self.log, event).payload or {}).get("mutation_digest")
        if replace(self._ref(row), state=ref.state) != ref or mutation_digest != self.kept_digest(
            execute, number
        ):
            raise StoreCorrupt(
                f"{ref.mutation_id} was changed in the database after it was bound", "sb log verify"
            )

    def _mask(self, name: str, secrets: list[str]) -> str:
        """The name under which an assumption is kept, without these secrets, and still told apart from others."""
        masked = str(scrub(name, secrets))
        if masked != name:  # keyed, since a short secret could be found by trying
            masked = f"{redact_text(masked)[: LONGEST_REF // 2]}…{self.log.digest(name.encode())[:16]}"
        return assumption_name(masked)

    def _digest(self, body: bytes, watched: list[Watched]) -> str:
        return self.log.tag(body + encode(watched) if watched else body)

    def kept_digest(self, execute: Callable[..., driver.Cursor], number: int) -> str:
        """Of a mutation and of what justified it, as they are kept now; "" if they cannot be read."""
        row = execute("SELECT ref FROM mutations WHERE id = ?", (number,)).fetchone()
        try:
            names = json.loads(row[0]).get("assumption_refs", ())
            sql = "SELECT ref, holds_until, watch FROM assumptions WHERE ref = ? AND mutation_id = ?"
            rows = [execute(sql, (str(name), number)).fetchone() for name in names]
        except (ValueError, TypeError, AttributeError, RecursionError):
            return ""
        return self._digest(row[0].encode(), rows)

    def _ref(self, row: tuple[Any, ...]) -> MutationRef:
        number, call_id, state, body, run_id, agent, tool_id = row
        mutation_id = f"mut_{number - self.log.first_id}_{call_id[-4:]}"
        removed = {"no_way_back": "its details were removed from the database"}
        try:
            fields = removed if body is None else json.loads(body)
            return MutationRef(
                **{
                    **_EMPTY,
                    **fields,
                    "mutation_id": mutation_id,
                    "call_id": call_id,
                    "run_id": run_id,
                    "agent": agent,
                    "tool_id": tool_id,
                    "reversal_class": ReversalClass(fields.get("reversal_class", ReversalClass.IRREVERSIBLE)),
                    "recovery_approval_mode": RecoveryApprovalMode(
                        fields.get("recovery_approval_mode", RecoveryApprovalMode.HUMAN)
                    ),
                    "assumption_refs": tuple(fields.get("assumption_refs", ())),
                    "sensitive": tuple(fields.get("sensitive", ())),
                    "state": MutationState(state),
                }
            )
        except (ValueError, TypeError, RecursionError, AttributeError) as error:
            if body is None:
                raise StoreCorrupt(f"{mutation_id} cannot be read: {error}", "sb log verify") from None
            damaged = json.dumps({"no_way_back": f"what was kept of it cannot be read: {error}"})
            return self._ref((number, call_id, state, damaged, run_id, agent, tool_id))


# What an empty field of a mutation is, since it is not stored.
_EMPTY: dict[str, Any] = {
    "reversal_tool": "",
    "reversal_args": {},
    "external_handle": "",
    "idempotency_key": "",
    "bound_at": 0,
    "window_ends_at": None,
    "reversal_fingerprint": "",
}
