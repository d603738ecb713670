"""State of the screens: the cursor's record, the filter's hits, the layout of records, and the table of actions."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sb.screens.actions import (
    ACTIONS,
    ASKING,
    EVERYWHERE,
    LISTS,
    MODULES,
    PANELS,
    RECORDS,
    SECTIONS,
    TABS,
    actions,
    key_table,
)
from sb.screens.state.document import FOLDED_LINES, Change, Field, layout
from sb.screens.state.events import record_document
from sb.screens.state.inbox import InboxLines
from sb.screens.state.listing import Listing, Row
from sb.screens.state.search import LogSearch

from sb.base.sources import micros
from sb.base.text import mark_invisible
from sb.kernel.authority.signing import Label
from sb.kernel.review.runs import RunState, first_events, runs_at
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.log.kinds import MEMORY_PUT, RUN_STARTED
from sb.log.search import LogFilter, events_at, search
from sb.operator.attention.inbox import InboxReader
from sb.operator.filters import Filter
from sb.present.needs import NEED
from tests.screens.conftest import ACTS, HOSTILE, Agents

WORDS = ["alpha", "Beta", "100%", "a_b", "\\", "é", "0"]


def test_a_decision_on_the_log_leads_with_the_call_and_says_who_and_why(agents: Agents) -> None:
    approval_id = agents.pay("bob")
    agents.runtime.approvals.deny(approval_id, Label("grace"), "not this week")
    log = agents.runtime.log
    first, *fields = record_document(log, log.head().seq)
    assert first.name == "bank.pay to=bob"
    named = {field.name: field.value or "" for field in fields if not field.folded}
    assert (named["State"], named["Why"], named["By"]) == ("denied", "not this week", "grace")
    assert named["Agent"] == "clerk"
    assert not [text for text in named.values() if "signature" in text]
    assert "Signed" in [field.name for field in fields if field.folded]


def test_the_inbox_says_of_each_request_what_it_would_do(agents: Agents) -> None:
    agents.pay("bob")
    reader, lines = InboxReader(agents.runtime.log), InboxLines()
    lines.show(reader.waiting(()))
    needs = reader.describe(lines.waiting_of(lines.keys))
    (item,) = needs.values()
    assert (item.effect, NEED.to_dict(item)["state"]) == ("pays", "waiting")
    (row,) = lines.rows(lines.keys, needs, micros(agents.clock.now())).values()
    assert row.texts[:2] == ("pays", "bank.pay to=bob")


def test_every_thing_that_waits_has_a_line_that_stays_its_own_and_its_group_opens_for_it(
    agents: Agents,
) -> None:
    ids = [agents.pay(f"payee-{number}") for number in range(40)]
    reader, lines = InboxReader(agents.runtime.log), InboxLines()
    lines.show(reader.waiting(()))
    assert lines.total == 40
    assert len(lines.keys) < 40, "alike ones are together"
    numbers = [lines.number_of(reference) for reference in ids]
    assert None not in numbers
    assert len(set(numbers)) == 40
    agents.runtime.approvals.deny(ids[0], Label("ada"), "no")
    lines.show(reader.waiting(()))
    assert [lines.number_of(reference) for reference in ids] == [None, *numbers[1:]]


@given(
    st.lists(st.integers(0, 50), unique=True).map(lambda keys: sorted(keys, reverse=True)),
    st.lists(st.integers(0, 50), unique=True).map(lambda keys: sorted(keys, reverse=True)),
    st.integers(0, 60),
)
def test_the_cursor_stays_on_its_record_as_long_as_that_is_there(
    before: list[int], after: list[int], index: int
) -> None:
    listing = Listing()
    listing.show(before)
    listing.move_to(index)
    chosen = listing.current
    listing.show(after)
    if chosen in after:
        assert listing.current == chosen
    else:
        assert (listing.current in after) if after else listing.current is None


@given(st.lists(st.booleans(), max_size=12), st.lists(st.integers(-3, 15), max_size=8))
def test_the_cursor_never_rests_on_a_heading_where_there_is_another_line(
    headings: list[bool], moves: list[int]
) -> None:
    listing = Listing()
    listing.put({key: Row((str(key),), heading=heading) for key, heading in enumerate(headings)})
    listing.show(range(len(headings)))
    for move in [0, *moves]:
        listing.move_to(move)
        if not all(headings):
            assert not headings[listing.index]


def test_a_list_of_a_million_keeps_a_thousand_rows() -> None:
    listing = Listing()
    listing.show(range(1_000_000, 0, -1))
    for first in range(0, 5_000, 50):
        listing.move_to(first)
        listing.put({key: Row((str(key),)) for key in listing.around(first, 50)})
    assert not listing.missing(4_950, 50)
    assert listing.missing(0, 50)
    assert len(listing._rows) == 1_000


@pytest.mark.parametrize("hostile", [ACTS, HOSTILE], ids=["what acts", "megabyte"])
def test_no_row_or_line_can_command_a_terminal(hostile: str) -> None:
    texts = [Row((hostile,)).texts[0]]
    for unfolded in (False, True):
        document: list[Field | Change] = [
            Field(hostile[:100], hostile),
            Field(hostile[:100]),
            Change(hostile[:100], hostile, None),
        ]
        texts += [line.name + line.text for line in layout(document, 80, unfolded=unfolded)]
    assert not [text for text in texts if not text.isprintable()]


@given(st.text(max_size=400), st.integers(20, 130))
@example("\u1de0", 20)  # no width at all
def test_unfolded_text_is_all_there_and_folded_text_is_short(text: str, width: int) -> None:
    lines = layout([Field("name", text)], width, unfolded=True)
    content = "".join(line.text for line in lines).replace(" ", "")
    assert content.replace("\n", "") == Row((mark_invisible(text),)).texts[0].replace(" ", "")
    assert len(layout([Field("name", text)], width, unfolded=False)) <= FOLDED_LINES + 1


@pytest.mark.parametrize(
    ("width", "line"),
    [(60, "z shows request, idempotency key, session"), (40, "z shows request and 2 more")],
)
def test_names_of_folded_values_are_never_cut(width: int, line: str) -> None:
    folded = [Field(name, "x", folded=True) for name in ("request", "idempotency key", "session")]
    assert layout([Field("rm -rf build"), *folded], width, unfolded=False)[-1].text == line


def test_names_of_folded_values_that_differ_in_case_are_named_once() -> None:
    folded = [Field(name, "x", folded=True) for name in ("Signed", "signed", "Row", "row", "hash")]
    assert layout([Field("approved"), *folded], 80, unfolded=False)[-1].text == "z shows Signed, Row, hash"


def test_changes_stand_side_by_side_where_there_is_room() -> None:
    change = [Change("args.path.type", '"string"', '"integer"')]
    wide = [line.text for line in layout(change, 118, unfolded=False)]
    assert '- "string"' in wide[1]
    assert '+ "integer"' in wide[1]
    narrow = [line.text for line in layout(change, 78, unfolded=False)]
    assert narrow[1:] == ['  - "string"', '  + "integer"']


@pytest.fixture(scope="module")
def log() -> Iterator[EventLog]:
    made = EventLog()
    for number, word in enumerate(WORDS * 4):
        payload = {"text": word, "number": number}
        made.append(
            MEMORY_PUT, payload, Subject(f"run_{number % 3}", "", word, f"tool.{number % 5}", f"call_{word}")
        )
    yield made
    made.close()


@given(st.lists(st.sampled_from([*WORDS, "TOOL.3", "run_1", "zzz", "put"]), max_size=3), st.integers(0, 32))
def test_a_filter_finds_what_mentions_every_word_wherever_it_stands(
    log: EventLog, words: list[str], newest: int
) -> None:
    hits = [
        seq
        for step in search(log, LogFilter(Filter.parse(" ".join(words)).log(0)), newest=newest)
        for seq in step.seqs
    ]
    expected = []
    for event in log.events():
        text = " ".join([event.kind, *event.subject, str(event.payload).replace("\\\\", "\\")]).lower()
        if event.seq <= newest and all(word.lower() in text for word in words):
            expected.append(event.seq)
    assert hits == expected[::-1]


def test_a_name_of_hexadecimal_letters_is_not_found_within_digests(log: EventLog) -> None:
    digest = "sha256:4a2cada1" + "0" * 56
    for payload in ({"to": "Ada"}, {"to": "canada"}, {}):
        log.append(MEMORY_PUT, {**payload, "digest": digest}, Subject())
    newest = log.head().seq
    for word, seqs in (("ada", [newest - 2, newest - 1]), ("4A2c", [newest - 2, newest - 1, newest])):
        hits = [
            seq
            for step in search(log, LogFilter(Filter.parse(word).log(0)), newest=newest)
            for seq in step.seqs
        ]
        assert hits == seqs[::-1]


def test_a_search_goes_on_where_it_ended(log: EventLog) -> None:
    found = LogSearch("tool:tool.3")
    found.hits = list(found.look(log))[-1]
    before = list(found.hits.keys)
    log.append(MEMORY_PUT, {}, Subject("run_9", "", "late", "tool.3", "call_late"))
    steps = list(found.look(log))
    assert list(steps[-1].keys) == [log.head().seq, *before]
    assert found.summary().startswith(f"{len(before)} of")


def test_rows_that_are_gone_are_left_out(log: EventLog) -> None:
    assert sorted(events_at(log, [1, 2, 9_999])) == [1, 2]


def test_runs_are_listed_newest_first_with_what_became_of_them(agents: Agents) -> None:
    log = agents.runtime.log
    first = agents.work(2)
    with pytest.raises(ZeroDivisionError), agents.runtime.executor.run(agents.context("clerk")):
        raise ZeroDivisionError("by hand")
    agents.call("bank.look", {"account": "x"}, agent="courier", intent="look")
    firsts = first_events(log)
    runs = [runs_at(log, firsts)[seq] for seq in firsts]
    assert [(run.agent, run.state) for run in runs] == [
        ("courier", RunState.OPEN),
        ("clerk", RunState.FAILED),
        ("clerk", RunState.FINISHED),
    ]
    assert (runs[2].run_id, runs[2].events, runs[2].intent) == (first, 5, "keep the books")
    assert list(first_events(log, after=firsts[1])) == [firsts[0]]
    assert next(iter(log.events(run_id=first))).kind == RUN_STARTED


def test_every_action_has_help_a_handler_and_on_each_screen_a_key_of_its_own() -> None:
    screens = {
        view: (MODULES.get(view, view), f"{view.title().replace('_', '')}Screen")
        for view in (*SECTIONS, *TABS)
    }
    for name, (module, owner) in screens.items():
        screen = getattr(import_module(f"sb.screens.{module}"), owner)
        keys = [key for action in actions(*screen.parts, EVERYWHERE) for key in action.keys.split(",")]
        assert sorted(keys) == sorted(set(keys)), name
    owners = {
        EVERYWHERE: ("app", "ConsoleApp"),
        LISTS: ("row_list", "RowList"),
        RECORDS: ("document_view", "DocumentView"),
        ASKING: ("decision", "Confirmation"),
        PANELS: ("section", "Section"),
        **screens,
    }
    for action in ACTIONS:
        assert action.help.endswith("."), action.id
        assert f"| {action.help}" in key_table()
        for part in action.on:
            module, owner = owners[part]
            handler = f"action_{action.id.partition('(')[0]}"
            assert hasattr(getattr(import_module(f"sb.screens.{module}"), owner), handler), (part, action.id)


def test_no_letter_has_two_meanings() -> None:
    meanings: dict[str, set[str]] = {}
    for action in ACTIONS:
        for key in action.keys.split(","):
            meanings.setdefault(key, set()).add(action.id)
    assert meanings.pop("escape") == {"back", "cancel"}, "one step back, on a screen and in a dialog"
    assert {key: ids for key, ids in meanings.items() if len(ids) > 1} == {}
    assert [action.on for action in ACTIONS if action.keys == "y"] == [(ASKING,)], (
        "y is bound in dialogs only"
    )


def test_whatever_decides_is_taken_away_by_read_only() -> None:
    deciding = {
        "approve",
        "deny",
        "take_away",
        "undo",
        "undo_run",
        "settle",
        "try_out",
        "protect",
        "snooze",
        "kill",
        "lift",
    }
    assert {action.id for action in ACTIONS if action.writes} == deciding | {"mark", "mark_all"}
