"""Judge the red-team detector: attacks found and false alarms, with Wilson intervals, by class, source and script; time.

Run `python -m evals.redteam.judge PART`, where PART is fit, choose, judge, fresh, languages, people or kinds
(of REDTEAM_TEXTS); `--misses` prints what was missed or flagged wrongly, and `--documents N` judges N passages of this machine's documentation as well.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import median

from evals.redteam.corpus import PARTS, Text, documentation, part_of
from sb.base.intervals import wilson
from sb.kernel.red_team.detector import check
from sb.kernel.red_team.verdict import AttackVerdict

_LENGTH = 1_000  # characters of the texts that are timed
Judged = Sequence[tuple[Text, AttackVerdict]]


def script(sample: Text) -> str:
    """True if a text is plain ASCII, has other letters of Latin, or another script."""
    if sample.text.isascii():
        return "ascii"
    return (
        "latin"
        if sum(char > "\u024f" and char.isalpha() for char in sample.text) * 4 < len(sample.text)
        else "other"
    )


def line(name: str, judged: Judged) -> str:
    """One line: the share of these that is flagged, with its interval."""
    hits, total = sum(verdict.flagged for _, verdict in judged), len(judged)
    low, high = wilson(hits, total)
    return f"{name}: {hits} of {total}, {hits / max(total, 1):.3f} ({low:.3f} to {high:.3f})"


def _print_groups(name: str, judged: Judged, key: Callable[[Text], str]) -> None:
    groups = Counter(key(text) for text, _ in judged)
    parts = (
        line(group, [pair for pair in judged if key(pair[0]) == group]) for group, _ in groups.most_common()
    )
    print(f"{name}\n  " + "\n  ".join(parts))


def main(arguments: Sequence[str]) -> None:
    """Print the figures of one part."""
    part = arguments[0] if arguments and arguments[0] in PARTS else "judge"
    texts = part_of(part)
    verdicts = [(item, check(item.text, origin=item.origin)) for item in texts]
    attacks = [pair for pair in verdicts if pair[0].attacks]
    benign = [pair for pair in verdicts if not pair[0].attacks]
    print(line("attacks found", attacks))
    print(line("false alarms", benign))
    hits = [pair for pair in attacks if pair[1].flagged]
    right = sum(hit.label in verdict.categories for hit, verdict in hits)
    print(f"class of these right: {right / max(len(hits), 1):.3f}")
    _print_groups("by class", attacks, lambda one: one.label)
    _print_groups("by origin", attacks, lambda one: one.origin)
    _print_groups("by script", attacks, script)
    _print_groups("by source", attacks, lambda one: one.source)
    _print_groups("benign by kind", benign, lambda one: one.kind or "other")
    _print_groups("benign by language", benign, lambda one: one.lang)
    _print_groups("attacks by language", attacks, lambda one: one.lang)
    _print_groups("look-alikes by source", benign, lambda one: one.source)
    for level in (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95):
        found = sum(verdict.score >= level for _, verdict in attacks) / max(len(attacks), 1)
        false = sum(verdict.score >= level for _, verdict in benign) / max(len(benign), 1)
        print(f"from {level}: {found:.3f} found, {false:.4f} false alarms")
    if "--misses" in arguments:
        for text, verdict in verdicts:
            if verdict.flagged is not text.attacks:
                rules = [(finding.rule, round(finding.score, 2)) for finding in verdict.findings]
                print(
                    f"{text.label} {text.origin} {text.source} {verdict.score:.2f}: {text.text[:160]!r} {rules}"
                )
    if "--documents" in arguments:
        _judge_documents(int(arguments[arguments.index("--documents") + 1]))
    times = sorted(_timed(texts))
    print(f"{median(times):.0f} us of CPU for {_LENGTH} characters, p99 {times[len(times) * 99 // 100]:.0f}")


def _judge_documents(most: int) -> None:
    every = list(documentation())
    passages = every[:: max(1, len(every) // most)][:most]
    print(
        line("false alarms on documentation", [(text, check(text.text, origin="tool")) for text in passages])
    )


def _timed(texts: Sequence[Text]) -> list[float]:
    every = "\n".join(text.text for text in texts)
    times = []
    for start in range(0, min(len(every), 200 * _LENGTH), _LENGTH):
        part = every[start : start + _LENGTH]
        before = time.process_time_ns()
        check(part, origin="tool")
        times.append((time.process_time_ns() - before) / 1000)
    return times


if __name__ == "__main__":
    main(sys.argv[1:])
