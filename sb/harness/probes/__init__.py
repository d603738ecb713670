"""Probes by control id."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from sb.harness.harness import Harness
from sb.harness.probes import (
    beliefs,
    boundaries,
    composition,
    context_aware,
    credentials,
    deciding,
    fallback,
    identity,
    improving,
    measurable,
    memory,
    network,
    observable,
    offline_evals,
    policy_governed,
    privacy,
    recovery,
    red_team,
    replaying,
    reversible,
    tool_controlled,
    trajectories,
)
from sb.kernel.harness_audit import Check

PROBES: Mapping[str, Callable[[Harness], Iterable[Check]]] = MappingProxyType(
    {
        "HA-01": boundaries.context_sources,
        "HA-02": context_aware.context_compiler,
        "HA-03": memory.budget,
        "HA-04": memory.read_policy,
        "HA-05": memory.write_policy,
        "HA-06": boundaries.agent_charter,
        "HA-07": policy_governed.policy_engine,
        "HA-08": privacy.data_classification,
        "HA-09": privacy.privacy,
        "HA-10": credentials.secret_handling,
        "HA-11": tool_controlled.tool_manifest,
        "HA-12": tool_controlled.contract_fingerprint,
        "HA-13": tool_controlled.risk_class,
        "HA-14": identity.identity,
        "HA-15": network.network,
        "HA-17": trajectories.trajectories,
        "HA-16": offline_evals.offline_evals,
        "HA-19": red_team.red_team,
        "HA-20": memory.grounding,
        "HA-21": observable.observability,
        "HA-22": observable.telemetry,
        "HA-24": replaying.replayability,
        "HA-25": observable.state_machine,
        "HA-27": reversible.idempotency,
        "HA-28": reversible.durable_execution,
        "HA-29": recovery.rollback_and_compensation,
        "HA-30": deciding.human_approval,
        "HA-31": measurable.cost_and_latency,
        "HA-32": composition.model_routing,
        "HA-33": fallback.fallback_behaviour,
        "HA-35": fallback.escalation_path,
        "HA-36": improving.incident_response,
        "HA-37": improving.continuous_improvement,
        "HA-38": beliefs.contradictions,
        "HA-39": boundaries.release_tuple,
    }
)
