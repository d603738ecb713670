"""Classify the outcome of an episode by its words: success, failure, partial or unknown."""

from __future__ import annotations

import re

_PARTLY = re.compile(r"\b(?:partial(?:ly)?|partly|halfway|in part|incomplete)\b", re.IGNORECASE)
_WELL = re.compile(
    r"\b(?:success(?:es|ful|fully)?|succeed(?:s|ed)?|complet(?:e|ed|es)|finished|done|works?|worked|passe[sd]|shipped"
    r"|deployed|fixed|resolved|solved|achieved|merged|delivered)\b",
    re.IGNORECASE,
)
_BADLY = re.compile(
    r"\b(?:fail(?:s|ed|ure|ures)?|unsuccessful(?:ly)?|error(?:s|ed)?|broke(?:n)?|crash(?:es|ed)?|rejected|abandoned"
    r"|reverted|rolled back|timed out|outage)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:no|not|never|without|zero|n't)(?:\s+\w+){0,1}\s*$|n't\s*$", re.IGNORECASE)


def outcome_type(outcome: str) -> str:
    """success, failure, partial where it says both, or unknown where it says neither.

    A word after "no", "not" or the like counts as its opposite.
    """
    well = badly = False
    for words, good in ((_WELL, True), (_BADLY, False)):
        for match in words.finditer(outcome):
            denied = _DENIED.search(outcome, max(0, match.start() - 24), match.start()) is not None
            well, badly = well or good is not denied, badly or good is denied
    if _PARTLY.search(outcome) or (well and badly):
        return "partial"
    return "success" if well else "failure" if badly else "unknown"
