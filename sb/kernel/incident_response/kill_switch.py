"""Stop calls and let them run again.

Read from the store on every check, so that a kill thrown by another process bites on the next call. What cannot be
read stops everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import NamedTuple

from sb.base.sources import iso, iso_micros
from sb.base.values.frozen import frozen
from sb.errors import DeniedError, NotFoundError, SBError, StoreCorrupt, UsageError
from sb.kernel.authority.authority import OPERATORS, Authority
from sb.kernel.authority.signing import Decider, required
from sb.kernel.calls.intents import Intent, Intents
from sb.kernel.contracts import SafetyClass
from sb.kernel.incident_response.kill import Kill, KillScope, name_of, parse_scope
from sb.kernel.incident_response.statements import KILLS, Statement, Statements
from sb.log.event_log import EventLog
from sb.log.kinds import KILL_LIFTED, KILL_THROWN, OPERATOR_CHANGED
from sb.store import driver

LOOK_EVERY_S = 0.01
# Grows with each event that matters: who may lift a kill changes with the operators. One seek of an index a kind.
_VERSION = "SELECT " + " + ".join(
    f"ifnull((SELECT max(id) FROM events WHERE call_id = '{reference}' AND kind = '{kind}'"
    " AND substr(kind, 1, 7) <> 'kernel.'), 0)"
    for reference, kind in ((KILLS, KILL_THROWN), (KILLS, KILL_LIFTED), (OPERATORS, OPERATOR_CHANGED))
)
_CHANGING = tuple(safety_class for safety_class in SafetyClass if safety_class is not SafetyClass.READ_ONLY)
_Active = dict[str, Kill]  # by name


class Thrown(NamedTuple):
    """A kill that is in force.

    Args:
        running: the calls that had been announced before and had not ended when the wait for them was over; no other
            call that it stops starts any more.
    """

    kill: Kill
    running: tuple[Intent, ...] = ()


@frozen
class _Known:
    """The active kills as of a version and turn of the log, and the size of the statements file."""

    version: int = -1
    turn: int = -1
    size: int = -1
    active: _Active = field(default_factory=dict)


class KillSwitch:
    """The kills of one log.

    Args:
        authority: says who may lift; by default nobody is enrolled, and lifts are unsigned.
        dual_control: whether a kill that is thrown here needs two operators to lift it, once two are enrolled.
    """

    def __init__(
        self, log: EventLog, authority: Authority | None = None, *, dual_control: bool = False
    ) -> None:
        self.log = log
        self.authority = authority or Authority(None, log)
        self._dual_control = dual_control
        self._statements = Statements(log, self.authority, KILLS)
        self._size = self._statements.size
        self._known = _Known()

    def check(
        self,
        agent: str,
        tool_id: str,
        safety_class: SafetyClass,
        run_id: str,
        *,
        recovers: bool = False,
        exact: bool = True,
        execute: Callable[..., driver.Cursor] | None = None,
    ) -> Kill | None:
        """The kill that stops such a call, the widest first; None if there is none.

        Args:
            safety_class: the one that rules apply.
            recovers: whether it takes back what other calls did: then only its own agent and run count.
            exact: as of now; False for a call that is checked once more before it runs: then, as long as nothing is
                known to be killed, nothing is read.
            execute: of an open transaction of the log, to look within it.

        Raises:
            SBError: that cannot be told, so the call must not run.
        """
        active = self.in_force(execute, exact=exact)
        if not active:
            return None
        if not exact:
            active = self.in_force(execute)  # it may have been lifted since
        return _fitting(active, agent, tool_id, run_id, recovers=recovers, classes=(safety_class,))

    def check_function(self, agents: Iterable[str], run_id: str) -> Kill | None:
        """The kill that stops a function of a workflow, the widest first; None if there is none.

        It is no tool and declares no class, so it may be of any that changes something.

        Args:
            agents: those that it may be running for.

        Raises:
            SBError: that cannot be told, so it must not run.
        """
        if not self.in_force(exact=not self._statements.outside):  # the file beside the log has every kill
            return None
        active = self.in_force()
        found = (
            _fitting(active, agent, "", run_id, recovers=False, classes=_CHANGING) for agent in (*agents, "")
        )
        return next(filter(None, found), None)

    def active(self) -> list[Kill]:
        """Every kill in force, oldest first; raises like `check`."""
        return sorted(self.in_force().values(), key=lambda kill: kill.number)

    def throw(
        self, scope: KillScope | str, target: str, by: Decider, reason: str, *, wait_s: float = 1.0
    ) -> Thrown:
        """Stop calls: once this returns, none that the kill stops starts, except those it names as running.

        Anybody may, since stopping has to be easy; the reason is required. Read-only calls are not announced, so one
        that was admitted a moment before may still read.

        Args:
            target: the agent, tool id, safety class or run; "" for global.
            wait_s: seconds to wait for the end of calls that were announced before.

        Raises:
            UsageError: scope, target or reason cannot be used.
            StoreError: the kill is not on record, so it stops nothing.
        """
        known, target = parse_scope(str(scope), target)
        why, people = required(reason), self._people()
        facts = {"scope": str(known), "target": target, "reason": why, "people": people}
        with self.log.write(power=True) as write:
            number = self._statements.add(write, KILL_THROWN, facts, by)
        at = iso(self.log.clock.now())
        kill = Kill(number - self.log.first_id, known, target, by.name, bool(by.key_id), why, at, people)
        return Thrown(kill, tuple(self._wait(kill, wait_s)))

    def lift(
        self, scope: KillScope | str, target: str, by: Decider, reason: str, *, number: int = 0
    ) -> Kill | None:
        """Let calls run again.

        Args:
            number: of the kill that the person was shown; 0 for whichever is in force.

        Returns:
            The kill if another operator has to lift it too, None once it is lifted.

        Raises:
            NotFoundError: there is no such kill.
            DeniedError: this person may not lift it, or has done so already, or another kill is in force than was shown.
            UsageError: scope, target or reason cannot be used.
        """
        known, target = parse_scope(str(scope), target)
        name = name_of(known, target)
        facts = {"scope": str(known), "target": target, "reason": required(reason)}
        with self.log.write(power=True) as write:
            kill = self._replayed().get(name)
            if kill is None:
                raise NotFoundError(f"no kill of {name} is in force", "sb kill list")
            if number and kill.number != number:
                raise DeniedError(f"not the kill that was shown: by now {kill.sentence}", "sb kill list")
            if by.name in kill.lifted_by:
                raise DeniedError(f"{by.name} has lifted {kill.name} already; another operator has to")
            self._statements.add(write, KILL_LIFTED, facts, by)
        return self.in_force().get(name)

    def adopt(self) -> None:
        """Record outside the database what people stated before this version did so; raises like `check`."""
        self._statements.adopt()

    def lost(self) -> list[Statement]:
        """The kills and lifts that are on record outside the database and gone from the log; raises like `check`."""
        return self._statements.lost()

    def _people(self) -> int:
        """The number of operators who have to lift the present kills."""
        if not self._dual_control:
            return 1
        try:
            return min(2, max(1, len(self.authority.roster().active())))
        except SBError:
            return 2  # who is enrolled cannot be told, and stopping cannot wait for it

    def _wait(self, kill: Kill, wait_s: float) -> list[Intent]:
        """The calls that it came too late for, once they have ended or the time is over."""
        clock = self.log.clock
        end = clock.monotonic() + wait_s
        while True:
            running = [intent for intent in Intents(self.log).running() if self._stops(kill, intent)]
            if not running or clock.monotonic() >= end:
                return running
            clock.sleep(LOOK_EVERY_S)

    def _stops(self, kill: Kill, intent: Intent) -> bool:
        classes = self._classes(intent) if kill.scope is KillScope.CLASS else ()
        recovers = intent.reverses is not None
        found = _fitting(
            {kill.name: kill}, intent.agent, intent.tool_id, intent.run_id, recovers=recovers, classes=classes
        )
        return found is not None

    def _classes(self, intent: Intent) -> tuple[str, ...]:
        """The safety classes that an announced call may have."""
        event = next(self.log.about(str(intent.id - self.log.first_id)), None)
        declared = str((event.payload or {}).get("safety_class", "")) if event else ""
        # As ToolSpec.effective_class: one that is declared read-only may write elsewhere.
        return (declared, SafetyClass.NETWORK) if declared == SafetyClass.READ_ONLY else (declared,)

    def in_force(self, execute: Callable[..., driver.Cursor] | None = None, *, exact: bool = True) -> _Active:
        """Every kill by scope and target; empty when nothing is stopped. Raises like `check`."""
        known, turn, size = self._known, self.log.turn, self._size()
        if size == known.size:
            if turn == known.turn and (execute is not None or self.log.alone):
                return known.active
            if not exact and known.version >= 0:
                return known.active
        rows = execute(_VERSION).fetchall() if execute is not None else self.log.database.query(_VERSION)
        version = rows[0][0]
        if version < known.version:
            raise StoreCorrupt("kills have vanished from the log", "sb log verify")
        active = known.active if (version, size) == (known.version, known.size) else self._replayed()
        if (version, turn, size) != (known.version, known.turn, known.size):
            self._known = _Known(version, turn, size, active)
        return active

    def _replayed(self) -> _Active:
        """The active kills, replayed from the log's statements."""
        active: _Active = {}
        for statement in self._statements.read():
            if statement.event.kind == KILL_LIFTED:
                _lift(active, statement)
            else:
                kill = _thrown(statement)
                before = active.get(kill.name)
                people = kill.people if before is None else max(kill.people, before.people)
                active[kill.name] = kill._replace(people=people)
        return active


def _fitting(
    active: _Active, agent: str, tool_id: str, run_id: str, *, recovers: bool, classes: tuple[str, ...]
) -> Kill | None:
    """The first of these kills that stops such a call."""
    own = (f"agent:{agent}", f"run:{run_id}")
    wide = () if recovers else ("global", f"tool:{tool_id}", *[f"class:{class_}" for class_ in classes])
    for name in wide + own:
        if name in active:
            return active[name]
    return None


def _thrown(statement: Statement) -> Kill:
    """The kill of a statement; one that cannot be read might stop anything, so it stops everything."""
    event, fields = statement.event, statement.text
    try:
        scope, target = parse_scope(fields["scope"], fields["target"])
        reason, people = fields["reason"], int(statement.facts["people"])
    except (KeyError, ValueError, TypeError, UsageError):
        scope, target, people = KillScope.GLOBAL, "", 1
        reason = f"row {event.seq} of the log is a kill that cannot be read"
    at = iso_micros(event.at)
    by, signed, lost = statement.by, statement.signed, statement.lost
    return Kill(event.seq, scope, target, by, signed, reason, at, people, lost=lost)


def _lift(active: _Active, statement: Statement) -> None:
    fields = statement.text
    name = name_of(fields.get("scope", ""), fields.get("target", ""))
    kill = active.get(name)
    if kill is None:
        return
    if statement.doubt:
        active[name] = kill._replace(rejected=(*kill.rejected, f"by {statement.by}: {statement.doubt}"))
        return
    names = (*kill.lifted_by, *({statement.by} - set(kill.lifted_by)))
    if len(names) >= kill.people:
        del active[name]
    else:
        active[name] = kill._replace(lifted_by=names)
