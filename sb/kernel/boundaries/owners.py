"""Owners of charters and context sources: whether a person is still there."""

from __future__ import annotations

from sb.errors import SBError
from sb.kernel.authority.authority import Authority


class Owners:
    """The owners of one home, asked for anew once its operators changed."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self._known: dict[str, tuple[object, str]] = {}

    def refusal(self, owner: str) -> str:
        """The reason why this owner no longer counts; "" if they do, or if nobody enrolled by that name.

        An owner whose operator's key was revoked has left. Where that cannot be told, it is a refusal.
        """
        token = self._authority.token()
        known = self._known.get(owner)
        if known is None or known[0] != token:
            known = self._known[owner] = (token, self._asked(owner))
        return known[1]

    def _asked(self, owner: str) -> str:
        try:
            roster = self._authority.roster()
        except SBError as error:
            return f"whether owner {owner} is still an operator cannot be told: {error.message}"
        known = any(operator.name == owner for operator in roster.operators)
        return f"its owner {owner} is no operator any more" if known and roster.named(owner) is None else ""
