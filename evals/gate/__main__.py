"""`python -m evals.gate [--half dev|held-out] [--wrong]`: how well the gate merges what says the same, by kind of pair.

The memories of the pairs are saved beside the project's own records (`evals/retrieval/records`); then the gate is asked about
every other text of a pair. A merge is right only into the memory of its own pair, and only for a restatement or a paraphrase.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sb.config import load_config
from sb.memory import Brain

_HERE = Path(__file__).parent
_RECORDS = _HERE.parent / "retrieval" / "records" / "records.jsonl"
_KINDS = {
    "=": "restatement",
    "~": "paraphrase",
    "#": "changed number",
    "@": "changed date",
    "&": "changed name",
    "!": "changed negation",
    "+": "count at another time",
    "^": "neighbour topic",
    "?": "unrelated",
}
SAME = ("restatement", "paraphrase")
HALVES = ("dev", "held-out")


class Pair(NamedTuple):
    """Two texts, and what the second is to the first."""

    memory: str
    text: str
    kind: str


def pairs(half: str) -> list[Pair]:
    """The pairs of one half: every other block, so that all of a memory is in one half."""
    lines = [
        line for line in (_HERE / "pairs.txt").read_text("utf-8").splitlines() if not line.startswith("%")
    ]
    blocks = [block.splitlines() for block in "\n".join(lines).strip().split("\n\n")]
    found = []
    for number, (memory, *others) in enumerate(blocks):
        if number % 2 != HALVES.index(half):
            continue
        found += [Pair(memory, line[2:], _KINDS[line[0]]) for line in others]
        distant = blocks[(number + 2 * (len(blocks) // 5)) % len(blocks)][0]
        found.append(Pair(memory, distant, _KINDS["?"]))
    return found


class Answer(NamedTuple):
    """The gate's answer for one pair: merged where it belongs, merged elsewhere, and why."""

    pair: Pair
    right: bool
    elsewhere: bool
    reason: str


def answers(found: Sequence[Pair]) -> Iterator[Answer]:
    with tempfile.TemporaryDirectory() as folder:
        config = load_config(env={"SB_HOME": folder, "HOME": folder}, cwd=Path(folder), flags={})
        with Brain("evals", path=Path(folder) / "brain.db", config=config) as brain:
            for line in _RECORDS.read_text("utf-8").splitlines():
                brain.remember(json.loads(line)["text"], force=True)
            ids = {
                fromkey: brain.remember(fromkey, force=True)
                for fromkey in dict.fromkeys(pair.memory for pair in found)
            }
            for pair in found:
                verdict = brain.explain(pair.text)
                into = "" if verdict.admitted else verdict.nearest
                own = into == ids[pair.memory]
                if pair.kind == _KINDS["?"] and into == ids.get(pair.text):
                    own, into = False, ""  # it is the memory of another pair, into which it may be merged
                yield Answer(pair, own, bool(into) and not own, verdict.reason)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m evals.gate")
    parser.add_argument("--half", choices=HALVES, default="dev")
    parser.add_argument("--wrong", action="store_true", help="list the pairs that were judged wrongly")
    arguments = parser.parse_args()
    made = list(answers(pairs(arguments.half)))
    total, merged = Counter(item.pair.kind for item in made), Counter[str]()
    for answer in made:
        merged[answer.pair.kind] += answer.right or answer.elsewhere
    print(f"{'kind':24}{'pairs':>6}{'merged':>8}")
    for kind in _KINDS.values():
        print(f"{kind:24}{total[kind]:6}{merged[kind]:8}")
    right = sum(item.right for item in made if item.pair.kind in SAME)
    everything = sum(merged.values())
    complete = sum(total[kind] for kind in SAME)
    print(f"precision {right / everything:.3f} ({right} of {everything} merges)")
    print(f"completeness {right / complete:.3f} ({right} of {complete} restatements and paraphrases)")
    if arguments.wrong:
        for answer in made:
            if answer.right != (answer.pair.kind in SAME) or answer.elsewhere:
                print(f"{answer.pair.kind}: {answer.pair.memory} | {answer.pair.text} | {answer.reason}")


if __name__ == "__main__":
    main()
