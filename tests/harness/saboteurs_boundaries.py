"""Saboteurs of charters, releases and context sources."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sb.kernel.agent_charter.charter import AgentCharter
from sb.kernel.agent_charter.charters import Charters
from sb.kernel.boundaries.boundaries import Boundaries
from sb.kernel.context_sources.sources import ContextSource, ContextSourceRegistry
from sb.kernel.release_tuple import releases
from sb.kernel.release_tuple.release import ReleasePart, ReleaseTuple
from sb.kernel.release_tuple.releases import Releases
from sb.kernel.run_context import RunContext
from tests.harness.saboteurs import breaks


@breaks("HA-06")
def charters_that_nobody_approved_count(patch: pytest.MonkeyPatch) -> None:
    real = Charters.entry

    def entry(*given: object, **named: object) -> object:
        return real(*given, **named)._replace(problem="")  # type: ignore[arg-type]

    patch.setattr(Charters, "entry", entry)


@breaks("HA-06")
def permissions_count_before_denials(patch: pytest.MonkeyPatch) -> None:
    real = AgentCharter.intent_refusal

    def refusal(charter: AgentCharter, intent: str) -> str:
        reason = real(charter, intent)
        return "" if "denies" in reason else reason

    patch.setattr(AgentCharter, "intent_refusal", refusal)


@breaks("HA-06")
def charters_limit_no_tools(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AgentCharter, "tool_refusal", lambda *_: "")


@breaks("HA-39")
def the_model_is_left_out_of_the_id(patch: pytest.MonkeyPatch) -> None:
    real = ReleaseTuple.document

    def document(release: ReleaseTuple) -> dict[str, dict[str, str]]:
        return real(replace(release, eval=ReleasePart.of("none", {})))

    patch.setattr(ReleaseTuple, "document", document)


@breaks("HA-32")
def the_model_of_a_run_is_overlooked(patch: pytest.MonkeyPatch) -> None:
    real = Releases._made

    def made(releases: Releases, ctx: RunContext) -> ReleaseTuple:
        found = real(releases, ctx)
        return replace(found, model=found.memory, eval=found.model)

    patch.setattr(Releases, "_made", made)


@breaks("HA-10")
def secrets_in_names_are_not_masked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(releases, "one_line", lambda text, _: text)


@breaks("HA-01")
def what_is_read_never_becomes_stale(patch: pytest.MonkeyPatch) -> None:
    real = ContextSourceRegistry.check_read

    def check(registry: ContextSourceRegistry, uri: str, **_: object) -> ContextSource:
        return real(registry, uri)

    patch.setattr(ContextSourceRegistry, "check_read", check)


@breaks("HA-01")
def every_source_may_be_written(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ContextSourceRegistry, "check_write", lambda registry, uri: registry.source_of(uri))


@breaks("HA-01")
def results_are_not_withheld(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Boundaries, "judge_result", lambda *_: "")
