"""Calls of a bot's callbacks: an exception becomes the default."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any


def strategy_safe_wrapper(
    f: Callable[..., Any], default_retval: Any = None, supress_error: bool = False
) -> Callable[..., Any]:
    def call(**kwargs: Any) -> Any:
        try:
            return f(**kwargs)
        except Exception:
            logging.getLogger(__name__).exception("in a strategy")
            if default_retval is None and not supress_error:
                raise
            return default_retval

    return call
