"""Check the installation: what is in use, what is enforced, what is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sb.base.duration import human_age
from sb.base.text import counted, human_bytes
from sb.config import Config
from sb.config.database_key import NONE
from sb.errors import SBError
from sb.hosts.deciders import deciders, describe_counts
from sb.hosts.install.health import install_findings
from sb.hosts.install.host import Places
from sb.hosts.install.records import Records, installed_hosts
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.baselines.seeding import outdated_contracts
from sb.kernel.baselines.seen import SURFACES
from sb.kernel.baselines.store import ContractBaselineStore
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.policy.lint import unknown_names
from sb.kernel.recovery_loop.escalations import Escalations, EscalationState
from sb.kernel.review.findings import (
    Finding,
    Status,
    calls_in_doubt,
    enforcement,
    interrupted_statements,
    kill_finding,
    log_standing,
    operators,
    snapshots_finding,
    trees_finding,
)
from sb.kernel.review.host_questions import question_counts
from sb.kernel.review.host_sessions import connected_agents
from sb.log.event_log import EventLog
from sb.runtime.parts import (
    boundary_findings,
    open_authority,
    open_kill_switch,
    open_registry,
    open_snapshots,
    open_trees,
    shipped_registry,
    trees_off,
)
from sb.store import driver, migrate
from sb.store.anchor import Anchor
from sb.store.database import Database
from sb.store.embedding.selection import NoEmbedder, choose
from sb.store.filesystem import network_file_system

_MOST_CONNECTED = 3
_DAYS = 7  # of the questions that are counted
# Tables, and what a row of them is called.
_COUNTED = {
    "events": "event",
    "intents": "unfinished call",
    "steps": "workflow step",
    "memory": "kernel value",
    "records": "memory",
}


def examine(config: Config) -> list[Finding]:
    """Every finding; nothing is written or repaired, and one check that fails does not stop the others."""
    findings = [*_driver(), _embedder(config), *_configuration(config), *enforcement(config), *_tools(config)]
    findings += _guarded("hooks", lambda: install_findings(config, Places(os.environ, Path.cwd())))
    if not config.database.is_file() or config.database.stat().st_size == 0:
        detail = (
            f"{config.database} is empty"
            if config.database.is_file()
            else f"no database at {config.database}"
        )
        return [*findings, Finding("database", Status.FAIL, detail, "make one with `sb init`")]
    try:
        database = Database(config.database)
    except SBError as error:
        return [*findings, Finding("database", Status.FAIL, error.message, error.hint)]
    try:
        findings += _guarded("database", lambda: _database(config, database))
        log = EventLog(database, anchor=Anchor(config.home.anchors))
        findings += _guarded("log", lambda: _log(log))
        findings += _guarded("operators", lambda: operators(config, open_authority(config, log)))
        findings += _guarded("decides", lambda: _deciders(config, log))
        findings += _guarded("killed", lambda: _kills(config, log))
        findings += _guarded("baselines", lambda: _baselines(config, log))
        findings += _guarded(
            "boundaries", lambda: boundary_findings(config, log, open_authority(config, log))
        )
        findings += _guarded("approvals", lambda: _approvals(log))
        findings += _guarded("recovery", lambda: _recovery(log))
        findings += _guarded("memory", lambda: _memory(config, database))
        findings += _guarded("connected", lambda: _connected(config, log))
    finally:
        database.close()
    return findings


def _guarded(name: str, check: object) -> list[Finding]:
    try:
        return list(check())  # type: ignore[operator]
    except SBError as error:
        return [Finding(name, Status.FAIL, error.message, error.hint)]


def _driver() -> Iterator[Finding]:
    yield Finding("driver", Status.OK, f"{driver.NAME}, SQLite {driver.VERSION}")
    connection = driver.connect(":memory:")
    try:
        yield Finding("vectors", Status.OK, f"sqlite-vec {driver.load_vectors(connection)}")
    except SBError as error:
        yield Finding("vectors", Status.WARN, error.message, error.hint)
    finally:
        connection.close()


def _embedder(config: Config) -> Finding:
    chosen = choose(config.memory)
    if isinstance(chosen, NoEmbedder):
        wanted = config.memory.embedder == "none"
        return Finding("embedder", Status.OK if wanted else Status.WARN, str(chosen), chosen.hint)
    detail = f"{config.memory.embedder}, {chosen.model}, {chosen.dimensions} dimensions"
    return Finding("embedder", Status.OK, detail)


def _configuration(config: Config) -> Iterator[Finding]:
    source = config.home.config_file
    yield Finding("configuration", Status.OK, str(source) if source.exists() else f"defaults (no {source})")
    for policy in config.organization:
        yield Finding("organization", Status.OK, policy)
    for line in config.notes:
        yield Finding("configuration", Status.WARN, line)


def _tools(config: Config) -> Iterator[Finding]:
    registry, failures = open_registry(config)
    roots = ", ".join(map(str, config.files.roots)) or "no folder"
    hosts = ", ".join(map(str, config.http.allow)) or "no host"
    yield Finding("tools", Status.OK, f"{len(registry)} registered; files: {roots}; http: {hosts}")
    for root in config.files.roots:
        if not root.is_dir():
            yield Finding("tools", Status.WARN, f"files.roots names {root}, which is no folder", "make it")
    for line in unknown_names(config, registry.list_ids()):
        yield Finding("configuration", Status.WARN, line)
    for failure in failures:
        yield Finding("tools", Status.WARN, str(failure))


def _encryption(config: Config, database: Database) -> Finding:
    if database.encrypted:
        detail = f"SQLCipher {driver.cipher_version()}, key in {config.database_key}"
        return Finding("encryption", Status.OK, detail)
    if config.database_key != NONE:
        return Finding(
            "encryption",
            Status.WARN,
            "the database is not encrypted, though database_key is set",
            "sb store encrypt",
        )
    return Finding(
        "encryption", Status.OK, "none: whoever reads the file reads the memories (docs/reference/store.md)"
    )


def _database(config: Config, database: Database) -> Iterator[Finding]:
    files = [Path(database.path + suffix) for suffix in ("", "-wal")]
    size = human_bytes(sum(file.stat().st_size for file in files if file.exists()))
    yield Finding("database", Status.OK, f"{database.path}, {size}, journal wal")
    yield _encryption(config, database)
    network = network_file_system(config.database)
    if network:
        detail = f"the database is on a network file system ({network}): its locks cannot be relied on"
        yield Finding("database", Status.WARN, detail, "move it to a local disk with --db or SB_DB")
    migrate.refuse_newer(database.query, database.path)
    amiss = [line for line in migrate.status(database.query) if line.state != "applied"]
    for line in amiss:
        detail = f"migration {line.number:04d}_{line.name} is {line.state}: {', '.join(line.differing)}"
        yield Finding("schema", Status.FAIL, detail, "sb migrate --status")
    if not amiss:
        yield Finding("schema", Status.OK, f"version {migrate.version(database.query)}")
    yield _integrity(database)
    counts = [
        counted(database.query(f"SELECT count(*) FROM {table}")[0][0], noun)
        for table, noun in _COUNTED.items()
    ]
    yield Finding("sizes", Status.OK, ", ".join(counts))
    yield snapshots_finding(open_snapshots(config).size())
    trees = open_trees(config)
    yield trees_finding(trees.size(), trees_off(config), trees.slow_projects())


def _integrity(database: Database) -> Finding:
    damage = [str(row[0]) for row in database.query("PRAGMA integrity_check(3)") if row[0] != "ok"]
    broken = {(row[0], row[2]) for row in database.query("PRAGMA foreign_key_check")}
    damage += [f"{table} refers to rows of {parent} that are not there" for table, parent in sorted(broken)]
    if damage:
        return Finding(
            "integrity", Status.FAIL, "; ".join(damage), "restore a backup; docs/reference/store.md"
        )
    return Finding("integrity", Status.OK, "pages, indexes and references are sound")


def _log(log: EventLog) -> Iterator[Finding]:
    yield log_standing(log)
    yield from calls_in_doubt(log)
    yield from interrupted_statements(log)


def _deciders(config: Config, log: EventLog) -> Iterator[Finding]:
    """Findings on the deciders of agents' calls, and on hosts' questions to their users."""
    enrolled = open_authority(config, log).enrolled()
    found = deciders(config.hooks.approval, enrolled=enrolled, hosts=installed_hosts(config.home))
    yield Finding("decides", Status.OK, f"{found.level}: {found.who}")
    counts = question_counts(log, _DAYS)
    if any(vars(counts).values()):
        yield Finding("questions", Status.OK, f"last {_DAYS} days: {'; '.join(describe_counts(counts))}")


def _kills(config: Config, log: EventLog) -> Iterator[Finding]:
    yield from map(kill_finding, open_kill_switch(config, log).active())


def _approvals(log: EventLog) -> Iterator[Finding]:
    queue = ApprovalQueue(log)
    now = queue.now()
    waiting = queue.page(states=[ApprovalState.WAITING], limit=0)
    overdue = sum(approval.overdue(now) for approval in waiting)
    grants = len(queue.grants(active=True))
    detail = (
        f"{counted(len(waiting), 'request')} pending, {overdue} overdue; {counted(grants, 'grant')} in force"
    )
    hint = "sb approvals list" if overdue else ""
    yield Finding("approvals", Status.WARN if overdue else Status.OK, detail, hint)


def _recovery(log: EventLog) -> Iterator[Finding]:
    found = Escalations(log).page(limit=0)
    by_hand = [escalation for escalation in found if escalation.state is not EscalationState.WAITING]
    waiting = len(found) - len(by_hand)
    detail = f"{counted(len(found), 'escalation')}, {waiting} waiting for a decision"
    status = Status.WARN if by_hand else Status.OK
    yield Finding("recovery", status, detail, "sb recovery list" if by_hand else "")


def _memory(config: Config, database: Database) -> list[Finding]:
    from sb.memory.checks import check
    from sb.memory.space import Space

    return check(Space(database, config.memory))


def _connected(config: Config, log: EventLog) -> Iterator[Finding]:
    found, now = connected_agents(log), log.clock.now()
    parts = [
        f"{item.host}{f' in {item.project}' if item.project else ''}, last seen {human_age(now - item.last_seen_at / 1e6)}"
        for item in found[:_MOST_CONNECTED]
    ]
    if len(found) > _MOST_CONNECTED:
        parts.append(f"and {len(found) - _MOST_CONNECTED} more (sb console)")
    hint = "" if found or Records(config.home).all() else "sb install claude-code"
    yield Finding("connected", Status.OK, "; ".join(parts) or "no session of a coding agent yet", hint)


def _baselines(config: Config, log: EventLog) -> Iterator[Finding]:
    shipped = shipped_registry(config)  # before tools of others are loaded, which could edit it
    authority = open_authority(config, log)
    stores = [ContractBaselineStore(log, authority, surface) for surface in SURFACES]
    outdated = outdated_contracts(stores, shipped)
    registry, _ = open_registry(config)
    counts: dict[str, int] = {}
    for entry in (entry for store in stores for entry in store.entries(registry)):
        counts[str(entry.status)] = counts.get(str(entry.status), 0) + 1
    summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()) if count)
    amiss = any(count for status, count in counts.items() if status != "approved")
    hint = "sb doctor --fix" if outdated else "sb runtime-guard mismatches" if amiss else ""
    if outdated:
        summary += (
            f"; {counted(len(outdated), 'contract')} of this release not approved, so their calls are denied"
        )
    yield Finding("baselines", Status.WARN if amiss else Status.OK, f"contracts: {summary or 'none'}", hint)
