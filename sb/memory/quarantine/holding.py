"""Decide which new records are quarantined, and what a quarantined record reaches.

Source: the memory whitepaper, "quarantine" and "incident response". A quarantined record is in no index that agents search
and has no key, so that it neither changes the record of its name nor takes the place of a later one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import orjson

from sb.config.guards import OFF, QUARANTINE, REFUSE
from sb.memory.quarantine.refusals import AttackRefused
from sb.memory.quarantine.tool_sources import CALL, sources_of_calls
from sb.memory.ranking.terms import words
from sb.memory.space import Space
from sb.store.records.columns import ERASED, QUARANTINED, Row
from sb.store.records.edges import DERIVED_FROM
from sb.store.records.places import Execute

if TYPE_CHECKING:
    from sb.kernel.red_team.verdict import AttackVerdict

ATTACK = "attack"  # the tag of what is marked
HOLD = "quarantine"  # the operation in a record's history
# Fields that name what a record was made from; `knows` is a handoff's.
_REFERENCES = ("derived_from", "source_raw_ids", "source_episodes", "evidence_episode_ids", "knows")
_RUN = 6  # words in a row that two texts do not share by chance
_SHORTEST = 3  # words of a shorter text that count as a repetition of all of it
_AT_ONCE = 100  # references that one scan of the records looks for


class Holding:
    """Decides for one writer which of its records are quarantined.

    Args:
        door: the source type of everything that comes this way, whatever it says of itself; "" if none.
    """

    def __init__(self, space: Space, door: str = "") -> None:
        self._space = space
        self._door = door
        self._texts: dict[int, dict[tuple[str, ...], str]] = {}  # of a session: words in a row to the record

    def hold(self, rows: Sequence[Row], *, by_source: bool = True) -> dict[str, str]:
        """Quarantine those of these new rows that are untrusted, within a transaction; returns the reasons by public id.

        Args:
            rows: with their session. by_source: whether the source type counts; provenance always does.
        """
        untrusted = self._space.untrusted_sources
        reasons: dict[str, str] = {}
        for row in rows:
            source = next((item for item in (self._door, row["source_type"]) if item in untrusted), "")
            if by_source and source:
                reasons[row["uid"]] = f"source {source}"
        if self._space.settings.attacks != OFF:
            reasons |= self._attacks([row for row in rows if row["uid"] not in reasons])
        references = {row["uid"]: sources_of(row) for row in rows}
        known = {uid for found in references.values() for uid in found}
        calls = {item for item in known if by_source and item.startswith(CALL)}
        given = sources_of_calls(self._space.database, calls) if calls else {}
        for row in rows:
            for call in references[row["uid"]]:
                if given.get(call) in untrusted:
                    reasons.setdefault(row["uid"], f"source {given[call]} of {call}")
        hidden = (
            {uid for uid, row in self._space.records.known(list(known)).items() if _is_held(row)}
            if known
            else set[str]()
        )
        hidden |= reasons.keys() | {row["uid"] for row in rows if _is_held(row)}
        for row in rows:
            if row["uid"] in hidden:
                self._learn(row)
        waiting, before = [row for row in rows if row["uid"] not in hidden], -1
        while waiting and before != len(hidden):  # until nothing more is reached
            before = len(hidden)
            for row in waiting:
                source = next((uid for uid in references[row["uid"]] if uid in hidden), "")
                repeated = "" if source else self._repeats(row, hidden)
                if source or repeated:
                    reasons[row["uid"]] = f"derived from {source}" if source else f"repeats {repeated}"
                    hidden.add(row["uid"])
                    self._learn(row)
            waiting = [row for row in waiting if row["uid"] not in hidden]
        for row in rows:
            if row["uid"] in hidden:
                row.update(state=QUARANTINED, key=None)
        return reasons

    def _attacks(self, rows: Sequence[Row]) -> dict[str, str]:
        """Mark records that read like attacks, or return them with the reason for quarantine.

        Raises:
            AttackRefused: it is to be refused.
        """
        reasons, action = {}, self._space.settings.attacks
        for row in rows:
            if _is_held(row):
                continue
            verdict, text = _verdict(row)
            if not verdict.flagged:
                continue
            if action == REFUSE:
                raise AttackRefused(verdict, text, row.get("agent") or "")
            if action == QUARANTINE:
                reasons[row["uid"]] = f"attack ({', '.join(verdict.categories)})"
            else:
                row["tags"] = orjson.dumps(sorted({*orjson.loads(row["tags"] or "[]"), ATTACK})).decode()
        return reasons

    def attack_in_change(self, row: Row, former: Row) -> str:
        """The reason to quarantine a changed record as an attack, or ""; a marked one gets its tag here.

        One that read like an attack before was let pass, by a person or by an earlier setting, and is left alone.

        Raises:
            AttackRefused: it is to be refused.
        """
        columns = ("text", "fields")
        if self._space.settings.attacks == OFF or all(row[name] == former[name] for name in columns):
            return ""
        if _verdict(former)[0].flagged:
            return ""
        return self._attacks([row]).get(row["uid"], "")

    def names_held(self, row: Row, former: Row) -> bool:
        """True if a changed record names a quarantined source that it did not name before, or has an untrusted one."""
        new = set(sources_of(row)) - set(sources_of(former))
        source = row["source_type"] if row["source_type"] != former["source_type"] else ""
        known = self._space.records.known(list(new)).values() if new else ()
        return source in self._space.untrusted_sources or any(map(_is_held, known))

    def _repeats(self, row: Row, hidden: set[str]) -> str:
        """The quarantined record of the same session that a row repeats; "" if none.

        Otherwise an agent that was made to say it again would release it.
        """
        session = row.get("session")
        if session is None:
            return ""
        texts = self._of_session(session)
        if not texts:
            return ""
        tokens = words(row["text"])
        for length in {len(run) for run in texts}:
            for run in runs(tokens, length):
                uid = texts.get(run)
                if uid is not None and (uid in hidden or _is_held(self._space.records.find(uid))):
                    return uid
        return ""

    def _of_session(self, session: int) -> dict[tuple[str, ...], str]:
        if session not in self._texts:
            self._texts[session] = {}
            for row in self._space.records.select("r.session = ? AND r.state = 'quarantined'", (session,)):
                self._learn(row)
        return self._texts[session]

    def _learn(self, row: Row) -> None:
        session, tokens = row.get("session"), words(row["text"])
        if session is not None and len(tokens) >= _SHORTEST:
            self._of_session(session).update((run, row["uid"]) for run in runs(tokens, _RUN))


def _verdict(row: Row) -> tuple[AttackVerdict, str]:
    """The attack verdict on a record, and the text that was read."""
    from sb.kernel.red_team.detector import check
    from sb.kernel.red_team.verdict import Origin

    text = f"{row['text']}\n{row['fields']}"
    return check(text, origin=Origin.MEMORY), text


def sources_of(row: Row) -> list[str]:
    """The public ids that a record names as what it was made from."""
    if row["fields"] == "{}":
        return []
    fields = orjson.loads(row["fields"])
    return [
        str(field).rpartition(":")[2]
        for name in _REFERENCES
        for field in (fields.get(name) or () if isinstance(fields, dict) else ())
    ]


def reached(space: Space, rows: Sequence[Row]) -> Iterator[tuple[Row, str]]:
    """The records derived from these in any number of steps that are not quarantined yet, each with its source's id.

    Relations and references both count: a reference stays where the writer did not see the source.
    """
    seen = {row["id"] for row in rows}
    frontier = list(rows)
    while frontier:
        found: dict[int, str] = {}
        for row in frontier:
            for edge in space.edges.lineage(row["id"]):
                if edge.relation == DERIVED_FROM and edge.target == row["id"]:
                    found.setdefault(edge.source, row["uid"])
        for other, uid in _naming(space, [row["uid"] for row in frontier]):
            found.setdefault(other, uid)
        fresh = list(space.records.rows([number for number in found if number not in seen]))
        seen.update(row["id"] for row in fresh)
        frontier = [row for row in fresh if row["state"] != ERASED]
        yield from ((row, found[row["id"]]) for row in frontier if not _is_held(row))


def _naming(space: Space, uids: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The records whose fields name one of these as a source."""
    for start in range(0, len(uids), _AT_ONCE):
        some = set(uids[start : start + _AT_ONCE])
        named = orjson.dumps(sorted(some)).decode()
        where = "EXISTS (SELECT 1 FROM json_each(?) AS wanted WHERE instr(r.fields, wanted.value) > 0)"
        for row in space.records.select(where, (named,)):
            for uid in sources_of(row):
                if uid in some:
                    yield row["id"], uid


def note_held(
    space: Space, execute: Execute, rows: Sequence[Row], reasons: dict[str, str], actor: str
) -> None:
    """Note in the history of new records why they are quarantined."""
    for row in rows:
        if row["uid"] in reasons:
            space.records.note(execute, [row["id"]], actor=actor, operation=HOLD, reason=reasons[row["uid"]])


def runs(tokens: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    """Every run of so many words, or the only one where there are fewer."""
    for start in range(max(1, len(tokens) - length + 1)) if tokens else ():
        yield tuple(tokens[start : start + length])


def _is_held(row: Row | None) -> bool:
    return row is not None and row.get("state") == QUARANTINED
