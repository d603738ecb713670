"""Rounds of tests that chance decides: a few each time, many under `make prove`."""

from __future__ import annotations

import os

_WANTED = os.environ.get("SB_PROVE_ROUNDS")


def rounds(usually: int) -> int:
    """The rounds of a test marked `prove`.

    Args:
        usually: without `make prove`, which says its own number.
    """
    return usually if _WANTED is None else max(usually, int(_WANTED))
