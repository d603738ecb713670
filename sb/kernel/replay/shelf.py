"""The packets of a home: whose runs are captured, what there is, and for how long."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Collection
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

from sb import __version__
from sb.base.files import write_atomic
from sb.base.secrets.redaction import one_line
from sb.base.sources import Clock
from sb.base.values.references import full_one
from sb.errors import ConfigError, NotFoundError, SBError, UsageError
from sb.kernel.calls.call import Refused, ToolCall
from sb.kernel.execution.outcome import Outcome
from sb.kernel.replay.packet import Packet, ended_facts, packet_of, refused_facts
from sb.kernel.replay.packet_file import PacketFile, PacketFull
from sb.kernel.run_context import RunContext
from sb.store.secret import derived_key, home_secret

_AGENTS = "agents.json"
EVERY_AGENT = "*"
_SUFFIX = ".packet"
_DAY_S = 86_400.0
_SHOWN = 80  # characters of an id in a message
_ROOM = 1 << 16  # bytes beyond the largest size, for notes that calls are missing


class PacketShelf:
    """The packets of one home.

    Args:
        folder: of the packets; made when the first agent is captured.
        secret: the file of the home's secret.
        keep_days: after which a packet is removed; 0 keeps them for ever.
        max_bytes: the largest packet.
    """

    def __init__(self, folder: Path, secret: Path, clock: Clock, *, keep_days: int, max_bytes: int) -> None:
        self.folder = folder
        self._secret = secret
        self._clock = clock
        self._keep_days = keep_days
        self._max_bytes = max_bytes
        self._files: dict[str, PacketFile] = {}

    def agents(self) -> tuple[str, ...]:
        """Whose runs are captured; raises ConfigError if that cannot be read."""
        path = self.folder / _AGENTS
        try:
            found = json.loads(path.read_bytes())
        except FileNotFoundError:
            return ()
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: cannot be read: {error}", "remove it to capture nobody") from None
        if not isinstance(found, list):
            raise ConfigError(f"{path}: is not a list of agents", "remove it to capture nobody")
        return tuple(sorted(map(str, found)))

    def capture(self, agent: str, *, on: bool) -> tuple[str, ...]:
        """Capture the runs of an agent from now on, or no longer; whose runs are captured then.

        Raises:
            UsageError: the name is empty.
            ConfigError: it cannot be written.
        """
        if not agent.strip():
            raise UsageError("an agent has a name", "sb replay capture clerk")
        agents = {*self.agents(), agent} if on else {*self.agents()} - {agent}
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomic(self.folder / _AGENTS, json.dumps(sorted(agents)).encode())
        except OSError as error:
            raise ConfigError(f"{self.folder}: cannot be written: {error.strerror}") from None
        return tuple(sorted(agents))

    def file(self, run_id: str) -> PacketFile:
        """The packet of a run, which need not exist."""
        if run_id not in self._files:
            name = hashlib.sha256(run_id.encode()).hexdigest()[:32]  # an id may have any character
            self._files[run_id] = PacketFile(self.folder / f"{name}{_SUFFIX}", self._key)
        return self._files[run_id]

    @cached_property
    def _key(self) -> bytes:
        return derived_key(home_secret(self._secret), "sb replay packet")

    def append(self, ctx: RunContext, record: dict[str, Any], *, from_start: bool = False) -> dict[str, Any]:
        """Add a record to the packet of a run; facts for the log if it cannot be."""
        first = partial(_begun, ctx, from_start=from_start, at=self._clock.now())
        file = self.file(ctx.run_id)
        try:
            file.append(record, first, self._max_bytes)
        except PacketFull:
            with contextlib.suppress(PacketFull, OSError):  # what is missing is said in the log too
                file.append({"kind": "full"}, first, self._max_bytes + _ROOM)
            return {"capture": "the packet is full"}
        except (OSError, SBError, TypeError, ValueError) as error:  # an agent's work goes on without it
            return {"capture": f"failed: {type(error).__name__}"}
        return {}

    def packets(self) -> tuple[list[Packet], list[str]]:
        """The captured runs without their calls, the newest first, and what is wrong with the others."""
        found: list[Packet] = []
        wrong = []
        for path in sorted(self.folder.glob(f"*{_SUFFIX}")):
            try:
                packet = packet_of(islice(PacketFile(path, self._key).records(), 1))
            except SBError as error:
                wrong.append(error.message)
            else:
                found += [packet] if packet else []
        return sorted(found, key=lambda packet: float(packet.begun["at"]), reverse=True), wrong

    def read(self, reference: str) -> Packet:
        """The packet of a run, by its id or the beginning of it.

        Raises:
            NotFoundError: none was captured.
            DeniedError: the packet was changed.
            ConfigError: it cannot be read.
        """
        run_id = full_one(reference, [packet.run_id for packet in self.packets()[0]])
        if not self.file(run_id).path.exists():
            raise NotFoundError(f"no packet of {one_line(run_id, _SHOWN)}", "sb replay list")
        packet = packet_of(self.file(run_id).records())
        if packet is None:
            raise NotFoundError(f"the packet of {run_id} is empty", "sb replay list")
        return packet

    def delete(self, reference: str) -> str:
        """Remove the packet of a run; its id.

        Raises:
            NotFoundError: none was captured.
        """
        run_id = full_one(reference, [packet.run_id for packet in self.packets()[0]])
        try:
            self.file(run_id).path.unlink()
        except FileNotFoundError:
            raise NotFoundError(f"no packet of {one_line(run_id, _SHOWN)}", "sb replay list") from None
        return run_id

    def remove_old(self) -> None:
        """Remove the packets that nothing was added to for longer than they are kept."""
        if not self._keep_days:
            return
        before = self._clock.now() - self._keep_days * _DAY_S
        for path in self.folder.glob(f"*{_SUFFIX}"):
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                if path.stat().st_mtime < before:
                    path.unlink()


class Capture:
    """Takes down the runs of some agents; see `sb.kernel.execution.capturing`.

    Args:
        agents: their names; EVERY_AGENT among them is all.
    """

    def __init__(self, shelf: PacketShelf, agents: Collection[str], clock: Clock) -> None:
        self._shelf = shelf
        self._agents = agents
        self._clock = clock

    def began(self, ctx: RunContext, facts: dict[str, Any]) -> dict[str, Any]:
        if not self._captures(ctx):
            return {}
        self._shelf.remove_old()
        return self._shelf.append(ctx, {"kind": "rules", "facts": facts}, from_start=True)

    def refused(self, call: ToolCall, refusal: Refused) -> dict[str, Any]:
        if not self._captures(call.ctx):
            return {}
        return self._step(call, refused_facts(call, refusal, self._clock.now()))

    def ended(self, call: ToolCall, outcome: Outcome) -> dict[str, Any]:
        if not self._captures(call.ctx):
            return {}
        return self._step(call, ended_facts(call, outcome, self._clock.now()))

    def _captures(self, ctx: RunContext) -> bool:
        return ctx.agent_name in self._agents or EVERY_AGENT in self._agents

    def _step(self, call: ToolCall, facts: dict[str, Any]) -> dict[str, Any]:
        return self._shelf.append(call.ctx, {"kind": "step", "facts": facts})

    def finished(self, ctx: RunContext, error: str) -> dict[str, Any]:
        if not self._captures(ctx):
            return {}
        return self._shelf.append(ctx, {"kind": "ended", "facts": {"error": error}})


def _begun(ctx: RunContext, *, from_start: bool, at: float) -> dict[str, Any]:
    facts = {
        "run_id": ctx.run_id,
        "agent": ctx.agent_name,
        "intent": ctx.intent,
        "at": at,
        "from_start": from_start,
        "version": __version__,
        "safety_mode": str(ctx.safety_mode),
        "budget": ctx.budget.to_dict(),
        "host": str(ctx.metadata.get("host", "")),
    }
    return {"kind": "begun", "facts": facts}
