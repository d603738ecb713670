"""Properties of the gate: monotone in trust, idempotent under rewrite, convergent under restatement."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sb.config.memory_gate import DEFAULTS, GateSettings
from sb.memory.gate.confidence import Beta
from sb.memory.gate.incoming import _COUNTED, _FIRST, _SHARE
from sb.memory.gate.likeness import Comparer
from sb.memory.gate.values import changed, values_of
from sb.memory.gate.worth import Candidate, decide, terms_of, worth
from sb.memory.record_writer import count_words
from sb.store.records.columns import Row

SHARES = st.floats(0, 1)
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(
        st.sampled_from(
            "Anna deploys not never 3 4 five ms on Fridays May 7 the `x.py` before after cart.".split()
        ),
        max_size=12,
    ).map(" ".join),
)
WORDS = st.lists(st.sampled_from("Anna deploys on Fridays the cart before `x.py` not".split()), max_size=5)


@st.composite
def configured(draw: st.DrawFn) -> GateSettings:
    """Settings that keep both rules, made so instead of thrown away until they do."""
    threshold = draw(st.floats(0.01, 1))
    surprise = draw(SHARES) * threshold * 0.9
    importance = draw(SHARES) * (threshold * 0.99 - surprise)
    least = min(1.0, (threshold - surprise) * 1.001)
    made = GateSettings(
        surprise=surprise,
        novelty=least + draw(SHARES) * (1 - least),
        importance=importance,
        prior=draw(SHARES),
        threshold=threshold,
    )
    assume(not made.problem())
    return made


@st.composite
def changed_pairs(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts that say different values of something, in words that are equal or nearly so."""
    before, after = draw(WORDS), draw(WORDS)
    value, other = draw(st.lists(st.integers(1, 10**6), min_size=2, max_size=2, unique=True))
    ending = draw(st.one_of(st.just(after), WORDS))
    return " ".join([*before, str(value), *after]), " ".join([*before, str(other), *ending])


CONFIGURED = configured()
COMPARER = Comparer(None)
NOW = 1.8e9


def row(text: str, age_days: float = 0.0) -> Row:
    found = {
        "id": 1, "uid": "mem_1", "text": text, "category": "project", "speaker": None, "happened_at": NOW,
        "updated_at": NOW - age_days * 86400, "fields": "{}",
    }  # fmt: skip
    count_words(found)
    return found


def candidate(text: str, trust: float) -> Candidate:
    return Candidate(text, terms_of(row(text)), "project", None, NOW, False, trust)


@given(CONFIGURED, SHARES, SHARES, SHARES, SHARES)
def test_worth_never_falls_with_trust(
    one: GateSettings, likeness: float, recent: float, trust: float, more: float
) -> None:
    low, high = sorted((trust, more))
    assert worth(one, likeness, recent, low) <= worth(one, likeness, recent, high)


@settings(max_examples=200)
@given(CONFIGURED, TEXTS, SHARES, st.floats(0, 10_000))
def test_equal_text_is_merged_whatever_its_age_and_trust(
    one: GateSettings, text: str, trust: float, age: float
) -> None:
    verdict, into = decide(candidate(text, trust), [row(text, age)], one, COMPARER, NOW)
    assert not verdict.admitted
    assert into is not None


@given(CONFIGURED, TEXTS, TEXTS, SHARES, SHARES)
def test_what_is_admitted_stays_so_with_more_trust(
    one: GateSettings, text: str, other: str, trust: float, more: float
) -> None:
    low, high = sorted((trust, more))
    admitted = [
        decide(candidate(text, each), [row(other)], one, COMPARER, NOW)[0].admitted for each in (low, high)
    ]
    assert admitted[0] <= admitted[1]


@given(TEXTS, TEXTS)
def test_changed_value_is_found_from_either_side(one: str, other: str) -> None:
    here, there = values_of(one), values_of(other)
    assert bool(changed(here, there)) == bool(changed(there, here))
    assert changed(here, here) == ""


@given(changed_pairs())
def test_text_with_another_value_is_never_merged(texts: tuple[str, str]) -> None:
    text, other = texts
    assert changed(values_of(text), values_of(other))
    verdict, into = decide(candidate(text, 0.7), [row(other)], DEFAULTS["project"], COMPARER, NOW)
    assert verdict.admitted
    assert into is None


@given(st.floats(0, 1), st.floats(0.5, 100), SHARES, st.integers(0, 200))
def test_restatements_converge(confidence: float, n: float, trust: float, times: int) -> None:
    belief = Beta(confidence * n, (1 - confidence) * n)
    limit = (belief.alpha + 1) / (n + 1)
    for number in range(times):
        after = belief.supported(trust * _FIRST * _SHARE**number if number < _COUNTED else 0.0)
        assert after.mean >= belief.mean - 1e-12
        belief = after
    assert belief.mean <= limit + 1e-9
    assert belief.alpha + belief.beta <= n + trust + 1e-9


def test_settings_of_every_category_keep_the_rules() -> None:
    assert {name: default.problem() for name, default in DEFAULTS.items()} == dict.fromkeys(DEFAULTS, "")
    assert replace(DEFAULTS["lesson"], threshold=0.1).problem()
