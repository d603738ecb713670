"""The modules that the survival layer names, and the symbols that `sb.kernel` has of them."""

from __future__ import annotations

import importlib

import pytest

from sb import kernel

# Two modules define each of these, so only the modules have them.
SHARED = {"Finding", "Step", "Verdict", "classify"}
SYMBOLS = {
    "agent_charter": {"AgentCharter", "Charters"},
    "autonomy": {"AutonomySignals", "AutonomyCaps", "AutonomyState", "compute_autonomy", "degrade"},
    "business_metrics": {"BusinessMetrics", "BusinessOutcome"},
    "context_sources": {"ContextSource", "ContextSourceRegistry"},
    "data_classification": {"Classification", "Sensitivity"},
    "memory_read_policy": {"ReadPolicy", "DeniedRead", "denied_reads"},
    "red_team": {"check", "Category"},
    "release_tuple": {"ReleaseTuple", "ReleasePart", "diff"},
    "replay": {"Packet", "PacketShelf", "divergences"},
    "tokenomics": {"CostBreakdown", "OutcomeRecord", "TokenomicsLedger"},
}


@pytest.mark.parametrize("name", SYMBOLS)
def test_symbols_of_a_module_are_symbols_of_the_kernel(name: str) -> None:
    module = importlib.import_module(f"sb.kernel.{name}")
    symbols = SYMBOLS[name] | set(getattr(module, "__all__", ())) - SHARED
    assert symbols <= set(vars(kernel)["__all__"])
    assert all(getattr(kernel, symbol) is getattr(module, symbol) for symbol in symbols)
