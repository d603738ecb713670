"""Properties of trust: bounded, monotone, fading toward neutral, and never raised by a cycle or by oneself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sb.memory.trust.scores import (
    BY_SOURCE,
    DEPTH,
    NEUTRAL,
    OPERATORS,
    Opinion,
    decayed,
    lasting,
    passed_on,
    say,
    standings,
    trust_in_memory,
    weight_of_outcome,
)

SHARES = st.floats(0, 1)
DAYS = st.floats(0, 10_000)
NAMES = ("ada", "bob", "eve", "dan")
PAIRS = tuple((by, about) for by in (OPERATORS, "", *NAMES) for about in NAMES if by != about)
opinions = st.dictionaries(st.sampled_from(PAIRS), st.tuples(SHARES, DAYS), max_size=12).map(
    lambda found: [Opinion(by, about, *value) for (by, about), value in found.items()]
)


@given(SHARES, DAYS, DAYS)
def test_a_score_fades_toward_neutral_and_never_past_it(score: float, days: float, more: float) -> None:
    once = decayed(score, days)
    assert abs(decayed(score, days + more) - NEUTRAL) <= abs(once - NEUTRAL) + 1e-12
    assert (once - NEUTRAL) * (score - NEUTRAL) >= 0
    assert lasting(score, days) <= score
    assert lasting(score, days) == (score if score <= NEUTRAL else once)


@given(SHARES, SHARES, DAYS)
def test_a_higher_score_stays_at_least_as_high(score: float, other: float, days: float) -> None:
    low, high = sorted((score, other))
    assert decayed(low, days) <= decayed(high, days)
    assert lasting(low, days) <= lasting(high, days)
    assert passed_on(low, days % 1) <= passed_on(high, days % 1)


@given(SHARES, SHARES)
def test_what_is_passed_on_is_nearer_to_neutral(opinion: float, trust: float) -> None:
    assert abs(passed_on(opinion, trust) - NEUTRAL) <= DEPTH * abs(opinion - NEUTRAL) + 1e-12
    if trust <= NEUTRAL:
        assert (say(trust), passed_on(opinion, trust)) == (0, NEUTRAL)


@given(opinions)
def test_every_standing_is_from_0_to_1_and_an_operators_score_stands(some: list[Opinion]) -> None:
    found = standings(some)
    assert all(0 <= standing.score <= 1 for standing in found.values())
    unknown = {item.about: item.score for item in some if item.by == ""}
    for opinion in some:
        if opinion.by == OPERATORS:
            score = lasting(opinion.score, opinion.days)
            assert found[opinion.about].score == min(score, unknown.get(opinion.about, 1.0))


@given(opinions, st.sampled_from(NAMES), SHARES)
def test_nobody_changes_their_own_standing(some: list[Opinion], name: str, score: float) -> None:
    """Whatever an agent says of others, they say of each other, and of it."""
    before = standings(some).get(name)
    mine = [opinion for opinion in some if opinion.by != name]
    mine += [Opinion(name, other, score) for other in NAMES if other != name]
    assert standings(mine).get(name) == before
    assert standings([*some, Opinion(name, name, 1.0)]).get(name) == before


@given(opinions, SHARES)
def test_agents_without_a_standing_change_nothing(some: list[Opinion], score: float) -> None:
    ring = [Opinion(by, about, score) for by in ("mal", "meg") for about in ("mal", "meg", *NAMES)]
    assert standings([*some, *ring]) == standings(some)


@given(opinions, SHARES)
def test_a_better_opinion_never_lowers_whom_it_is_about(some: list[Opinion], more: float) -> None:
    before = standings(some)
    for place, opinion in enumerate(some):
        raised = opinion._replace(score=max(opinion.score, more))
        after = standings([*some[:place], raised, *some[place + 1 :]])
        if opinion.about in before and opinion.about in after:
            assert after[opinion.about].score >= before[opinion.about].score - 1e-12


@given(st.sampled_from([*BY_SOURCE, "web-page"]), SHARES, SHARES)
def test_trust_in_a_memory_never_falls_with_that_in_its_writer(source: str, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= trust_in_memory(source, low) <= trust_in_memory(source, high) <= 0.9
    assert trust_in_memory(source, NEUTRAL) == trust_in_memory(source)


@given(SHARES, st.integers(1, 500))
def test_outcomes_of_somebody_who_is_not_trusted_stay_below_two(standing: float, number: int) -> None:
    total = sum(weight_of_outcome(standing, former) for former in range(number))
    assert total == number if standing >= NEUTRAL else total <= 2 * standing / NEUTRAL + 1e-6
