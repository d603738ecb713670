"""Costs of usage: whose figure counts, list prices of the time and size of each call, and what is never 0."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime

import genai_prices
import pytest

from sb.config.kinds import ModelPrice
from sb.kernel.outcomes import costs
from sb.kernel.outcomes.costs import CONFIGURED, LISTED, REPORTED, Cost, cost_of, prices_mark
from sb.kernel.review.session_usage import BANDS, Part, SessionUsage, TranscriptState, Used
from sb.kernel.review.usage import Tokens

SONNET, O3 = "claude-sonnet-4-5-20250929", "o3"
MAY, AUGUST = datetime(2025, 5, 1, tzinfo=UTC).timestamp(), datetime(2025, 8, 1, tzinfo=UTC).timestamp()
MILLION = 1_000_000


def parts(*responses: Used) -> Iterable[Part]:
    state = TranscriptState()
    for response in responses:
        state.add(response)
    return SessionUsage({"file": state}).parts


def listed(model: str, tokens: Tokens, at: float | None = AUGUST) -> float | None:
    return cost_of(parts(Used("k", model, tokens, at)), {}, AUGUST).cents


def library(model: str, tokens: Tokens, at: float) -> float:
    """The cents of one response by the library itself."""
    usage = genai_prices.Usage(
        input_tokens=tokens.prompt,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write + tokens.cache_write_1h,
        cache_write_1h_tokens=tokens.cache_write_1h,
        output_tokens=tokens.output,
    )
    moment = datetime.fromtimestamp(at, UTC)
    return float(genai_prices.calc_price(usage, model, genai_request_timestamp=moment).total_price) * 100


def test_host_figure_wins_then_configured_then_list_prices() -> None:
    tokens, prices = Tokens(input=MILLION), {"claude-*": ModelPrice(input=7)}
    reported = Used("a", SONNET, tokens, AUGUST, 1.25)
    assert cost_of(parts(reported), prices, 0) == Cost(125.0, (REPORTED,))
    assert cost_of(parts(Used("a", SONNET, tokens, AUGUST)), prices, 0) == Cost(700.0, (CONFIGURED,))
    both = (reported, Used("b", O3, tokens, AUGUST), Used("c", "claude-x", tokens, AUGUST))
    assert cost_of(parts(*both), prices, 0) == Cost(125.0 + 200 + 700, (CONFIGURED, LISTED, REPORTED))


def test_price_is_that_of_the_time_of_the_call() -> None:
    assert [listed(O3, Tokens(input=MILLION), at) for at in (MAY, AUGUST)] == [1000, 200]
    assert cost_of(parts(Used("k", O3, Tokens(input=MILLION))), {}, MAY).cents == 1000  # its session's time
    assert listed(O3, Tokens(input=MILLION), 5e10) == 200  # a clock that runs ahead
    both = (Used("a", O3, Tokens(input=MILLION), MAY), Used("b", O3, Tokens(input=MILLION), AUGUST))
    assert cost_of(parts(*both), {}, 0).cents == 1200


def test_cache_writes_for_an_hour_cost_more_than_those_for_five_minutes() -> None:
    five, hour = Tokens(cache_write=100_000), Tokens(cache_write_1h=100_000)
    assert (listed(SONNET, five), listed(SONNET, hour)) == (37.5, 60.0)


def test_many_small_prompts_are_not_priced_as_one_large_one() -> None:
    small = [Used(str(number), SONNET, Tokens(input=100_000), AUGUST) for number in range(10)]
    assert cost_of(parts(*small), {}, 0).cents == pytest.approx(300)
    assert listed(SONNET, Tokens(input=MILLION)) == 600


def test_sums_of_a_session_cost_what_its_responses_cost() -> None:
    draw = random.Random(39)
    for model in (SONNET, "gpt-5-codex", "gemini-2.5-pro", "claude-opus-4-1-20250805", "gpt-5.4"):
        responses, wanted = [], 0.0
        for number in range(60):
            writes = (draw.randrange(90_000), draw.randrange(90_000)) if "claude" in model else (0, 0)
            sizes = (draw.randrange(250_000), draw.randrange(9_000), draw.randrange(300_000))
            tokens, at = Tokens(*sizes, *writes), AUGUST + draw.randrange(86_400 * 30)
            responses.append(Used(str(number), model, tokens, at))
            wanted += library(model, tokens, at)
        assert cost_of(parts(*responses), {}, 0).cents == pytest.approx(wanted, abs=1e-6)


def test_bands_are_the_sizes_at_which_some_model_has_another_price() -> None:
    """A new version of the list may have another size: then it has to be added."""
    from genai_prices.data import providers

    starts = set[int]()
    for provider in providers:
        for model in provider.models:
            conditional = model.prices if isinstance(model.prices, list) else [model]
            for condition in conditional:
                for price in vars(condition.prices).values():
                    starts.update(tier.start for tier in getattr(price, "tiers", ()))
    assert starts <= set(BANDS)
    assert list(BANDS) == sorted(BANDS)


def test_what_has_no_price_is_unknown_and_never_nothing() -> None:
    for model in ("claude-x", "gpt-x", "", "nobody\x1b[31m"):
        cost = cost_of(parts(Used("a", model, Tokens(1), AUGUST), Used("b", O3, Tokens(1), AUGUST)), {}, 0)
        assert (cost.cents, cost.sources) == (None, ())
        assert cost.unpriced.startswith("no price for ")
        assert "\x1b" not in cost.unpriced
    assert cost_of((), {}, 0) == Cost(None, (), "no tokens are known")
    old = Part.of(O3, Tokens(MILLION), {})  # of a version that did not keep the size of prompts
    assert cost_of([old], {}, AUGUST).cents is None
    assert cost_of([old], {O3: ModelPrice(input=1)}, AUGUST).cents == 100


def test_without_the_extra_nothing_is_listed_and_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    costs._rates.cache_clear()
    costs._library.cache_clear()
    with_list = prices_mark({})
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    monkeypatch.setattr(costs, "_PACKAGE", "genai-prices-missing")
    assert cost_of(parts(Used("k", O3, Tokens(1), AUGUST)), {}, 0).unpriced == "no price for o3"
    assert (costs.listed_version(), prices_mark({}) == with_list) == ("", False)
    costs._rates.cache_clear()


def test_list_prices_are_loaded_by_reports_alone_and_fetch_nothing() -> None:
    code = (
        "import sys, threading; import sb.kernel.outcomes.record, sb.hosts.usage, sb.present.usage;"
        "assert 'genai_prices' not in sys.modules;"
        "from sb.kernel.outcomes.costs import _rates; assert _rates('o3', 1.7e9, 0);"
        "assert 'genai_prices' in sys.modules; assert threading.active_count() == 1;"
        "from genai_prices import data_snapshot; assert data_snapshot._custom_snapshot is None"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
