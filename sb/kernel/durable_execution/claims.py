"""Claims on workflows: who runs one, and who may take it over.

An owner is `host:pid:start/token`. One on this host is looked at: while its process lives the claim holds, however
long a step takes, so no thread has to renew it; when the process is gone it may be taken over at once. `start` tells
a process from a later one of the same number. An owner that cannot be seen, in another container or on another host,
keeps its claim until the lease ends.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from sb.base.sources import MICROSECONDS, iso_micros, micros
from sb.kernel.calls.intents import HOST, process_lives
from sb.kernel.durable_execution.errors import LeaseLost, WorkflowClaimed
from sb.log.event_log import EventLog
from sb.store import driver

Execute = Callable[..., driver.Cursor]

OWNED = "(SELECT owner FROM workflows WHERE number = ?) = ?"
_ENDED = "ended"
_RENEW_AFTER = 0.1  # of the lease: renewing costs a page, so not every step does it
_held: set[str] = set()  # the claims of this process


class Claim:
    """The right to run one workflow, until it is released, or lost to another owner.

    Args:
        lease_s: seconds for which an owner that cannot be seen keeps its claim without a step.
    """

    def __init__(self, log: EventLog, lease_s: float) -> None:
        pid = os.getpid()
        self.owner = f"{HOST}:{pid}:{_own_start(pid)}/{log.ids.token(8)}"
        self._log = log
        self._lease_s = lease_s
        self._renew_at = 0.0
        self.number = 0

    def lease_until(self) -> int:
        """When a lease that begins now ends, in microseconds since the epoch."""
        now = self._log.clock.now()
        self._renew_at = now + self._lease_s * _RENEW_AFTER
        return micros(now + self._lease_s)

    def take(self, execute: Execute, number: int) -> None:
        """Enter this owner, inside the transaction that found the workflow free."""
        sql = "UPDATE workflows SET owner = ?, lease_until = ? WHERE number = ?"
        execute(sql, (self.owner, self.lease_until(), number))

    def hold(self, number: int) -> None:
        """Count it among this process's claims: before the commit, since from then on others look at it."""
        self.number = number
        _held.add(self.owner)

    def change(self, sql: str, parameters: tuple[Any, ...], *, power: bool = False) -> None:
        """Change one row of the steps as the owner, and renew the lease when it is time.

        Args:
            sql: a statement whose condition ends in OWNED.
            power: see `Database.write`.

        Raises:
            LeaseLost: somebody else is the owner by now; nothing was written.
        """
        with self._log.database.write(power=power) as execute:
            self._require_changed(execute(sql, (*parameters, self.number, self.owner)))
            if self._log.clock.now() >= self._renew_at:
                self.take(execute, self.number)

    def renew(self) -> None:
        """Begin the lease again; raises LeaseLost."""
        sql = "UPDATE workflows SET lease_until = ? WHERE number = ? AND owner = ?"
        with self._log.database.write() as execute:
            self._require_changed(execute(sql, (self.lease_until(), self.number, self.owner)))

    def release(self) -> None:
        """Let others run it; one that was taken over stays with its new owner."""
        _held.discard(self.owner)
        sql = "UPDATE workflows SET owner = '', lease_until = 0 WHERE number = ? AND owner = ?"
        with self._log.database.write() as execute:
            execute(sql, (self.number, self.owner))

    def finish(self, result: str, tag: str) -> None:
        """Record what the workflow gave, and that it is over; raises LeaseLost."""
        sql = "UPDATE workflows SET owner = '', lease_until = 0, result = ?, tag = ? WHERE number = ? AND owner = ?"
        with self._log.database.write() as execute:
            self._require_changed(execute(sql, (result, tag, self.number, self.owner)))
        _held.discard(self.owner)

    @staticmethod
    def _require_changed(done: driver.Cursor) -> None:
        if done.rowcount != 1:
            raise LeaseLost(
                "this attempt does not own its workflow any more: it has ended, or was taken over",
                "WorkflowJournal.unfinished() says who runs what",
            )


def is_claimed(owner: str, lease_until: int, now: float) -> bool:
    """True if that owner may still be running.

    Args:
        lease_until: microseconds since the epoch. now: seconds since the epoch.
    """
    if not owner:
        return False
    host, pid, mark = owner.split(":", 2)
    if host != HOST:
        return now * MICROSECONDS < lease_until
    if pid == str(os.getpid()):
        return owner in _held
    return process_lives(pid) and process_start(int(pid)) in ("", mark.rpartition("/")[0])


def refuse_claimed(workflow_id: str, owner: str, lease_until: int, now: float) -> None:
    """Raise WorkflowClaimed if that owner may still be running it; arguments as for `is_claimed`."""
    if is_claimed(owner, lease_until, now):
        host, pid, _ = owner.split(":", 2)
        raise WorkflowClaimed(
            f"workflow {workflow_id!r} is being run by process {pid} on {host}",
            "it is free when that process releases it or ends"
            + (f", or at {iso_micros(lease_until)}" if host != HOST else ""),
        )


@cache
def _own_start(pid: int) -> str:
    return process_start(pid)


def process_start(pid: int, proc: Path = Path("/proc")) -> str:
    """When a process began, in this system's own words: "ended" if it has ended, "" if that cannot be told."""
    try:
        if not (proc / "self").exists():
            return _start_by_ps(pid)
        stat = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return _ENDED
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()  # the name before it may hold anything
    return _ENDED if fields[0] in ("Z", "X") else fields[19]


def _start_by_ps(pid: int) -> str:
    """The same where there is no /proc."""
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    shown = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"LC_ALL": "C", "PATH": "/bin:/usr/bin"}
    )
    state, _, start = shown.stdout.strip().partition(" ")
    return _ENDED if state[:1] in ("", "Z") else start.strip()
