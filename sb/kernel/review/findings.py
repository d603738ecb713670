"""Findings of `sb doctor` about the kernel: what is enforced, and whether the log holds.

One answer for `sb doctor` and for the console.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from sb.base.text import counted, human_bytes, plain
from sb.base.values.frozen import frozen
from sb.config import Config
from sb.kernel.authority.authority import Assurance, Authority
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.durable_execution.doubt import in_doubt
from sb.kernel.incident_response.interrupted import interrupted
from sb.kernel.incident_response.kill import Kill, KillScope
from sb.kernel.review.verification_record import verification_state
from sb.log.event_log import EventLog
from sb.store.packs import Size
from sb.store.trees.store import TreesSize

NEARLY_FULL = 0.9  # of the room for snapshots
_MOST_SLOW = 3  # projects named


class Status(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@frozen
class Finding:
    """One line; `hint` says what to do when the status is not ok."""

    name: str
    status: Status
    detail: str
    hint: str = ""


def snapshots_finding(size: Size) -> Finding:
    """Finding on the size of the snapshot store."""
    detail = f"{human_bytes(size.stored)} of {human_bytes(size.cap)} in {counted(size.packs, 'snapshot')}"
    if size.stored < NEARLY_FULL * size.cap:
        return Finding("snapshots", Status.OK, detail)
    why = f"{detail}; once full, calls that change files ask first"
    return Finding("snapshots", Status.WARN, why, "sb undo --purge, or raise undo.store_max_bytes")


def trees_finding(size: TreesSize, off: str, slow: Mapping[str, str]) -> Finding:
    """The finding about trees of projects: fill, and the projects that are too slow.

    Args:
        off: why none is stored, "" if they are. slow: by project, why its tree was not stored last.
    """
    if off:
        return Finding("trees", Status.OK, f"not stored: {off}; what a line does not name cannot be undone")
    detail = f"{human_bytes(size.stored)} of {human_bytes(size.cap)} in {counted(size.projects, 'project')}"
    if not slow:
        return Finding("trees", Status.OK, detail)
    named = "; ".join(f"{project}: {why}" for project, why in sorted(slow.items())[:_MOST_SLOW])
    why = f"{detail}; there only files that a line names can be undone: {named}"
    return Finding("trees", Status.WARN, why, "raise undo.tree_ms, or ignore what need not be stored")


def enforcement(config: Config) -> list[Finding]:
    """Findings on the configured enforcement."""
    words = {
        "off": (Status.FAIL, "contracts that changed are not noticed"),
        "observe": (Status.WARN, "contracts that changed are logged and still run"),
        "enforce": (Status.OK, "contracts that changed are denied where they have side effects"),
    }
    status, meaning = words[config.contract_enforcement]
    hint = "" if status is Status.OK else "set contract_enforcement: enforce"
    destructive = "need a person" if config.safety_mode == "normal" else "are denied"
    backs = {
        "off": (Status.FAIL, "undo is off"),
        "observe": (Status.WARN, "undo records are kept; irreversible effects are counted, not limited"),
        "enforce": (
            Status.OK,
            "undo records are kept; what cannot be undone asks a person, or stays under a limit",
        ),
    }
    back, summary = backs[config.reversibility]
    remedy = "" if back is Status.OK else "set reversibility: enforce"
    known = ", ".join(sorted(config.agents)) or "none"
    return [
        Finding("contracts", status, meaning, hint),
        Finding("undo", back, summary, remedy),
        Finding("policy", Status.OK, f"{config.safety_mode} mode; destructive calls {destructive}"),
        Finding("agents", Status.OK, f"{known}; any other is bound by tool allowlists and policy only"),
    ]


def log_standing(log: EventLog) -> Finding:
    """Finding on the log's anchors and its newest verification; quick, without walking
    the chain.

    Raises:
        StoreError: database or anchor file cannot be read.
    """
    anchored = log.anchored()  # before the head: another process may write meanwhile
    head, verified = log.head(), verification_state(log)
    newest = anchored.newest.seq if anchored.newest else 0
    if newest > head.seq or anchored.unreadable or anchored.replaced:
        return Finding("log", Status.FAIL, "it does not fit its anchor", "sb log verify")
    if head.seq and not newest and log.anchor is not None:
        detail = f"{head.seq:,} rows and no anchor of them: if the log was cut or rewritten, nothing shows it"
        return Finding("log", Status.FAIL, detail, f"put {log.anchor.path} back, or compare with a backup")
    if verified.trouble:
        return Finding("log", Status.FAIL, plain(verified.trouble, one_line=True), "sb log verify")
    detail = f"{head.seq:,} rows, anchored up to {newest:,}; sb log verify checks all"
    return Finding("log", Status.OK, detail)


def interrupted_statements(log: EventLog) -> list[Finding]:
    """One line on what people stated and no process lived to commit, if there is any."""
    lines = interrupted(log)
    if not lines:
        return []
    named = ", ".join(dict.fromkeys(line.kind for line in lines))
    return [
        Finding(
            "statements",
            Status.WARN,
            f"{counted(len(lines), 'statement')} broke off: {named}",
            "sb doctor --fix",
        )
    ]


def calls_in_doubt(log: EventLog) -> list[Finding]:
    """A finding on calls with unknown outcome, if there are any."""
    doubtful = in_doubt(log)
    if not doubtful:
        return []
    calls = ", ".join(f"{intent.tool_id} ({intent.call_id})" for intent in doubtful[:3])
    return [
        Finding(
            "in doubt",
            Status.WARN,
            f"{counted(len(doubtful), 'unknown outcome')}: {calls}",
            "sb recovery list",
        )
    ]


def kill_finding(kill: Kill) -> Finding:
    """One line on what is stopped."""
    status = Status.FAIL if kill.scope is KillScope.GLOBAL else Status.WARN
    waiting = f"; lifted by {', '.join(kill.lifted_by)}, one more has to" if kill.lifted_by else ""
    ignored = f"; a lift does not count, {kill.rejected[-1]}" if kill.rejected else ""
    lost = "; its row is gone from the log: sb log verify" if kill.lost else ""
    detail = plain(f"{kill.sentence} ({kill.at[:16]}Z){waiting}{ignored}{lost}", one_line=True)
    return Finding("killed", status, detail, kill.lift_command)


def operators(config: Config, authority: Authority) -> list[Finding]:
    """Findings on the assurance of decisions, and on operators.

    Raises:
        Unauthorised: that cannot be relied on.
    """
    level = authority.assurance(KeyFolder(config.home.keys))
    nobody = level is Assurance.NONE
    status, hint = (Status.WARN, level.next_step) if nobody else (Status.OK, "")
    found = [Finding("assurance", status, f"{level.name.lower()}: {level.meaning}", hint)]
    active = authority.roster().active()
    if active:
        names = ", ".join(operator.name for operator in active)
        detail = f"{names}; next level: {level.next_step or 'none'}"
        found.append(Finding("operators", Status.OK, detail))
        if not authority.recorded():
            detail = (
                "who is enrolled is not on this database's log, so a lost operators file would not be noticed"
            )
            found.append(Finding("operators", Status.WARN, detail, "sb operator init records it"))
    if len(active) < 2 and config.approvals.dual_control:
        tools = ", ".join(config.approvals.dual_control)
        detail = f"{tools} need two operators: nobody can approve"
        found.append(Finding("operators", Status.WARN, detail, "sb operator add"))
    return found
