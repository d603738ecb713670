"""Identity documents are recognised by their check digits, or beside their names; what only looks alike is not."""

from __future__ import annotations

import pytest

from evals.classification.documents import NOTHING, TEXTS, checked
from sb.base.classification import classify
from sb.base.classification.documents import check_digit
from tests.rows import rows


def schemes(text: str) -> list[tuple[str, str]]:
    return [(finding.scheme, text[finding.start : finding.end]) for finding in classify(text).findings]


@rows(
    "text, scheme, value",
    [
        # The specimens of ICAO 9303 (parts 4 and 5), of the German ministry, and of the Motor Transport Authority.
        (
            "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
            "mrz",
            "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
        ),
        ("I<UTOD231458907<<<<<<<<<<<<<<<", "mrz", "I<UTOD231458907<<<<<<<<<<<<<<<"),
        ("7408122F1204159UTO<<<<<<<<<<<6", "mrz", "7408122F1204159UTO<<<<<<<<<<<6"),
        ("Personalausweis T220001293", "identity_card", "T220001293"),
        ("her ID card says L01X00T47", "identity_card", "L01X00T47"),
        ("Reisepass Nr. C01X00T478", "passport", "C01X00T478"),
        ("passport number: 340020013", "passport", "340020013"),
        ("Führerschein B072RRE2I55", "driving_licence", "B072RRE2I55"),
        ("driving licence MORGA657054SM9IJ", "driving_licence", "MORGA657054SM9IJ"),
    ],
)
def test_a_document_is_found(text: str, scheme: str, value: str) -> None:
    assert (scheme, value) in schemes(text)


@rows(
    "text",
    [
        "L898902C36UTO7408122F1204159ZE184226B<<<<<10".replace("740812", "740813"),
        "Personalausweis T220001294",
        "Führerschein B072RRE2I65",
        "the number T22000129 of a box",
        "passport photos 35x45",
    ],
)
def test_another_check_digit_or_no_name_beside_it_is_no_document(text: str) -> None:
    assert schemes(text) == []


@pytest.mark.parametrize("half", TEXTS)
def test_texts_about_documents_without_a_number_raise_nothing(half: str) -> None:
    lines = [line for line in NOTHING[half].splitlines() if line]
    assert [line for line in lines if classify(line).findings] == []


def test_the_check_digit_is_that_of_the_standard() -> None:
    assert [check_digit(part) for part in ("520727", "AB2134<<<", "L898902C3")] == [3, 5, 6]
    assert checked("L898902C3") == "6"


@rows(
    "text",
    [
        "tk8.6 (8.6.11.1-1) unstable; urgency=medium",
        "regressions relative to 3.6.23.1 on some joins",
        "ids in the 60000-64999 range",
        "Decimal('+35236450.6')",
    ],
)
def test_versions_ranges_and_decimals_of_real_texts_are_left_alone(text: str) -> None:
    assert classify(text).findings == ()


def test_addresses_that_look_like_versions_are_found_beside_their_name() -> None:
    assert [finding.label for finding in classify("login from 5.9.12.13 failed").findings] == ["ip_address"]
    assert [finding.label for finding in classify("5.9.12.130 was blocked").findings] == ["ip_address"]
