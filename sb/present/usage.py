"""Tokens and cost of sessions, as text."""

from __future__ import annotations

from sb.config import Config
from sb.kernel.review.session_usage import load_usage
from sb.kernel.review.usage import Tokens, cost_usd, total

UNKNOWN = "unknown"
_THOUSAND = 1_000


def human_count(count: int) -> str:
    """A number of tokens in a few characters: 950, 12k, 3.4M."""
    for size, letter in ((_THOUSAND**3, "G"), (_THOUSAND**2, "M"), (_THOUSAND, "k")):
        if count >= size:
            return (
                f"{count / size:.1f}".removesuffix(".0") + letter
                if count < 10 * size
                else f"{count // size}{letter}"
            )
    return str(count)


def dollars(cost: float | None) -> str:
    """A cost in US dollars; what is unknown is never 0."""
    return UNKNOWN if cost is None else f"${cost:,.2f}"


def session_cost(config: Config, run_id: str) -> tuple[Tokens | None, float | None]:
    """The tokens of a session and their cost at the configured prices; None for what is unknown."""
    session = load_usage(config.home.usage, run_id)
    usage = session.usage if session else {}
    return (total(usage), cost_usd(usage, config.prices)) if usage else (None, None)


def tokens_line(tokens: Tokens | None, cost: float | None) -> str:
    """Tokens and what they cost: `1.2M in, 34k out, cost $0.42`; "" if no tokens are known."""
    if tokens is None:
        return ""
    return f"{human_count(tokens.prompt)} tokens in, {human_count(tokens.output)} out, cost {dollars(cost)}"
