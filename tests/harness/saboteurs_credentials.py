"""Saboteurs of credentials by reference."""

from __future__ import annotations

from typing import Any

import pytest

from sb.kernel.calls.call import ToolCall
from sb.kernel.execution import attempts
from sb.kernel.execution.attempts import Attempts
from sb.kernel.registry.credentials import with_references
from tests.harness.saboteurs import breaks


@breaks("HA-10")
def credentials_are_not_filled_in(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Attempts, "_fetched", lambda self, call: {})


@breaks("HA-10")
def results_keep_the_values_of_credentials(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(attempts, "scrub", lambda value, secrets: value)


@breaks("HA-10")
def failures_tell_the_values_of_credentials(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(attempts, "secret_texts", lambda values: [])


@breaks("HA-10")
def values_are_recorded_as_arguments(patch: pytest.MonkeyPatch) -> None:
    def fetched(self: Attempts, call: ToolCall) -> dict[str, str]:
        values = {parameter: self._credentials.value(name) for parameter, name in call.credentials.items()}
        call.args |= values
        return values

    patch.setattr(Attempts, "_fetched", fetched)


@breaks("HA-10")
def digests_are_made_of_values(patch: pytest.MonkeyPatch) -> None:
    made = [0]

    def with_values(declared: dict[str, str], args: dict[str, Any]) -> tuple[dict[str, Any], str]:
        found, problem = with_references(declared, args)
        made[0] += 1
        return found | {parameter: f"{name}-{made[0]}" for parameter, name in declared.items()}, problem

    patch.setattr("sb.kernel.execution.admission.with_references", with_values)
