"""CPU time of `remember` with the gate, compared with saving the same kind of text without it, in stores of several sizes.

Each store has the same number of facts in the scope that is written to, and the others in scopes of as many. New texts resemble
nothing; near ones are a stored text with one word changed and one added, which the gate compares word by word.
`python -m evals.bench.remember 10000 100000 500000` says which sizes, the first being the number in the scope.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from evals.bench.memory import BATCH, Texts, configured
from sb.memory import Brain
from sb.protocols.types import Fact
from sb.store.records.places import Place

SIZES = (10_000,)
BAR = 1.5
CALLS = 200
_SCOPE = "project:bench"
_WARM = 100  # calls before the measured ones, so that words are known


def report(sizes: tuple[int, ...] = SIZES) -> Iterator[str]:
    """One line a store and kind of text."""
    with ExitStack() as stack:
        stores = {size: _Store(size, sizes[0], stack) for size in sizes}
        for kind in ("new", "near"):
            for size, (gated, plain) in _measured(stores, kind).items():
                ratio = gated / plain
                verdict = "ok" if ratio <= BAR else "OVER"
                yield (
                    f"remember, {kind:<4} texts, {sizes[0]} of {size} in scope: {gated:6.2f} ms of CPU, without the gate"
                    f" {plain:5.2f}   {ratio:5.2f}x  bar {BAR:g}x  {verdict}"
                )


def _measured(stores: dict[int, _Store], kind: str) -> dict[int, tuple[float, float]]:
    """Milliseconds a call with and without the gate, in turn over all stores: a busy machine is busy for all of them."""
    times: dict[int, tuple[list[float], list[float]]] = {size: ([], []) for size in stores}
    for call in range(_WARM + CALLS):
        for size, store in stores.items():
            took = [_seconds(store.remember, store.text(kind), force) for force in (False, True)]
            if call >= _WARM:
                for seconds, each in zip(took, times[size], strict=True):
                    each.append(seconds)
    return {size: (1e3 * median(gated), 1e3 * median(plain)) for size, (gated, plain) in times.items()}


def _seconds(remember: Callable[[str, bool], object], text: str, force: bool) -> float:
    started = time.process_time()
    remember(text, force)
    return time.process_time() - started


class _Store:
    """A memory of so many facts.

    Args:
        inside: how many of them are in the scope that is written to. stack: closes and removes it.
    """

    def __init__(self, size: int, inside: int, stack: ExitStack) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self._brain = stack.enter_context(Brain("bench", config=configured(folder), scope=_SCOPE, warm=False))
        self._text = Texts()
        self._chosen = random.Random(size)
        self._known = self._filled(_SCOPE, inside)
        for number, start in enumerate(range(inside, size, inside)):
            self._filled(f"project:other{number}", min(inside, size - start))
        self._brain.writer.begin(_SCOPE)

    def _filled(self, scope: str, number: int) -> list[str]:
        texts = [self._text() for _ in range(number)]
        for start in range(0, number, BATCH):
            self._brain.writer.begin(scope)
            facts = [Fact(text) for text in texts[start : start + BATCH]]
            self._brain.writer.keep_all(facts, Place(self._brain.stack, scope))
        return texts

    def text(self, kind: str) -> str:
        if kind == "new":
            return self._text()
        words, further = self._chosen.choice(self._known).split(), self._text().split()
        words[self._chosen.randrange(len(words))] = further[0]
        words.insert(self._chosen.randrange(len(words)), further[1])
        return " ".join(words)

    def remember(self, text: str, force: bool) -> None:
        self._brain.remember(text, force=force)


if __name__ == "__main__":
    for line in report(tuple(map(int, sys.argv[1:])) or SIZES):
        print(line, flush=True)
