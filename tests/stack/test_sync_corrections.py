"""A correction travels with a stack, and nothing from an older copy takes it back."""

from __future__ import annotations

from sb.memory import Brain
from tests.stack.copies import Copy, pair

__all__ = ["pair"]
OLD, NEW = "Zanzibar is the staging host", "Quetta is the staging host"


def brain_of(copy: Copy) -> Brain:
    copy.clock.time += 60
    return Brain("ada", database=copy.database, config=copy.config, stack="mine", clock=copy.clock)


def shown_of(copy: Copy) -> list[tuple[str, str]]:
    hits = brain_of(copy).search("which is the staging host?", history=True)
    return [(hit.content, hit.superseded_by) for hit in hits]


def test_a_correction_holds_on_both_sides_and_its_revert_as_well(pair: tuple[Copy, Copy]) -> None:
    local, other = pair
    old = brain_of(local).remember(OLD)
    local.with_remote(other).sync()
    new = brain_of(local).correct(old, NEW)
    for _ in range(2):
        local.with_remote(other).sync()
    assert shown_of(local) == shown_of(other) == [(NEW, ""), (OLD, new)]
    belief = other.stack.get_memory("belief", old)
    assert belief is not None
    belief.confidence = 0.3
    other.stack.update_record("belief", belief)  # there it is in no collapse, and stays superseded
    for _ in range(2):
        local.with_remote(other).sync()
    assert shown_of(local) == shown_of(other) == [(NEW, ""), (OLD, new)]
    brain_of(local).revert(brain_of(local).collapses()[0].id)
    local.with_remote(other).sync()
    assert [text for text, by in shown_of(other) if not by] == [OLD]


def test_what_an_older_copy_changed_meanwhile_does_not_take_a_correction_back(
    pair: tuple[Copy, Copy],
) -> None:
    local, other = pair
    old = brain_of(local).remember(OLD)
    local.with_remote(other).sync()
    brain_of(other).protect(old)
    brain_of(other).confirm(old)
    new = brain_of(local).correct(old, NEW)
    for _ in range(2):
        local.with_remote(other).sync()
    assert shown_of(local) == [(NEW, ""), (OLD, new)]


def test_an_echo_from_another_copy_is_superseded_on_both_sides(pair: tuple[Copy, Copy]) -> None:
    local, other = pair
    old = brain_of(local).remember(OLD)
    new = brain_of(local).correct(old, NEW)
    echo = brain_of(other).remember(OLD.upper())
    for _ in range(3):
        local.with_remote(other).sync()
    assert shown_of(local)[0] == (NEW, "")
    assert (
        {text for text, by in shown_of(local) if not by}
        == {NEW}
        == {text for text, by in shown_of(other) if not by}
    )
    assert local.space.superseded_by(row_of(local, echo)) == new
    assert row_of(other, echo)["state"] == "superseded"


def row_of(copy: Copy, uid: str) -> dict[str, object]:
    row = copy.space.records.find(uid)
    assert row is not None
    return row
