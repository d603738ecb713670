"""Filters: one language for every list that a person narrows, and its parser.

`by:ada since:7d -tool:http.get amount>1000 "two words"`. A value with a space stands in quotes; `-` negates a term.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sb.base.duration import parse_duration
from sb.base.sources import MICROSECONDS
from sb.base.text import nearest, plain
from sb.base.values.frozen import frozen
from sb.errors import UsageError
from sb.kernel.approvals.queue import SEARCHED, RequestFacts
from sb.kernel.calls.approval import MONEY, ApprovalState
from sb.kernel.review.runs import RUN_FIELDS
from sb.log.search import Clause, contains
from sb.operator.attention.inbox import Waiting
from sb.operator.event_states import CALLS, CHANGES, DECISIONS, LOG, args_elsewhere, state_clause, states_of
from sb.present.calls import call_object

if TYPE_CHECKING:
    from sb.memory.browse import RecordFilter

KEYS = (
    *("by", "since", "until", "state", "agent", "tool", "effect", "kind", "run", "amount"),
    *("host", "project", "session", "status", "severity", "outcome", "stack", "scope", "strength"),
)
APPROVALS, INBOX, RUNS = "approval requests", "the inbox", "runs"
CONTROLS, MEMORY, EVALS = "the harness audit", "memory", "evals"
_EVENTS = (LOG, CALLS, CHANGES, DECISIONS)  # views of Activity, each with the states of its rows
# The keys that a face answers.
_ANSWERED = {
    APPROVALS: "by since until state agent tool effect run amount",
    **dict.fromkeys(_EVENTS, "by since until state agent tool kind run amount"),
    INBOX: "since until agent tool effect kind amount",
    RUNS: "since until agent tool run host project session",
    CONTROLS: "status severity outcome",
    MEMORY: "since until state agent kind stack scope strength",
    EVALS: "",
}
_WHY_NOT = {
    (APPROVALS, "kind"): ": each of them is a request",
    **dict.fromkeys([(face, "effect") for face in _EVENTS], ": an event has none"),
    (INBOX, "by"): ": nobody has decided yet",
    (INBOX, "state"): ": all of it waits",
    (INBOX, "run"): ": not all of it has one",
}
LONGEST = 1_000  # characters of a filter
_TERM = re.compile(r'(-?)(?:([A-Za-z_]+)(:|[<>]=?))?("[^"]*"|[^\s"]+)(?=\s|$)')
# Columns of events by the keys of terms; words are looked for in all of them, and in the payload.
_EVENT = {"kind": "kind", "agent": "agent", "tool": "tool_id", "run": "run_id", "call": "call_id"}
_HEX = frozenset(string.hexdigits)
_BLANK, _KEYED = re.compile(r"\s"), re.compile(r'-?[A-Za-z_]+[:<>]|.*"')
_HALF = re.compile(r"([A-Za-z_]+)(:|[<>]=?)")
_COMPARES: dict[str, Callable[[float, float], bool]] = {
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
}
_PLAIN = re.compile(r"[\w .,:@+=-]+", re.ASCII)
_COLUMNS = ("a.id", "a.agent", "a.tool_id", "a.run_id", "a.decided_by", "a.reason")
_MONEY = re.compile(r"(-?\d+(?:\.\d+)?)([A-Za-z]{3})?")
_ALIASES = {"verdict": "state", "who": "by", "when": "since", "object": "tool"}  # titles of columns
_VALID = "coalesce(json_valid(e.payload), 0)"


@frozen
class Term:
    """One condition; a word has no key."""

    key: str
    sign: str
    value: str
    negated: bool = False


@frozen
class Filter:
    """Conditions that all have to hold; an empty filter lets everything pass."""

    terms: tuple[Term, ...] = ()

    @classmethod
    def parse(cls, text: str, face: str = "") -> Filter:
        """The filter of a text.

        Args:
            face: whose keys an error names; "" for all.

        Raises:
            UsageError: it says what is wrong, with the nearest key.
        """
        if len(text) > LONGEST:
            raise UsageError(f"the filter has more than {LONGEST:,} characters")
        terms, place = [], 0
        while rest := text[place:].lstrip():
            place = len(text) - len(rest)
            found = _TERM.match(text, place)
            if found is None:
                wrong = plain(rest, one_line=True)[:40]
                odd = rest.count('"') % 2
                why = "a quote is not closed" if odd else "a value is missing or half quoted"
                raise UsageError(f"filter: {why} at {wrong!r}", 'such as by:ada since:7d "two words"')
            term, place = _term(found, _ANSWERED[face].split() if face else KEYS), found.end()
            if term.key == "state" and not face:
                _expect_state(term.value, dict.fromkeys(it for face in _ANSWERED for it in _states(face)))
            if term.key or term.value:
                terms.append(term)
        return cls(tuple(terms))

    def __bool__(self) -> bool:
        return bool(self.terms)

    @property
    def text(self) -> str:
        """The filter as it is typed."""
        return " ".join(map(_typed, self.terms))

    def has(self, *keys: str) -> bool:
        """True if it has a condition on one of these keys."""
        return any(term.key in keys for term in self.terms)

    def require(self, face: str) -> None:
        """Pass if every key, and every state, means something for a face.

        Raises:
            UsageError: one does not, and why.
        """
        answered = _ANSWERED[face].split()
        for term in self.terms:
            if term.key and term.key not in answered:
                why = _WHY_NOT.get((face, term.key), "")
                hint = f"keys: {', '.join(answered)}" if answered else "words alone"
                raise UsageError(f"filter: {term.key}: does not apply to {face}{why}", hint)
            if term.key == "state":
                _expect_state(term.value, _states(face))

    def approvals(self, now: int) -> Clause:
        """The condition on rows of approvals `a` and their events `e`; effects are compared by `effect_fits`.

        Raises:
            UsageError: a key does not apply.
        """
        self.require(APPROVALS)
        return _all(_approval_clause(term, now) for term in self.terms if term.key != "effect")

    def log(self, now: int, view: str = LOG) -> Clause:
        """The condition on events.

        Args:
            view: of Activity, whose states count.

        Raises:
            UsageError: a key does not apply.
        """
        self.require(view)
        return _all(_log_clause(term, now, view) for term in self.terms)

    def runs(self, now: int) -> Clause:
        """The condition on the first event `e` of a run.

        Raises:
            UsageError: a key does not apply.
        """
        self.require(RUNS)
        return _all(_run_clause(term, now) for term in self.terms)

    def memory(self, now: int) -> RecordFilter:
        """The condition on memories; its words begin words of their texts.

        Raises:
            UsageError: a key does not apply.
        """
        from sb.memory.browse import RecordFilter

        self.require(MEMORY)
        words = tuple(term.value for term in self.terms if not (term.key or term.negated))
        others = (term for term in self.terms if term.key or term.negated)
        return RecordFilter(words, _all(_memory_clause(term, now) for term in others))

    def records(self, face: str) -> Callable[[Mapping[str, str], str], bool]:
        """The condition on records that are not in the database: their fields by key, and a text for the words.

        Raises:
            UsageError: a key does not apply.
        """
        self.require(face)
        return lambda fields, text: all(
            (_same(fields[it.key], it.value) if it.key else it.value.lower() in text.lower()) != it.negated
            for it in self.terms
        )

    def effect_fits(self, effect: str) -> bool:
        """True if an effect in a word is one that is asked for."""
        return all(_same(effect, term.value) != term.negated for term in self.terms if term.key == "effect")

    def inbox(self, now: int) -> Callable[[Waiting], bool]:
        """The condition on what waits.

        Raises:
            UsageError: a key does not apply.
        """
        self.require(INBOX)
        bounds = {term: _moment(term, now) for term in self.terms if term.key in ("since", "until")}
        return lambda entry: all(_fits(term, entry, bounds) != term.negated for term in self.terms)


def filter_of(text: str, words: Iterable[str], options: Mapping[str, str], face: str = "") -> Filter:
    """The filter of a command line: a text, words that a shell has split, and options by key; "" for none.

    Raises:
        UsageError: a part of it is wrong.
    """
    parts = [
        text,
        *(f'"{word}"' if _BLANK.search(word) and not _KEYED.match(word) else word for word in words),
    ]
    for key, value in options.items():
        if value:
            quoted = f'"{value}"' if _BLANK.search(value) else value
            parts.append(f"{key}{quoted}" if key == "amount" else f"{key}:{quoted}")
    return Filter.parse(" ".join(filter(None, parts)), face)


def _term(found: re.Match[str], known: Sequence[str]) -> Term:
    minus, key, sign, value = found.groups()
    bare, key = value.strip('"'), (key or "").lower()
    if not key:
        if half := _HALF.fullmatch(value):
            example = _EXAMPLES.get(half[1].lower(), _EXAMPLES["by"])
            raise UsageError(f"filter: {half[1]}{half[2]} needs a value", f"such as {example}")
        return Term("", "", bare, bool(minus))
    if key not in KEYS:
        alias = _ALIASES.get(key)
        near = f' (did you mean "{alias}"?)' if alias in known else nearest(key, known)
        raise UsageError(
            f"filter: no key {plain(key, one_line=True)!r}{near}",
            f'keys: {", ".join(known)}; "{key}{sign}…" in quotes is a word',
        )
    if (sign != ":") != (key == "amount"):
        raise UsageError(
            f"filter: {key} takes {'>, >=, < or <=' if key == 'amount' else 'a colon'}",
            f"such as {_EXAMPLES[key]}",
        )
    if not bare:
        raise UsageError(f"filter: {key}: needs a value", f"such as {_EXAMPLES[key]}")
    term = Term(key, sign, bare, bool(minus))
    if key in ("since", "until"):
        _moment(term, 0)
    if key == "amount":
        _amount(term)
    return term


def _expect_state(value: str, known: Iterable[str]) -> None:
    """Pass if there is this state; raises UsageError."""
    if value not in known:
        shown = f"filter: no state {plain(value, one_line=True)!r}{nearest(value, known)}"
        raise UsageError(shown, "one of " + ", ".join(known))


def _states(face: str) -> Sequence[str]:
    """The states that stand in the rows of a face."""
    if face in _EVENTS:
        return states_of(face)
    if face != MEMORY:
        return list(ApprovalState)
    from sb.memory.browse import PROTECTED  # with memory's modules, for which no list of requests has to wait
    from sb.protocols.types.vocabulary import SUGGESTION_STATUSES
    from sb.store.records.columns import STATES

    return [*STATES, PROTECTED, *sorted(SUGGESTION_STATUSES)]


_EXAMPLES = dict(
    zip(
        KEYS,
        "by:ada since:7d until:2026-11-20 state:approved agent:clerk tool:payments.* effect:deletes kind:request"
        " run:run_9abf amount>1000 host:codex project:shop session:s-1* status:fail severity:P0 outcome:policy*"
        " stack:default scope:shop strength:strong".split(),
        strict=True,
    )
)


def _typed(term: Term) -> str:
    quoted = not term.value or re.search(r"[\s:<>]|^-", term.value)
    value = f'"{term.value}"' if quoted else term.value
    return f"{'-' if term.negated else ''}{term.key}{term.sign}{value}"


def _moment(term: Term, now: int) -> int:
    """The time of since: and until:, an age or a date, in microseconds since the epoch; `until:DAY` has all of it."""
    try:
        day = datetime.fromisoformat(term.value)
    except ValueError:
        try:
            return now - parse_duration(term.value) * MICROSECONDS
        except UsageError:
            shown = plain(term.value, one_line=True)
            raise UsageError(
                f"filter: {term.key}: {shown!r} is neither an age nor a date", "7d, 2h, 2026-11-20"
            ) from None
    whole = 86_400 if len(term.value) == len("2026-11-20") and term.key == "until" else 0
    return int((day if day.tzinfo else day.replace(tzinfo=UTC)).timestamp() + whole) * MICROSECONDS


def _amount(term: Term) -> tuple[float, str]:
    """The amount that is compared, and the currency within which; "" for any."""
    found = _MONEY.fullmatch(term.value)
    if found is None:
        shown = plain(term.value, one_line=True)
        raise UsageError(f"filter: amount: {shown!r} is no number", "amount>1000, amount>1000eur")
    return float(found[1]), (found[2] or "").upper()


def _amount_clause(term: Term, payload: str, may: str) -> Clause:
    """The amount that a contract declares, in the JSON of an event's payload."""
    amount, currency = _amount(term)
    read, unit = (f"json_extract({payload}, '$.{MONEY}.{name}')" for name in ("amount", "currency"))
    if not currency:
        return _negated(term, f"CASE WHEN {may} THEN {read} {term.sign} ? END", amount)
    sql = f"CASE WHEN {may} THEN {read} {term.sign} ? AND upper({unit}) = ? END"
    return _negated(term, sql, amount, currency)


def _all(clauses: Any) -> Clause:
    found = list(clauses)
    return " AND ".join(sql for sql, _ in found) or "1", tuple(it for _, values in found for it in values)


def _negated(term: Term, sql: str, *values: Any) -> Clause:
    return (f"NOT coalesce(({sql}), 0)" if term.negated else f"({sql})"), values


def _named(term: Term, *columns: str, tails: bool = False) -> Clause:
    """The value is a name, its first dotted parts or a pattern with *, whatever its case.

    Args:
        tails: or the last part of a path or of a name with colons, such as project:shop.
    """
    name = _pattern(term)
    patterns = [name, f"{name}.*", *([f"*[/\\:]{name}"] if tails else [])]
    tests = (f"lower({column}) GLOB ?" for column in columns for _ in patterns)
    return _negated(term, " OR ".join(tests), *patterns * len(columns))


def _pattern(term: Term) -> str:
    return re.sub(r"([\[?])", r"[\1]", term.value.lower())


def _timed(term: Term, column: str, now: int) -> Clause:
    return _negated(term, f"{column} {'>=' if term.key == 'since' else '<'} ?", _moment(term, now))


def _approval_clause(term: Term, now: int) -> Clause:
    if term.key == "by":  # names of several deciders have commas between them
        sql = "', ' || lower(a.decided_by) || ',' GLOB ?"
        return _negated(term, sql, f"*, {_pattern(term)},*")
    if term.key in ("since", "until"):
        return _timed(term, "coalesce(a.decided_at, a.requested_at)", now)
    if term.key == "state":
        open_now = "a.state IN ('waiting', 'approved') AND a.expires_at <= ?"
        state = f"CASE WHEN {open_now} THEN 'expired' ELSE a.state END"
        # What was approved and has run since was approved, too.
        asked = ("approved", "used") if term.value == ApprovalState.APPROVED else (term.value, term.value)
        return _negated(term, f"{state} IN (?, ?)", now, *asked)
    if term.key == "amount":
        may = f"a.tool_id NOT LIKE 'host.%' AND instr(e.payload, '\"{MONEY}\"') AND {_VALID}"
        return _amount_clause(term, "e.payload", may)
    if term.key == "tool":  # of a host's tool that is no shell also by its own name
        hosted = "a.tool_id LIKE 'host.%' AND a.tool_id NOT LIKE 'host.shell.%'"
        host = f"CASE WHEN {hosted} AND {_VALID} THEN json_extract(e.payload, '$.args.tool') END"
        return _named(term, "a.tool_id", host)
    if term.key:
        return _named(term, {"agent": "a.agent", "run": "a.run_id"}[term.key])
    sql, values = f"instr(lower({SEARCHED}), lower(?)) > 0", (term.value,)
    if _PLAIN.fullmatch(term.value):  # stands in the stored text as it is, which is looked at faster
        stored, again = contains(term.value, "e.payload", *_COLUMNS)
        sql, values = f"CASE WHEN {stored} THEN {sql} END", (*again, term.value)
    return _negated(term, sql, *values)


def _log_clause(term: Term, now: int, view: str) -> Clause:
    if term.key in ("since", "until"):
        return _timed(term, "at", now)
    if term.key == "state":
        sql, values = state_clause(view, term.value, now)
        return _negated(term, sql, *values)
    if not term.key and term.value.lower() in states_of(view):  # the payload's own words say it of other rows
        state, values = state_clause(view, term.value.lower(), now)
        own = (f"json_extract(payload, '$.{it}')" for it in ("args", "reason"))
        texts, words = contains(term.value, *own)
        sql = f"coalesce(({state}), 0) OR CASE WHEN json_valid(payload) THEN {texts} END"
        return _negated(term, sql, *values, *words)
    if term.key == "by":
        return _decided_by(term)
    if term.key == "amount":  # hosts' tools have none: their payloads are not looked at
        may = "{0}tool_id NOT LIKE 'host.%' AND instr({0}payload, '\"{1}\"') AND json_valid({0}payload)"
        (here, values), (other, again) = (
            _amount_clause(replace(term, negated=False), f"{table}payload", may.format(table, MONEY))
            for table in ("", "q.")
        )
        return _negated(term, f"{here} OR {args_elsewhere(view, other)}", *values, *again)
    if term.key:
        return _named(term, _EVENT[term.key])
    columns, named = contains(term.value, *_EVENT.values())
    payload, (letters,) = contains(term.value, "payload")
    found: tuple[str, ...] = (*named, letters)
    if _HEX.issuperset(term.value):  # which may stand within a digest: it has to begin there, or a word
        payload = f"({payload} AND lower(payload) GLOB ?)"
        found = (*found, f"*[^0-9a-f]{term.value.lower()}*")
    asked, inside = contains(term.value, "q.payload")
    return _negated(term, f"{columns} OR {payload} OR {args_elsewhere(view, asked)}", *found, *inside)


def _decided_by(term: Term) -> Clause:
    """That a person did it; calls have no decider, so their payloads are not looked at.

    Most decisions end with the name, which is seen without reading the JSON, as is that it is nowhere.
    """
    read = "json_valid(payload) THEN lower(json_extract(payload, '$.by')) GLOB ? END"
    name, may = _pattern(term), "substr(kind, 1, 7) <> 'kernel.'"
    if "*" in name or not _PLAIN.fullmatch(name):
        return _negated(term, f"CASE WHEN {may} AND instr(payload, '\"by\"') AND {read}", name)
    ends, (tail,) = contains(f',"by":"{name}"}}', "payload")
    has, quoted = contains(f'"{name}"', "payload")
    sql = f"{may} AND CASE WHEN {ends} THEN 1 WHEN {has} AND {read}"
    return _negated(term, sql, tail.removesuffix("%"), *quoted, name)


def _run_clause(term: Term, now: int) -> Clause:
    if term.key in ("since", "until"):
        return _timed(term, "e.at", now)
    if term.key == "tool":
        sql, values = _named(replace(term, negated=False), "t.tool_id")
        return _negated(
            term, f"EXISTS (SELECT 1 FROM events AS t WHERE t.run_id = e.run_id AND {sql})", *values
        )
    if term.key:
        return _named(term, RUN_FIELDS[term.key], tails=term.key == "project")
    sql, values = contains(term.value, *RUN_FIELDS.values())
    return _negated(term, sql, *values)


def _memory_clause(term: Term, now: int) -> Clause:
    from sb.memory.browse import RECORD_FIELDS, word_clause

    if term.key in ("since", "until"):
        sign = ">=" if term.key == "since" else "<"
        return _negated(term, f"r.created_at {sign} ?", _moment(term, now) / MICROSECONDS)
    if term.key:
        return _named(term, *RECORD_FIELDS[term.key], tails=term.key == "scope")
    sql, values = word_clause(term.value)
    return _negated(term, sql, *values)


def _fits(term: Term, entry: Waiting, bounds: Mapping[Term, int]) -> bool:
    stake = entry.stake
    if term in bounds:
        since = stake.since or 0
        return since >= bounds[term] if term.key == "since" else since < bounds[term]
    if term.key == "amount":
        wanted, currency = _amount(term)
        same = not currency or stake.currency.upper() == currency
        return stake.amount is not None and same and _COMPARES[term.sign](stake.amount, wanted)
    if term.key == "tool":
        return _same(entry.tool, term.value) or _same(entry.label, term.value)
    if term.key:
        value = {"agent": entry.agent, "kind": entry.kind, "effect": stake.effect}[term.key]
        return _same(value, term.value)
    return term.value.lower() in entry.text.lower() or term.value.lower() in _in_row(entry).lower()


def _in_row(entry: Waiting) -> str:
    """The words of an entry's line that its stored text has otherwise: its effect, and its arguments by name."""
    facts = entry.about if isinstance(entry.about, RequestFacts) else None
    try:
        args = json.loads(facts.args) if facts and facts.args and not facts.command else None
    except (ValueError, RecursionError):
        args = None
    return f"{entry.stake.effect} {call_object(entry.tool, args) if args else ''}"


def _same(value: str, wanted: str) -> bool:
    pattern = ".*".join(map(re.escape, wanted.lower().split("*")))
    return re.fullmatch(rf"{pattern}(\..*)?", value.lower(), re.DOTALL) is not None
