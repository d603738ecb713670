"""Releases of agents: the tuple of a run as it starts, the pinned one, and the drift between them."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from sb.base.secrets.redaction import one_line
from sb.base.text import nearest
from sb.base.values.canonical import canonical_bytes
from sb.config import Config, current_settings
from sb.errors import ConfigError, NotFoundError
from sb.kernel.agent_charter.charters import Charters
from sb.kernel.authority.signing import Decider
from sb.kernel.baselines.seen import LARGEST_DOCUMENT, SeenContract, SeenContracts
from sb.kernel.baselines.store import BaselineStatus, ContractBaselineStore
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.release_tuple.release import ReleasePart, ReleaseTuple, diff
from sb.kernel.run_context import RunContext
from sb.log.event_log import EventLog, LogWrite

TOOLS_SURFACE = "release-tools"  # of the contracts behind the part `tools`
_ALL_TOOLS = "tools"
_MOST_FILES = 1000  # of one part
_LONGEST_NAME = 120  # characters
# Settings that say where things are, or what they cost, and not what an agent may do.
_ELSEWHERE = ("memory", "release", "database", "prices", "telemetry", "audit", "entity", "operators", "undo")


class Drift(NamedTuple):
    """Differences from the pinned release; `problem` says why they cannot be told, or ""."""

    parts: tuple[str, ...] = ()
    problem: str = ""


class ReleaseEntry(NamedTuple):
    """One release of an agent as runs met it; times in microseconds since the epoch."""

    agent: str
    id: str
    release: ReleaseTuple
    first_seen_at: int
    last_seen_at: int
    pinned: bool


class Releases:
    """The releases of one home.

    Args:
        store: the pins, of the surface RELEASE_SURFACE.
        registry: the tools of this process; None for a face that only reads.
        charters: part of the policy; None where they are off.
    """

    def __init__(
        self,
        config: Config,
        log: EventLog,
        store: ContractBaselineStore,
        registry: ToolRegistry | None = None,
        charters: Charters | None = None,
    ) -> None:
        self._config = config
        self._log = log
        self._store = store
        self._registry = registry
        self._charters = charters
        self._tools = SeenContracts(log, TOOLS_SURFACE)

    def of_run(self, ctx: RunContext) -> ReleaseTuple:
        """The release of a run, made when it is first asked for."""
        known: ReleaseTuple | None = ctx.__dict__.get("_release")
        if known is None:
            known = ctx.__dict__["_release"] = self._made(ctx)
        return known

    def drift(self, ctx: RunContext) -> Drift:
        """The drift of a run's release from its agent's pinned one; empty where none is pinned."""
        release = self.of_run(ctx)
        status, detail = self._store.status(ctx.agent_name, release.id)
        if status is BaselineStatus.UNREADABLE:
            return Drift(problem=f"the pinned release of {ctx.agent_name} cannot be told: {detail}")
        if status is not BaselineStatus.CHANGED:
            return Drift()
        pinned = self._store.seen.find(ctx.agent_name, detail)
        if pinned is None or pinned.damaged:
            return Drift(problem=f"the pinned release of {ctx.agent_name} is not what its id says")
        return Drift(
            tuple(change.part for change in diff(ReleaseTuple.from_document(pinned.document), release))
        )

    def keep(self, write: LogWrite, ctx: RunContext) -> str:
        """Keep the release of a run, in a transaction that is open anyway; returns its id."""
        release = self.of_run(ctx)
        contracts = self._contracts()
        if len(canonical_bytes(contracts)) <= LARGEST_DOCUMENT:
            self._tools.keep_document(write.execute, _ALL_TOOLS, contracts, "release")
        return self._store.seen.keep_document(write.execute, ctx.agent_name, release.document(), "release")

    def entries(self, agent: str = "") -> list[ReleaseEntry]:
        """The releases that runs of an agent, or of any, had; newest first."""
        contracts = [item for item in self._store.seen.every() if not agent or item.tool_id == agent]
        return [self._entry(contract) for contract in contracts if not contract.damaged]

    def entry(self, agent: str, release_id: str = "") -> ReleaseEntry:
        """A release of an agent by the beginning of its id; the newest for "".

        Raises:
            NotFoundError: there is none, or several begin like that.
        """
        known = self.entries(agent)
        if not known:
            agents = {release_entry.agent for release_entry in self.entries()}
            hint = "run it once with release.check: observe"
            raise NotFoundError(
                f"no run of agent {one_line(agent, 80)} has a release{nearest(agent, agents)}", hint
            )
        wanted = "sha256:" + release_id.removeprefix("sha256:")
        found = [release_entry for release_entry in known if release_entry.id.startswith(wanted)]
        if not found or (release_id and len(found) > 1):
            how = "several releases begin with" if found else f"agent {agent} has no release"
            raise NotFoundError(f"{how} {one_line(release_id, 80)}", f"sb release list {agent}")
        return found[0]

    def pinned(self, agent: str) -> ReleaseEntry | None:
        """The pinned release of an agent; None where none is."""
        return next((release_entry for release_entry in self.entries(agent) if release_entry.pinned), None)

    def contracts_of(self, release: ReleaseTuple) -> dict[str, str] | None:
        """Tool id to contract fingerprint of a release; None where they were too many to keep."""
        contract = self._tools.find(_ALL_TOOLS, "sha256:" + release.tools.content_hash)
        return None if contract is None or contract.damaged else contract.document

    def pin(self, agent: str, release_id: str, by: Decider, reason: str = "") -> None:
        """Make a release the one that runs of an agent have to have; "" lifts that.

        Raises:
            NotFoundError: no run had it.
            Unauthorised: this person may not decide.
        """
        if not release_id and self.pinned(agent) is None:
            raise NotFoundError(f"no release of agent {one_line(agent, 80)} is pinned", "sb release list")
        self._store.approve({agent: release_id}, by, reason)

    def _entry(self, contract: SeenContract) -> ReleaseEntry:
        pinned = self._store.status(contract.tool_id, contract.fingerprint)[0] is BaselineStatus.APPROVED
        release = ReleaseTuple.from_document(contract.document)
        return ReleaseEntry(
            contract.tool_id,
            contract.fingerprint,
            release,
            contract.first_seen_at,
            contract.last_seen_at,
            pinned,
        )

    def _made(self, ctx: RunContext) -> ReleaseTuple:
        config = self._config.release
        model = one_line(str(ctx.metadata.get("model") or config.model), _LONGEST_NAME)  # masked too
        charter = None if self._charters is None else self._charters.entry(ctx.agent_name).charter
        policy = {**self._settings["policy"], "charter": charter.fingerprint if charter else ""}
        contracts = self._contracts()
        sources = (self._config.home.context_sources,)
        return ReleaseTuple(
            prompt=files_part(config.prompt),
            model=ReleasePart.of(model or "unstated", model),
            policy=ReleasePart.of("settings", policy),
            tools=ReleasePart.of(f"{len(contracts)} contracts", contracts),
            context=files_part(sources if sources[0].exists() else ()),
            eval=files_part(config.eval),
            memory=ReleasePart.of(self._config.memory.embedder, self._settings["memory"]),
        )

    def _contracts(self) -> dict[str, str]:
        return {} if self._registry is None else SeenContracts(self._log).fingerprints(self._registry)

    @cached_property
    def _settings(self) -> dict[str, dict[str, Any]]:
        """The settings of the parts `policy` and `memory`."""
        parts: dict[str, dict[str, Any]] = {"policy": {}, "memory": {}}
        for line in current_settings(self._config):
            group = line.key.partition(".")[0]
            if group == "memory":
                parts["memory"][line.key] = line.value
            elif group not in _ELSEWHERE:
                parts["policy"][line.key] = line.value
        return parts


def files_part(paths: tuple[Path, ...]) -> ReleasePart:
    """The part that files and folders make up, by their names and contents; what is missing or unreadable counts as that.

    Raises:
        ConfigError: they hold more than 1000 files.
    """
    if not paths:
        return ReleasePart.of("none", {})
    hashes = {name: _hash(path) for name, path in _files(paths)}
    names = (path.name if path.exists() else f"{path.name} (missing)" for path in paths)
    if len(hashes) > _MOST_FILES:
        raise ConfigError(
            f"a part of the release has more than {_MOST_FILES} files", "name fewer under release:"
        )
    return ReleasePart.of(one_line(", ".join(names), _LONGEST_NAME), hashes)


def _files(paths: tuple[Path, ...]) -> Iterator[tuple[str, Path]]:
    """Each file with its name from the folder that it was named by; links are not followed below that."""
    for number, path in enumerate(paths):
        if not path.is_dir():
            yield f"{number}/{path.name}", path
            continue
        for folder, inner, names in os.walk(path):
            inner.sort()
            for name in sorted(names):
                inside = Path(folder) / name
                yield f"{number}/{inside.relative_to(path.parent)}", inside


def _hash(path: Path) -> str:
    """SHA-256 (hex) of a regular file; one word for what is none, which would differ from every file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would block
    except FileNotFoundError:
        return "missing"
    except OSError:
        return "unreadable"
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return "no file"
    with open(handle, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
