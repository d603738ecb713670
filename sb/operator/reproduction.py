"""Reproduce a captured run: under today's contracts and policy, in a home of its own, with no live effect."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from sb.base.secrets.redaction import one_line
from sb.base.sources import CountingIds, SteeredClock
from sb.config import Config, Home
from sb.config.groups import Operators
from sb.errors import CheckFailed, SBError, UsageError
from sb.kernel.authority.signing import Label
from sb.kernel.baselines.store import BaselineStatus
from sb.kernel.contracts import KERNEL_SURFACE
from sb.kernel.replay.comparing import Divergence, divergences
from sb.kernel.replay.deciding import DecidedCapture
from sb.kernel.replay.packet import RAN, REFUSED, Packet, Step
from sb.kernel.replay.serving import ServedAttempts
from sb.kernel.run_context import RunBudget, RunContext, SafetyMode
from sb.runtime import Runtime, open_runtime
from sb.runtime.parts import open_authority, open_baselines, open_log

Agent = Callable[[Runtime, RunContext], Any]
_PEOPLE = ("killed", "approval_denied", "approval_refused")  # rules by which people decided, then and there
_WHO = Label("replay")
_LONGEST_MESSAGE = 200  # characters of what an agent raised


class Reproduced(NamedTuple):
    """Result of reproducing a captured run.

    Args:
        steps: its calls as they ended now. divergences: where they differ, the first one first.
    """

    steps: tuple[Step, ...]
    divergences: tuple[Divergence, ...]


def reproduce(
    packet: Packet,
    config: Config,
    agent: Agent | None = None,
    register: Callable[[Runtime], object] | None = None,
) -> Reproduced:
    """Run a captured run again, its calls answered from the packet.

    What people decided is taken from the packet: approvals, denials and kills. Contracts that are approved in the home of
    `config` count as approved. Calls that a host performed are judged by contract and policy alone.

    Args:
        config: whose policy, settings and tools apply; its database is only read.
        agent: called with the runtime and the run, and makes the calls; by default those of the packet are made.
        register: registers tools that the configuration does not load.

    Raises:
        ConfigError, StoreError: the home or its configuration cannot be used.
        CheckFailed: the agent itself failed, or the packet was cut off before its first call.
    """
    if packet.missing and not packet.steps:
        raise CheckFailed(
            f"no call of {packet.run_id} was captured, so there is nothing to run again: {packet.missing}"
        )
    captured = DecidedCapture(packet.steps)
    with _own_runtime(packet, config, captured, register or (lambda runtime: None)) as runtime:
        ctx = _context(packet, runtime)
        if agent is None:
            steps = [_again(step, runtime, ctx, captured) for step in packet.steps]
        else:
            with runtime.executor.run(ctx):
                _act(agent, runtime, ctx)
            steps = captured.steps
    return Reproduced(tuple(steps), tuple(divergences(packet.steps, steps)))


def _act(agent: Agent, runtime: Runtime, ctx: RunContext) -> None:
    try:
        agent(runtime, ctx)
    except SBError:
        raise
    except Exception as error:  # code of others may raise anything
        name = getattr(agent, "__name__", "the agent")
        message = one_line(f"{name} failed: {type(error).__name__}: {error}", _LONGEST_MESSAGE)
        raise CheckFailed(message, "it is called with the runtime and the run") from error


def agent_named(reference: str) -> Agent:
    """The function that `module:function` names.

    Raises:
        UsageError: there is none.
    """
    module, _, name = reference.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"{reference}: {error}", "module:function, called with the runtime and the run"
        ) from None
    if not callable(found):
        raise UsageError(
            f"{reference} is not a function", "module:function, called with the runtime and the run"
        )
    function: Agent = found
    return function


@contextmanager
def _own_runtime(
    packet: Packet, config: Config, captured: DecidedCapture, register: Callable[[Runtime], object]
) -> Iterator[Runtime]:
    """A kernel with the same settings and tools, and a home that is removed at the end."""
    clock, ids = SteeredClock(), CountingIds()
    clock.time = float(packet.begun["at"])
    approved = _approved(config)
    with tempfile.TemporaryDirectory(prefix="sb-replay-") as name:
        home = Home(Path(name) / "home")
        own = replace(
            config,
            home=home,
            database=home.database,
            operators=Operators(home.folder / "operators.json"),
        )
        served = ServedAttempts(packet.steps, clock, ids, config.max_result_bytes)
        hosted = any(step.host for step in packet.steps)
        with open_runtime(
            own,
            clock=clock,
            ids=ids,
            hosted=hosted,
            capture=captured,
            attempts=served,
            person=captured.decide,
        ) as runtime:
            register(runtime)
            runtime.baselines.seen.note_all(runtime.registry)
            live = runtime.baselines.seen.fingerprints(runtime.registry)
            known = {tool_id: mark for tool_id, mark in live.items() if approved(tool_id, mark)}
            if known:
                runtime.baselines.approve(known, _WHO, "approved in the home")
            yield runtime


def _approved(config: Config) -> Callable[[str, str], bool]:
    """A test of whether a contract is approved in a home."""
    log = open_log(config)
    store = open_baselines(config, log, open_authority(config, log), KERNEL_SURFACE)
    return lambda tool_id, mark: store.status(tool_id, mark)[0] is BaselineStatus.APPROVED


def _context(packet: Packet, runtime: Runtime) -> RunContext:
    begun = packet.begun
    return RunContext.create(
        begun["agent"],
        begun["intent"],
        safety_mode=SafetyMode(begun["safety_mode"]),
        budget=RunBudget(**begun["budget"]),
        clock=runtime.log.clock,
        ids=runtime.log.ids,
    )


def _again(step: Step, runtime: Runtime, ctx: RunContext, captured: DecidedCapture) -> Step:
    """The same call, made now."""
    if step.verdict == REFUSED and step.rule in _PEOPLE:
        captured.steps.append(step)
        return step
    if step.host:
        return _judged(step, runtime, ctx)
    runtime.executor.execute(ctx, step.tool_id, step.args, step=step.step)
    return captured.steps[-1]


def _judged(step: Step, runtime: Runtime, ctx: RunContext) -> Step:
    """A call of a host, as contract and policy judge it now."""
    refusal = runtime.executor.refusal(ctx, step.tool_id, step.args)
    marks = runtime.baselines.seen.fingerprints(runtime.registry)
    step = replace(step, fingerprint=marks.get(step.tool_id, ""))
    if bool(refusal) == (step.verdict == REFUSED):
        return step
    if refusal:
        return replace(step, verdict=REFUSED, rule=refusal)
    return step if step.asked else replace(step, verdict=RAN, rule="")
