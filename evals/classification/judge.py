"""Judge classification on one half of the corpus: precision and recall by label, false alarms, time.

Run `python -m evals.classification.judge dev` or `held_out`; `--misses` also shows what was missed or raised wrongly.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from statistics import median

from evals.classification.corpus import Text, texts
from sb.base.classification import LABELS, classify

_FILLER = "The meeting about the garden was moved, since nobody had the keys and the rain would not stop. "
_LENGTH = 400  # characters of the texts that are timed


def main(arguments: Sequence[str]) -> None:
    """Print the figures of one half."""
    corpus = list(texts(arguments[0] if arguments else "dev"))
    right, missed, raised, alarms = Counter[str](), Counter[str](), Counter[str](), 0
    for text in corpus:
        found = {
            (label if label in LABELS else "secret", start, end) for label, start, end in _found(text.text)
        }
        wanted = set(text.spans)
        hits = {want for want in wanted if any(_same(want, item) for item in found)}
        wrong = {item for item in found if not any(_same(want, item) for want in wanted)}
        right.update(label for label, *_ in hits)
        missed.update(label for label, *_ in wanted - hits)
        raised.update(label for label, *_ in wrong)
        alarms += bool(wrong) and not wanted
        if "--misses" in arguments and (wanted - hits or wrong):
            shown = [(label, text.text[start:end]) for label, start, end in (wanted - hits) | wrong]
            print(f"{text.text!r}: {shown}")
    for label in (*LABELS, "secret"):
        print(f"{label:12} {_figures(right[label], missed[label], raised[label])}")
    benign = sum(not item.spans for item in corpus)
    print(f"{'all':12} {_figures(right.total(), missed.total(), raised.total())}")
    print(f"false alarms {alarms / benign:.3f} of {benign} texts that hold nothing")
    times = sorted(_timed(corpus))
    print(f"{median(times):.0f} us of CPU for {_LENGTH} characters, p99 {times[len(times) * 99 // 100]:.0f}")


def _found(text: str) -> list[tuple[str, int, int]]:
    return [(finding.label, finding.start, finding.end) for finding in classify(text).findings]


def _same(want: tuple[str, int, int], item: tuple[str, int, int]) -> bool:
    """True if a finding is a value: of its label, and at most a character off at either end."""
    return want[0] == item[0] and abs(want[1] - item[1]) < 2 and abs(want[2] - item[2]) < 2


def _figures(right: int, missed: int, raised: int) -> str:
    precision = right / (right + raised) if right + raised else 1.0
    recall = right / (right + missed) if right + missed else 1.0
    return f"precision {precision:.3f} recall {recall:.3f} of {right + missed}"


def _timed(corpus: Sequence[Text]) -> list[float]:
    filled = [(_FILLER + item.text + " " + _FILLER * 5)[:_LENGTH] for item in corpus]
    for text in filled:
        classify(text)
    spent = []
    for text in filled:
        started = time.process_time_ns()
        for _ in range(5):
            classify(text)
        spent.append((time.process_time_ns() - started) / 5000)
    return spent


if __name__ == "__main__":
    main(sys.argv[1:])
