"""Compare what hooks run from with what `sb install` recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from sb.config.home import Home
from sb.errors import SBError
from sb.hosts.install.environment import Environment, normal
from sb.hosts.install.inventory import differences, inventory
from sb.hosts.install.runtime import FILES, OWN_SKIPPED, in_use, key_of, library
from sb.kernel.review.findings import Finding, Status
from sb.tools.hosted.guarding import RECORD, Kind

_MOST_NAMED = 3


def runtime_findings(home: Home, again: str) -> Iterator[Finding]:
    """One finding for each change to the files that hooks run from.

    Args:
        again: the command that records it anew.
    """
    made = in_use(home)
    if made is None:
        detail = "hooks of an earlier version: they run code that agents can change"
        yield Finding("hooks", Status.WARN, detail, again)
        return
    try:
        known = json.loads((made / FILES).read_bytes())
        record = json.loads((made / RECORD).read_bytes())
        found = [*_changed(made, known, record, again)]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        yield Finding("hooks", Status.FAIL, f"the record of the hooks' files is damaged: {made}", again)
        return
    yield from found or [_as_installed(made, record, again)]


def _changed(made: Path, known: dict[str, Any], record: dict[str, Any], again: str) -> Iterator[Finding]:
    recorded: dict[str, dict[str, Any]] = {**known["library"], **known["roots"], str(made): known["own"]}
    now = {
        **library(record["python"]),
        **{root: inventory(Path(root)) for root in known["roots"]},
        str(made): inventory(made, OWN_SKIPPED),
    }
    files = [
        str(Path(root, line))
        for root in {**recorded, **now}
        for line in differences(recorded.get(root, {}), now.get(root, {}))
    ]
    upgraded = [] if record["kind"] != Kind.ISOLATED else _upgraded(known["versions"], list(known["roots"]))
    if upgraded:
        detail = f"upgraded since sb install: {_few(upgraded)}; hooks run the new version"
        yield Finding("hooks", Status.WARN, detail, f"{again}, if the upgrade was yours")
        return
    if files:
        detail = f"hooks run files that changed since sb install: {_few(files)}"
        yield Finding("hooks", Status.FAIL, detail, f"find out who changed them; then {again} accepts them")


def _upgraded(versions: Mapping[str, str], folders: list[str]) -> list[str]:
    """The packages whose version changed."""
    now = {
        normal(distribution.metadata["Name"] or ""): distribution.version
        for distribution in distributions(path=folders)
    }
    return [
        f"{name} {version} is {now.get(name, 'gone')}"
        for name, version in versions.items()
        if now.get(name) != version
    ]


def _as_installed(made: Path, record: dict[str, Any], again: str) -> Finding:
    """The finding that nothing changed; a copy may be older than the installed sb."""
    if record["kind"] == Kind.ISOLATED:
        return Finding("hooks", Status.OK, "hooks run the installed sb, unchanged since sb install")
    try:
        environment = Environment()
        older = key_of(environment) != made.name.rpartition("-")[0]
    except (SBError, OSError):
        older = False
    detail = "hooks run a copy of sb, unchanged since sb install"
    if older:
        return Finding(
            "hooks", Status.OK, f"{detail}; the sb that you run is newer or older", f"{again} renews it"
        )
    return Finding("hooks", Status.OK, detail)


def _few(lines: list[str]) -> str:
    more = len(lines) - _MOST_NAMED
    return "; ".join(lines[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
