"""Tokens and cost of sessions, as text."""

from __future__ import annotations

from sb.base.fitting import count, money, short_count
from sb.config import Config
from sb.kernel.review.session_usage import load_usage
from sb.kernel.review.usage import Tokens, cost_usd, total

UNKNOWN = "unknown"


def dollars(cost: float | None) -> str:
    """A cost in US dollars; what is unknown is never 0."""
    return UNKNOWN if cost is None else money(cost)


def session_cost(config: Config, run_id: str) -> tuple[Tokens | None, float | None]:
    """The tokens of a session and their cost at the configured prices; None for what is unknown."""
    session = load_usage(config.home.usage, run_id)
    usage = session.usage if session else {}
    return (total(usage), cost_usd(usage, config.prices)) if usage else (None, None)


def tokens_line(tokens: Tokens | None, cost: float | None) -> str:
    """Tokens and what they cost: `1.2M in, 34k out, cost $0.42`; "" if no tokens are known."""
    if tokens is None:
        return ""
    return f"{short_count(tokens.prompt)} tokens in, {short_count(tokens.output)} out, cost {dollars(cost)}"


def money_text(amount: float, currency: str) -> str:
    """An amount with its unit: "48 000 EUR"; one that declares no currency, such as cents, is a number alone."""
    number = count(int(amount)) if amount == int(amount) else f"{amount:,.2f}".replace(",", " ")
    return f"{number} {currency}".rstrip()
