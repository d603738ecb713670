"""Order of results, and its reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.memory.ranking import terms
from sb.memory.ranking.candidate import Candidates
from sb.memory.ranking.encoding import encoded
from sb.memory.ranking.features import FEATURES
from sb.memory.ranking.fusion import fuse
from sb.memory.ranking.lexicon import Array, Lexicon
from sb.memory.ranking.questions import understand
from sb.memory.ranking.rank import Ranked, rank
from sb.memory.ranking.statistics import information
from sb.memory.ranking.weights import Weights, weights
from sb.store.index.ranked_rows import Stored, ranked_rows

KNOWN: dict[int, str] = {}  # the texts of all records that were made, by number


def stored(text: str, record: int | None = None) -> Stored:
    """A text of this record, by default of one outside of the candidates."""
    record = 1_000_000 + len(KNOWN) if record is None else record
    KNOWN[record] = text
    return (record, encoded(text))


def read(records: Sequence[int]) -> list[str]:
    return [KNOWN[record] for record in records]


class Candidate(NamedTuple):
    """A record that the search for words named."""

    id: int
    row: tuple[Any, ...]
    text: str
    similarity: float


def candidate(
    number: int,
    text: str,
    previous: Sequence[str] = (),
    speaker: str | None = None,
    previous_speaker: str | None = None,
    *,
    session: int | None = None,
    happened_at: float | None = None,
    information: float = 0.0,
    similarity: float = 0.0,
) -> Candidate:
    own = stored(text, number)
    first, second = (stored(quoted) if quoted else (0, None) for quoted in (*previous, "", "")[:2])
    row = (number, session or 0, happened_at, information, speaker, previous_speaker, *own, *first, *second)
    return Candidate(number, row, text, similarity)


def together(candidates: Sequence[Candidate]) -> Candidates:
    return Candidates(
        ranked_rows([item.row for item in candidates]),
        np.array([item.similarity for item in candidates], np.float64),
        np.ones(len(candidates), np.bool_),
        {},
    )


class Texts:
    """Statistics of some texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.records = len(texts)
        self.mean_length = sum(len(terms.words(text)) for text in texts) / max(len(texts), 1)
        self.mean_window = self.mean_length
        self.mean_information = 0.0
        self._frequencies = Counter(stem for text in texts for stem in set(terms.stems(text)))

    def document_frequency(self, stem: str) -> int:
        return self._frequencies[stem]


def ranked(
    question: str,
    candidates: Sequence[Candidate],
    *,
    speakers: Sequence[str] = (),
    applied: Weights | None = None,
    lexicon: Lexicon | None = None,
) -> list[Ranked]:
    statistics = Texts([found.text for found in candidates])
    return rank(
        understand(question, speakers),
        together(candidates),
        statistics,
        applied or weights(vectors=False),
        lexicon or Lexicon(),
        read,
        explain=True,
    )


def only(feature: str) -> Weights:
    return Weights(*({feature: 1.0} for _ in range(3)))


def values(
    feature: str, question: str, candidates: Sequence[Candidate], **known: Sequence[str]
) -> list[float]:
    """The feature of each candidate, in their order."""
    found = ranked(question, candidates, speakers=known.get("speakers", ()), applied=only(feature))
    return [item.score for item in sorted(found, key=lambda one: one.id)]


def test_the_note_that_has_the_rare_words_comes_first() -> None:
    notes = ["the build is slow", "the build broke on arm64", "the tests are slow", "arm64 is a processor"]
    found = ranked("why did the arm64 build break", [candidate(n, text) for n, text in enumerate(notes, 1)])
    assert found[0].id == 2


def test_an_explanation_adds_up_to_the_score_and_names_every_feature() -> None:
    turn = candidate(1, "In 2022, with Anna Smith.", ["Where did you paint it?"], speaker="Bo", session=3)
    for found in ranked("Where did Bo paint it?", [turn, candidate(2, "I paint in Rome")], speakers=["Bo"]):
        assert found.features is not None
        assert set(found.features) == set(FEATURES)
        assert found.score == pytest.approx(sum(value * weight for value, weight in found.features.values()))


def test_without_an_explanation_order_and_scores_are_the_same() -> None:
    notes = [candidate(n, text) for n, text in enumerate(["a red fox", "a red car", "fox"], 1)]
    statistics, query = Texts([note.text for note in notes]), understand("red fox")
    named = together(notes)
    short = rank(query, named, statistics, weights(vectors=True), Lexicon(), read)
    long = rank(query, named, statistics, weights(vectors=True), Lexicon(), read, explain=True)
    assert [(item.id, item.score) for item in short] == [(item.id, item.score) for item in long]
    assert all(item.features is None for item in short)


def test_equal_candidates_come_by_id_whatever_order_they_were_named_in() -> None:
    notes = [candidate(number, "same words") for number in (5, 3, 9, 1)]
    assert [found.id for found in ranked("same words", notes)] == [1, 3, 5, 9]


def test_no_candidates_are_no_results() -> None:
    assert ranked("anything", []) == []


def test_a_weight_of_no_feature_is_an_error() -> None:
    with pytest.raises(KeyError):
        ranked("a", [candidate(1, "a")], applied=only("charm"))


def test_who_answers_the_question_comes_before_who_repeats_its_words() -> None:
    turns = [
        candidate(1, "A sunset over the lake.", ["What did you paint last week?"], "Ann", "Bo", session=1),
        candidate(2, "Nice, I paint too.", ["I paint every week."], "Ann", "Bo", session=2),
        candidate(3, "Nice to hear from you!", ["Hello."], "Ann", "Bo", session=3),
    ]
    assert ranked("What did Ann paint last week?", turns, speakers=["Ann", "Bo"])[0].id == 1
    assert values("answers", "What did Ann paint last week?", turns, speakers=["Ann"]) == [1.0, 0.0, 0.0]


def test_features_of_dialogue_are_nothing_to_a_note() -> None:
    note = candidate(1, "Do you paint?", ["What did you paint?"], session=1)
    for feature in ("answers", "asks_too", "addresses", "speaker", "party"):
        assert values(feature, "What did Ann paint?", [note], speakers=["Ann"]) == [0.0]


def test_the_name_of_a_speaker_finds_a_note_about_them() -> None:
    notes = [candidate(1, "Caroline prefers tabs."), candidate(2, "Melanie prefers spaces.")]
    speakers = ["Caroline", "Melanie"]
    assert [found.id for found in ranked("What does Melanie prefer?", notes, speakers=speakers)] == [2, 1]


def test_the_one_who_is_named_is_meant_and_two_are_not() -> None:
    turns = [
        candidate(1, "hm", speaker="Ann"),
        candidate(2, "hm", ["ok"], "Bo", "Ann"),
        candidate(3, "hm", (), "Cy"),
    ]
    speakers = ["Ann", "Bo", "Cy"]
    assert values("speaker", "What did Ann say?", turns, speakers=speakers) == [1.0, 0.0, 0.0]
    assert values("party", "What did Ann say?", turns, speakers=speakers) == [1.0, 1.0, 0.0]
    assert values("party", "What did Ann say to Bo?", turns, speakers=speakers) == [0.0, 0.0, 0.0]


def test_a_day_that_is_named_finds_what_happened_then() -> None:
    def at(year: int, month: int, day: int) -> float:
        return datetime(year, month, day, 12, tzinfo=UTC).timestamp()

    notes = [candidate(1, "a", happened_at=at(2023, 5, 8)), candidate(2, "a", happened_at=at(2022, 5, 9))]
    assert values("date", "on 8 May 2023", [*notes, candidate(3, "a")]) == [2.3, 1.0, 0.0]


def test_times_numbers_and_names_count_where_they_are_asked_for() -> None:
    notes = [candidate(1, "we met Anna last week"), candidate(2, "it took 12 tries"), candidate(3, "well")]
    assert values("when", "When was it?", notes) == [1.0, 0.0, 0.0]
    assert values("when", "What was it?", notes) == [0.0, 0.0, 0.0]
    assert values("number", "How many tries?", notes) == [0.0, 1.0, 0.0]
    assert values("names", "Who?", notes) == [0.25, 0.0, 0.0]


def test_where_much_is_about_the_matter_a_row_gains() -> None:
    turns = [candidate(n, "a fox", session=1) for n in range(1, 5)] + [candidate(9, "a fox", session=2)]
    assert values("session_match", "fox", turns) == [3.0, 3.0, 3.0, 3.0, 1.0]
    assert values("session_match", "fox", [candidate(1, "a fox")]) == [0.0]


def test_with_vectors_a_word_is_found_by_one_like_it_and_without_by_its_stem_only() -> None:
    notes = [candidate(1, "a dog barks"), candidate(2, "a car drives"), candidate(3, "puppies")]
    known = {"puppy": (1.0, 0.0), "dog": (0.8, 0.6), "puppies": (0.9, 0.1)}

    def embed(words: Sequence[str]) -> Array:
        return np.array([known.get(word, (0.0, 0.0)) for word in words], np.float32)

    near = ranked("puppy", notes, applied=only("match"), lexicon=Lexicon(embed))
    assert {found.id: round(found.score, 1) for found in near} == {1: 0.8, 2: 0.0, 3: 1.0}
    assert values("match", "puppy", notes) == [0.0, 0.0, 1.0]


def test_each_word_is_embedded_once() -> None:
    asked: list[str] = []

    def embed(words: Sequence[str]) -> Array:
        asked.extend(words)
        return np.ones((len(words), 2), np.float32)

    lexicon = Lexicon(embed)
    for _ in range(2):
        ranked("red fox", [candidate(1, "red red fox"), candidate(2, "red car")], lexicon=lexicon)
    assert sorted(asked) == ["car", "fox", "red"]


def test_a_full_lexicon_begins_anew_and_ranks_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sb.memory.ranking.lexicon.MOST_WORDS", 3)
    lexicon, notes = Lexicon(), [candidate(1, "a red fox jumps over it"), candidate(2, "a blue car")]
    first = ranked("blue car", notes, lexicon=lexicon)
    assert ranked("blue car", notes, lexicon=lexicon) == first


def test_words_that_stand_for_each_other_in_the_lexicons_table_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notes = [
        candidate(number, text)
        for number, text in enumerate(["a red fox?", "blue cars. A fox?", "a red car"], 1)
    ]
    first = ranked("red car", notes)
    monkeypatch.setattr("sb.memory.ranking.lexicon._SLOTS", 2)
    assert ranked("red car", notes, lexicon=Lexicon()) == first
    assert [found.id for found in first] == [3, 1, 2]


def test_texts_on_the_named_things_gain_where_a_question_names_several() -> None:
    notes = ["Ed Wood was a filmmaker.", "Ted Lake was a filmmaker of the same time and place.", "Rain."]
    on_notes = [candidate(number, text) for number, text in enumerate(notes, 1)]
    own, other, none = values("several", "Did Ed Wood and Scott Derrickson make films?", on_notes)
    assert (own, none) == (1.0, 0.0)
    assert other < own
    for question in ("Did Ed Wood make films?", "did ed wood and scott make films?", "Films of the place"):
        assert values("several", question, on_notes) == [0.0, 0.0, 0.0]


def test_the_text_before_is_not_on_the_named_things() -> None:
    turn = candidate(1, "They both are.", ["Ed Wood and Scott Derrickson?"], speaker="Bo", session=3)
    note = candidate(2, "Ed Wood, then Scott Derrickson.")
    assert values("several", "Were Ed Wood and Scott Derrickson there?", [turn, note]) == [0.0, 1.0]


def test_a_feature_can_be_switched_off() -> None:
    applied = weights(vectors=True).without("match", "vec")
    assert applied.spoken["match"] == applied.written["vec"] == 0
    assert applied.spoken["lex"] == weights(vectors=True).spoken["lex"]
    assert set(applied.spoken) == set(FEATURES)


def test_a_text_of_rare_words_is_more_specific_than_one_of_common_words() -> None:
    statistics = Texts(["we talk", "we talk", "we talk of zebras", "we eat"])
    assert information(["zebra"], statistics) > information(["talk"], statistics) > 0
    assert information([], statistics) == information(["a"], Texts([])) == 0


def test_rank_fusion_prefers_what_both_searches_named() -> None:
    found = fuse({"words": [1, 4, 2], "vectors": [3, 2]}, explain=True)
    assert [item.id for item in found] == [2, 1, 3, 4]
    assert found[0].score == pytest.approx(1 / 63 + 1 / 62)
    assert found[0].features == {"words": (1 / 63, 1.0), "vectors": (1 / 62, 1.0)}


TEXTS = st.lists(st.text("aåZ ?.!'\n\x001é😀", max_size=40), max_size=3)


@given(
    st.lists(st.tuples(TEXTS, st.sampled_from([None, "Ann", "Bo"])), min_size=1, max_size=8),
    st.text(max_size=30),
)
def test_whatever_the_texts_every_feature_is_a_number_and_every_candidate_is_ranked(
    rows: list[tuple[list[str], str | None]], question: str
) -> None:
    candidates = [
        candidate(number, texts[0] if texts else "", texts[1:], speaker, session=number % 2)
        for number, (texts, speaker) in enumerate(rows, 1)
    ]
    found = ranked(question, candidates, speakers=["Ann", "Bo"])
    assert sorted(entry.id for entry in found) == list(range(1, len(rows) + 1))
    for item in found:
        assert item.features is not None
        assert all(isfinite(value) and 0 <= value <= 3.001 for value, _ in item.features.values())


def test_a_long_answer_earns_nothing_by_repeating_what_it_answers() -> None:
    question = (
        "I moved the beehive to the north meadow last week. Do you have tips for the north meadow beehive?"
    )
    answer = "So the beehive is on the north meadow. " + "Feed the bees and look after the frames. " * 30
    chat = [
        candidate(1, question, [], "user", session=1),
        candidate(2, answer, [question], "assistant", "user", session=1),
    ]
    assert ranked("Where did I move the beehive?", chat, speakers=["user", "assistant"])[0].id == 1


def test_the_best_passage_of_a_long_text_counts_wherever_it_is() -> None:
    padding = "grass grows on and on " * 40
    close, apart = "copper kettle whistles", "copper {0} kettle {0} whistles"
    texts = [f"{padding}{close} {padding}", apart.format(padding), close, "kettle"]
    found = values("passage", close, [candidate(n, text) for n, text in enumerate(texts, 1)])
    assert found[0] == found[2] == 1.0
    assert max(found[1], found[3]) < 0.5


def test_a_row_counts_as_lengthy_the_longer_the_talk_is() -> None:
    talk = Weights({"information": 1.0}, {"information": 3.0}, {"information": 5.0})
    rows = [
        candidate(1, "word " * 20, ["word " * 30], "Ann", session=1, information=1.0),
        candidate(2, "word " * 100, ["word " * 100], "Ann", session=1, information=1.0),
        candidate(3, "word " * 900, information=1.0),
    ]
    scores = {item.id: item.score for item in ranked("word", rows, applied=talk)}
    assert scores == {1: pytest.approx(1), 2: pytest.approx(2), 3: pytest.approx(5)}


def test_the_role_that_is_asked_about_counts() -> None:
    chat = [candidate(1, "a red fox", (), "user"), candidate(2, "a red fox", (), "assistant")]
    speakers = ["user", "assistant"]
    assert values("role", "which fox did I see", chat, speakers=speakers) == [1.0, 0.0]
    assert values("role", "which fox did you describe", chat, speakers=speakers) == [-1.0, 0.0]
    assert values("role", "which fox", chat, speakers=speakers) == [0.0, 0.0]


def test_dense_counts_a_word_more_in_a_shorter_text() -> None:
    short, long, none = values(
        "dense", "fox", [candidate(1, "red fox"), candidate(2, "fox " + "den " * 30), candidate(3, "")]
    )
    assert short > long > none == 0
