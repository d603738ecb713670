"""Saboteurs of the controls about personal data."""

from __future__ import annotations

from typing import Any

import pytest

from sb.base.classification import contacts, payments, phones
from sb.memory import retention, writer
from sb.memory.personal_data import Screening
from sb.memory.reader import Reader
from tests.harness.saboteurs import breaks


@breaks("HA-05")
def personal_data_is_not_logged(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(writer, "note", lambda *_: None)


@breaks("HA-08")
def phone_numbers_are_not_recognised(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(phones, "_score", lambda *_: 0)


@breaks("HA-08")
def account_numbers_are_not_recognised(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(payments, "_iban_end", lambda *_: 0)


@breaks("HA-08")
def versions_are_taken_for_addresses(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(contacts, "_is_host", lambda *_: True)


@breaks("HA-08")
def check_digits_of_cards_do_not_count(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(payments, "is_card_number", lambda _: True)
    patch.setattr(payments, "names_a_thing", lambda *_: False)


@breaks("HA-09")
def every_agent_reads_personal_data(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reader, "masks", False)


@breaks("HA-09")
def values_are_not_redacted_on_write(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Screening, "action", lambda *_: "keep")


@breaks("HA-09")
def questions_are_logged_with_their_values(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Screening, "text", lambda _, text, scope: text)


@breaks("HA-09")
def nothing_is_ever_past_its_retention(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(retention, "_due", lambda *_: None)


@breaks("HA-09")
def everything_is_past_its_retention(patch: pytest.MonkeyPatch) -> None:
    real = retention._due

    def due(space: Any, settings: Any, row: Any, now: float) -> Any:
        return real(space, settings, row, now * 2)

    patch.setattr(retention, "_rows", lambda space, before: space.records.select("r.id > 0", ()))
    patch.setattr(retention, "_due", due)
