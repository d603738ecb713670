"""Owners of charters and context sources: whether a person is still there."""

from __future__ import annotations

from sb.errors import SBError
from sb.kernel.authority.authority import Authority


def owner_refusal(authority: Authority, owner: str) -> str:
    """Why this owner does not answer for anything any more; "" if they do, or if nobody enrolled by that name.

    An owner whose operator's key was revoked has left. Where that cannot be told, it is a refusal.
    """
    try:
        roster = authority.roster()
    except SBError as error:
        return f"whether owner {owner} is still an operator cannot be told: {error.message}"
    known = any(operator.name == owner for operator in roster.operators)
    return f"its owner {owner} is no operator any more" if known and roster.named(owner) is None else ""
