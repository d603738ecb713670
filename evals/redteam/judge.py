"""Judge the red-team detector: attacks found by class and disguise, false alarms, time.

Run `python -m evals.redteam.judge dev` or `held_out`; `--misses` prints what was missed or flagged wrongly, and
`--documents N` adds N passages of this machine's documentation.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from statistics import median

from evals.redteam.corpus import Text, corpus
from evals.redteam.fit import documents
from sb.kernel.attacks.detector import check

_LENGTH = 1_000  # characters of the texts that are timed


def main(arguments: Sequence[str]) -> None:
    """Print the figures of one half."""
    half = arguments[0] if arguments else "dev"
    texts = corpus(half)
    verdicts = [(one, check(one.text, origin=one.origin)) for one in texts]
    attacks = [(one, verdict) for one, verdict in verdicts if one.attacks]
    benign = [(one, verdict) for one, verdict in verdicts if not one.attacks]
    for name, key in (("class", "label"), ("how", "how")):
        every = Counter(getattr(one, key) for one, _ in attacks)
        met = Counter(getattr(one, key) for one, verdict in attacks if verdict.flagged)
        print(
            f"by {name}: "
            + ", ".join(f"{value} {met[value]}/{count}" for value, count in every.most_common())
        )
    right = sum(one.label in verdict.categories for one, verdict in attacks if verdict.flagged)
    hits = sum(verdict.flagged for _, verdict in attacks)
    alarms = sum(verdict.flagged for _, verdict in benign)
    print(
        f"found {hits / len(attacks):.3f} of {len(attacks)} attacks, {right / max(hits, 1):.3f} of these with their class"
    )
    print(f"false alarms {alarms / len(benign):.3f} of {len(benign)} look-alikes")
    for level in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        found = sum(verdict.score >= level for _, verdict in attacks) / len(attacks)
        false = sum(verdict.score >= level for _, verdict in benign)
        print(f"  from {level}: {found:.3f} found, {false} false alarms")
    if "--misses" in arguments:
        for one, verdict in verdicts:
            if verdict.flagged is not one.attacks:
                shown = [(finding.rule, round(finding.score, 2)) for finding in verdict.findings]
                print(f"{one.label} {one.origin} {one.how} {verdict.score:.2f}: {one.text[:160]!r} {shown}")
    if "--documents" in arguments:
        _documents(half, int(arguments[arguments.index("--documents") + 1]), "--misses" in arguments)
    times = sorted(_timed(texts))
    print(f"{median(times):.0f} us of CPU for {_LENGTH} characters, p99 {times[len(times) * 99 // 100]:.0f}")


def _documents(half: str, most: int, misses: bool) -> None:
    passages = documents(half, most)
    flagged = [(one, verdict) for one in passages if (verdict := check(one.text, origin="tool")).flagged]
    print(f"false alarms {len(flagged)} of {len(passages)} passages of documentation")
    for one, verdict in flagged if misses else ():
        for finding in verdict.findings:
            print(f"  {finding.score:.2f} {finding.rule}: {one.text[finding.start : finding.end][:140]!r}")


def _timed(texts: Sequence[Text]) -> list[float]:
    every = "\n".join(one.text for one in texts)
    times = []
    for start in range(0, min(len(every), 200 * _LENGTH), _LENGTH):
        part = every[start : start + _LENGTH]
        before = time.process_time_ns()
        check(part, origin="tool")
        times.append((time.process_time_ns() - before) / 1000)
    return times


if __name__ == "__main__":
    main(sys.argv[1:])
