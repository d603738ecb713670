"""Names of people, guessed by the words before them."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PART = r"[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ'\u2019\-]{1,30}(?:[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{1,30})?"
_FULL = _PART + r"(?: (?:van|von|de|der|da|di|la|bin|al)| [A-Z]\.){0,2}(?: " + _PART + r"){0,2}"
_INTRODUCED = re.compile(
    r"\b(?:(?:[Mm]y name is|[Ii] am called|[Mm]ein Name ist|[Jj]e m'appelle|[Mm]e llamo|[Mm]i chiamo"
    r"|[Ss]igned by|[Dd]ear|[Nn]ame:|[Pp]atient:?|[Cc]ustomer:|[Cc]ontact:)\s|(?:Mr|Mrs|Ms|Dr|Prof|Herr|Frau|Mme|Sr|Sra)\.?\s)"
    r"\s{0,3}(?P<name>" + _FULL + r")"
)


def names(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of names after words that introduce one."""
    for match in _INTRODUCED.finditer(text):
        yield match.span("name")
