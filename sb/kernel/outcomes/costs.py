"""Cost of a session's usage: the host's own figure, else configured prices, else list prices of the time of the call.

List prices come from `genai-prices`, which is imported here alone and brings them along: nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.base.values.canonical import canonical_bytes, digest
from sb.base.values.frozen import frozen
from sb.config.kinds import ModelPrice
from sb.kernel.review.session_usage import BANDS, Part
from sb.kernel.review.usage import cost_usd

REPORTED, CONFIGURED, LISTED = "reported", "configured", "list prices"  # sources of a cost
_PACKAGE = "genai-prices"
_LONGEST_NAME = 60  # characters of a model in a reason
# What `genai-prices` calls each of our counts, with those that contain it.
_COUNTS: dict[str, tuple[str, ...]] = {
    "input": ("input_tokens",),
    "output": ("output_tokens",),
    "cache_read": ("input_tokens", "cache_read_tokens"),
    "cache_write": ("input_tokens", "cache_write_tokens"),
    "cache_write_1h": ("input_tokens", "cache_write_tokens", "cache_write_1h_tokens"),
}


@frozen
class Cost:
    """A cost of usage.

    Args:
        cents: of US dollars; None where a part has no price.
        sources: whose figures or prices it is made of.
        unpriced: why it is not known; "" where it is.
    """

    cents: float | None = None
    sources: tuple[str, ...] = ()
    unpriced: str = ""


def cost_of(parts: Iterable[Part], prices: Mapping[str, ModelPrice], began_at: float) -> Cost:
    """The cost of these parts.

    Args:
        prices: as configured; they win over list prices, as they are what is paid.
        began_at: the time of parts that have none, in seconds since the epoch.
    """
    usd, sources, unpriced = Decimal(0), set[str](), set[str]()
    for part in parts:
        configured = cost_usd({part.model: part.tokens}, prices)
        if part.usd is not None:
            usd, source = usd + Decimal(part.usd), REPORTED
        elif configured is not None:
            usd, source = usd + Decimal(configured), CONFIGURED
        elif (listed := _listed(part, began_at)) is not None:
            usd, source = usd + listed, LISTED
        else:
            unpriced.add(one_line(part.model, _LONGEST_NAME) or "a model without a name")
            continue
        sources.add(source)
    if unpriced or not sources:
        return Cost(
            unpriced=f"no price for {', '.join(sorted(unpriced))}" if unpriced else "no tokens are known"
        )
    return Cost(float(usd * 100), tuple(sorted(sources)))


def prices_mark(prices: Mapping[str, ModelPrice]) -> str:
    """A digest that changes when a cost may come out differently."""
    configured = {model: vars(price) for model, price in prices.items()}
    return digest(canonical_bytes({"configured": configured, "listed": listed_version()}))[:16]


def listed_version() -> str:
    """The version of the list prices; "" where they are not installed."""
    try:
        return version(_PACKAGE)
    except PackageNotFoundError:
        return ""


def _listed(part: Part, began_at: float) -> Decimal | None:
    if part.band is None:  # of an older version, which did not keep the size of prompts
        return None
    rates = _rates(part.model, began_at if part.at is None else part.at, part.band)
    counts: dict[str, int] = vars(part.tokens)
    return None if rates is None else sum((count * rates[name] for name, count in counts.items()), Decimal(0))


@lru_cache(maxsize=1 << 16)
def _rates(model: str, at: float, band: int) -> dict[str, Decimal] | None:
    """List prices of one token of each count, in US dollars, for prompts of this size; None without a price."""
    size = BANDS[band] if band < len(BANDS) else BANDS[-1] + 1

    def price(**counts: int) -> Decimal:
        found = _library().calc_price(_library().Usage(**counts), model, genai_request_timestamp=moment)
        return Decimal(found.total_price)

    try:
        moment = datetime.fromtimestamp(at, UTC)
        if price():  # a fee for each request, of which the number is not known
            return None
        prompt = price(input_tokens=size)
        rates = {
            name: price(**dict.fromkeys(counts, size)) / size
            for name, counts in _COUNTS.items()
            if name != "output"
        }
        rates["output"] = (price(input_tokens=size, output_tokens=size) - prompt) / size
    except (
        ImportError,
        LookupError,
        ValueError,
        OverflowError,
        OSError,
    ):  # not installed, unknown, or no time
        return None
    return rates


@cache
def _library() -> Any:
    import genai_prices

    return genai_prices
