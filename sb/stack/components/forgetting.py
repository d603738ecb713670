"""Decay unused memories by half-lives, which can be set per kind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sb.memory.decay import SWEPT_AT
from sb.stack.components.component import Component
from sb.stack.forgetting import FADING_KINDS
from sb.stack.storage import StackStorage

_SETTING = "half_lives"  # kind to days, None for never


class ForgettingComponent(Component):
    """Lets unprotected memories fade; `protect_memory` keeps one from it.

    Args:
        half_lives: kind of memory (episode, belief, goal, note, relationship) to the days after which half of its
            strength is left; `math.inf` or None for never. It goes before what the stack was set to.

    Raises:
        ValueError: a kind is none that fades, or days are not above 0.
    """

    name = "forgetting"

    def __init__(self, half_lives: Mapping[str, float | None] | None = None) -> None:
        super().__init__()
        self._own = {kind: _checked(kind, _from_json(days)) for kind, days in (half_lives or {}).items()}

    def arguments(self) -> dict[str, Any]:
        own = {kind: _to_json(days) for kind, days in self._own.items()}
        return {"half_lives": own} if own else {}

    @property
    def half_lives(self) -> dict[str, float]:
        """Kind to days, as far as they are not what comes with the kind."""
        stored = (self._storage.setting(_SETTING) if self._storage else None) or {}
        return {kind: _from_json(days) for kind, days in stored.items()} | self._own

    def set_half_life(self, kind: str, days: float) -> None:
        """Sets and stores the half-life of a kind in this stack.

        Raises:
            ValueError: as the class. RuntimeError: the component belongs to no stack.
        """
        checked = _checked(kind, days)
        if self._storage is None:
            raise RuntimeError("add the component to a stack before setting a half-life")
        stored = dict(self._storage.setting(_SETTING) or {})
        self._storage.save_setting(_SETTING, stored | {kind: _to_json(checked)})

    def on_save(self, memory_type: str, memory_id: str, memory: Any) -> None:
        """Starts decay with the first memory."""
        if self._storage is not None and self._storage.setting(SWEPT_AT) is None:
            self._storage.forgetting.begin()

    def _maintain(self, storage: StackStorage) -> dict[str, Any]:
        return storage.forgetting.fade(self.half_lives)._asdict()


def _to_json(days: float) -> float | None:
    return None if days == math.inf else days


def _from_json(days: float | None) -> float:
    return math.inf if days is None else days


def _checked(kind: str, days: float) -> float:
    if kind not in FADING_KINDS:
        raise ValueError(f"{kind!r} does not fade: {', '.join(FADING_KINDS)} do")
    if not days > 0:
        raise ValueError(f"half-life is {days} days, must be above 0")
    return float(days)
