"""Saboteurs of the controls about what an agent may read, say and repeat."""

from __future__ import annotations

from typing import Any

import pytest

from sb.kernel.execution import attack_guard
from sb.kernel.memory_read_policy import ReadPolicy
from sb.kernel.red_team import detector
from sb.kernel.red_team.normalise import Plain
from tests.harness.saboteurs import breaks


@breaks("HA-19")
def quarantined_results_reach_the_agent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(attack_guard, "withhold", lambda *_: None)


@breaks("HA-19")
def look_alike_letters_are_not_undone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(detector, "plain_text", Plain)


@breaks("HA-19")
def encoded_texts_are_not_read(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(detector, "hidden_texts", lambda _: iter(()))


@breaks("HA-19")
def every_sign_is_an_attack(patch: pytest.MonkeyPatch) -> None:
    real = detector.load_model

    def model() -> Any:
        return real()._replace(threshold={True: 0.0, False: 0.0})

    patch.setattr(detector, "load_model", model)


@breaks("HA-04")
def reading_rules_hide_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ReadPolicy, "reason", lambda *_: "")
    patch.setattr(ReadPolicy, "_parts", lambda *_: [])


@breaks("HA-04")
def denied_reads_are_not_on_record(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ReadPolicy, "flush", lambda *_: None)


@breaks("HA-04")
def reads_are_logged_without_their_purpose(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ReadPolicy, "purpose", lambda *_: "")
