"""Filters take the words that stand in the rows of Activity's views, and find those rows alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from sb.screens.state.recovery import change_rows
from sb.screens.state.runs import call_rows

from evals.sample_home import fill
from sb.errors import UsageError
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.review.calls import CallFilter, ChangeFilter
from sb.log.event_log import EventLog
from sb.log.search import LogFilter, seqs_of
from sb.operator.event_states import CALLS, CHANGES, LOG, states_of
from sb.operator.filters import Filter
from sb.present.events import event_lines
from sb.store.database import open_database

OVER = {LOG: LogFilter, CALLS: CallFilter, CHANGES: ChangeFilter}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EventLog]:
    config = fill(Path(tmp_path_factory.mktemp("home")))
    database = open_database(config.database, create=False)
    yield EventLog.of_home(database, config.home)
    database.close()


def seqs_in(log: EventLog, view: str, text: str) -> set[int]:
    now = int(log.clock.now() * 1e6)
    return set(seqs_of(log, OVER[view](more=Filter.parse(text, view).log(now, view)).condition()))


def words(log: EventLog, view: str) -> dict[str, set[int]]:
    """The rows of a view by their state words, as it shows them."""
    seqs = sorted(seqs_in(log, view, ""))
    if view == LOG:
        shown = {seq: line.verdict.word for seq, line in event_lines(log, seqs).items()}
    else:
        rows = call_rows(log, seqs) if view == CALLS else change_rows(log, seqs)
        shown = {seq: row.texts[0] for seq, row in rows.items()}
    by_word = defaultdict(set)
    for seq, word in shown.items():
        by_word[word].add(seq)
    return by_word


@pytest.mark.parametrize("view", OVER)
def test_a_state_finds_the_rows_that_say_it_and_no_other(log: EventLog, view: str) -> None:
    shown, taken = words(log, view), states_of(view)
    unsaid = {ApprovalState.WAITING, ApprovalState.EXPIRED}  # of requests: no row of the log says these
    assert len(shown) > 2
    assert view != LOG or shown["taken over"]
    assert set(shown) <= {*taken, "event"}
    for word in set(taken) - (unsaid if view == LOG else {ApprovalState.WAITING}):
        assert seqs_in(log, view, f'state:"{word}"') == shown[word], word
        assert seqs_in(log, view, f'-state:"{word}"') == seqs_in(log, view, "") - shown[word], word


def test_a_word_that_is_a_state_finds_no_row_whose_record_has_it_in_its_own_words(log: EventLog) -> None:
    shown = words(log, LOG)
    assert shown["asked"]
    assert shown["ok"]
    asked = seqs_in(log, LOG, "asked")
    assert shown["asked"] <= asked
    assert not asked & shown["ok"]
    changes = words(log, CHANGES)
    assert changes["undoable"]
    assert seqs_in(log, CHANGES, "undoable") == changes["undoable"]
    assert seqs_in(log, LOG, "git push") == seqs_in(log, LOG, '"git push"') != set()  # other words as before


def test_an_unknown_state_names_those_of_the_view_alone(log: EventLog) -> None:
    with pytest.raises(UsageError) as caught:
        Filter.parse("state:x", CHANGES).log(0, CHANGES)
    assert caught.value.hint == "one of undoable, reversed, too late, unknown, no undo"
    with pytest.raises(UsageError, match=r'no state .askd. \(did you mean "asked"'):
        Filter.parse("state:askd", LOG).log(0)


def test_changes_are_found_by_the_arguments_of_their_calls(log: EventLog) -> None:
    objects = {seq: row.texts[1] for seq, row in change_rows(log, sorted(seqs_in(log, CHANGES, ""))).items()}
    for word in ("settings.ini", "legacy", "4900"):
        assert (
            seqs_in(log, CHANGES, word) == {seq for seq, text in objects.items() if word in text} != set()
        ), word
    assert seqs_in(log, CHANGES, "amount>4899") == seqs_in(log, CHANGES, "4900")
    assert not seqs_in(log, CHANGES, "amount>4900")
