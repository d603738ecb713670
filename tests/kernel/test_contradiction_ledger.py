"""The contradiction ledger: conflict records and recency supersession."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.errors import CheckFailed, NotFoundError
from sb.kernel import ContradictionLedger, LedgerClaim
from sb.kernel.contradiction_ledger import Weight, supersedes
from sb.store.database import open_database
from tests.rows import rows


@pytest.fixture
def ledger(tmp_path: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[ContradictionLedger]:
    database = open_database(tmp_path / "brain.db", clock=clock, ids=ids)
    yield ContradictionLedger(database, clock=clock, ids=ids)
    database.close()


def claim(value: str, source: str = "crm", at: float = 1.0, **more: float) -> LedgerClaim:
    return LedgerClaim("Acme", "chair", value, source, at=at, **more)  # type: ignore[arg-type]


def values(ledger: ContradictionLedger) -> list[str]:
    return sorted(item.value for item in ledger.current("acme", "Chair"))


@rows(
    "new, old, expected",
    [
        (Weight("a", 0.7, 2.0), Weight("a", 0.7, 1.0), True),
        (Weight("a", 0.7, 1.0, 2), Weight("a", 0.7, 1.0, 1), True),
        (Weight("a", 0.7, 1.0), Weight("a", 0.7, 1.0), False),
        (Weight("a", 0.7, 1.0), Weight("a", 0.7, 2.0), False),
        (Weight("b", 0.7, 2.0), Weight("a", 0.7, 1.0), False),
        (Weight("b", 0.9, 2.0), Weight("a", 0.7, 1.0), True),
        (Weight("a", 0.4, 2.0), Weight("a", 0.7, 1.0), False),
    ],
)
def test_only_a_newer_claim_of_one_source_or_of_a_trusted_one_supersedes(
    new: Weight, old: Weight, expected: bool
) -> None:
    assert supersedes(new, old) is expected


def test_the_newer_claim_of_one_source_supersedes_and_the_loser_stays_on_record(
    ledger: ContradictionLedger,
) -> None:
    assert ledger.record(claim("Ann")) is None
    assert ledger.record(claim(" ann ", at=1.5)) is None
    record = ledger.record(claim("Ben", at=2.0))
    assert record is not None
    assert (record.status, record.winner, record.later.value) == ("superseded", "later", "Ben")
    assert record.earlier.value.strip().casefold() == "ann"
    assert record.reason
    assert values(ledger) == ["Ben"]


def test_an_older_claim_that_comes_late_does_not_stand(ledger: ContradictionLedger) -> None:
    ledger.record(claim("Ben", at=2.0))
    record = ledger.record(claim("Ann", at=1.0))
    assert record is not None
    assert record.winner == "earlier"
    assert values(ledger) == ["Ben"]


def test_a_tie_is_open_until_somebody_resolves_it_and_can_be_reverted(ledger: ContradictionLedger) -> None:
    ledger.record(claim("Ann"))
    record = ledger.record(claim("Ben", "wiki"))
    assert record is not None
    assert values(ledger) == ["Ann", "Ben"]
    assert [item.id for item in ledger.conflicts("open")] == [record.id]
    done = ledger.resolve(record.id, "later", "the register says so", "ada")
    assert (done.status, done.settled_by) == ("resolved", "ada")
    assert values(ledger) == ["Ben"]
    with pytest.raises(CheckFailed):
        ledger.resolve(record.id, "earlier", "once more", "ada")
    assert ledger.revert(record.id, "it was an old register", "ada").status == "open"
    assert values(ledger) == ["Ann", "Ben"]
    assert ledger.resolve(record.id, "both", "they share it", "ada").winner == ""
    assert values(ledger) == ["Ann", "Ben"]


def test_a_flood_of_untrusted_claims_displaces_nothing(ledger: ContradictionLedger) -> None:
    ledger.record(claim("Ann"))
    for number in range(60):
        ledger.record(claim(f"Mallory {number}", "web", at=2.0 + number, trust=0.2))
    assert "Ann" in values(ledger)
    assert len(ledger.conflicts("open")) == 1


@rows(
    "given",
    [claim(""), claim("Ann", " "), claim("Ann", trust=1.5), LedgerClaim("", "chair", "Ann", "crm")],
)
def test_claims_that_say_nothing_are_refused(given: LedgerClaim, ledger: ContradictionLedger) -> None:
    with pytest.raises(ValueError, match=r"needs|trust"):
        ledger.record(given)
    with pytest.raises(NotFoundError):
        ledger.get("cfl_none")
