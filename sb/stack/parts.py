"""Offer the methods of a part as methods of the whole, with their signatures and docstrings."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from typing import Any, Concatenate, ParamSpec, TypeVar

Part = TypeVar("Part")
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def of_part(
    part: str, method: Callable[Concatenate[Part, Given], Answer]
) -> Callable[Concatenate[Any, Given], Answer]:
    """Makes a method that calls a method of a part.

    Args:
        part: the attribute of the whole that holds the part. method: as the part's class defines it.
    """
    bound = attrgetter(f"{part}.{method.__name__}")

    @wraps(method)
    def call(whole: Any, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        answer: Answer = bound(whole)(*given, **named)
        return answer

    return call
