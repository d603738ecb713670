"""The cost of a person's decision: a call queued, approved, and run."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from evals.bench.kernel import InlineWorkers, context
from evals.bench.timing import block
from sb.base.values.signatures import signature_fits
from sb.config.rules import PolicyRule
from sb.kernel import SafetyClass, ToolExecutor, ToolPolicy, ToolRegistry, ToolSpec
from sb.kernel.authority.keys import make_key
from sb.kernel.authority.signing import Label
from sb.kernel.policy.rules import WrittenPolicy
from sb.log.event_log import EventLog
from sb.store import driver
from sb.store.anchor import Anchor
from sb.store.database import open_database

_DECIDER = Label("ada")


def _three_commits(path: Path) -> Any:
    """The floor: three rows of the same size, each committed so that it survives power loss, as the decisions are."""
    path.touch()
    connection = driver.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE steps (id INTEGER PRIMARY KEY, body TEXT)")
    body = "x" * 700

    def commit_thrice() -> None:
        for _ in range(3):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO steps (body) VALUES (?)", (body,))
            connection.execute("COMMIT")

    return commit_thrice


def _life_lines(folder: Path) -> Iterator[str]:
    log = EventLog(open_database(folder / "brain.db"), anchor=Anchor(folder / "anchors.jsonl"))
    registry = ToolRegistry()
    registry.register_fn("bench.pay", "Pay", lambda number: number, SafetyClass.DESTRUCTIVE)
    registry.register_fn("bench.write", "Write", lambda number: number, SafetyClass.LOCAL_WRITE)
    executor = ToolExecutor(registry, event_log=log, workers=InlineWorkers())
    ctx, numbers = context(), itertools.count()

    def live() -> None:
        args = {"number": next(numbers)}
        approval_id = executor.execute(ctx, "bench.pay", args).data["approval_id"]
        executor.approvals.approve(approval_id, _DECIDER, "the bill is right")
        if not executor.execute(ctx, "bench.pay", args).success:
            raise RuntimeError("the approved call did not run")

    plain = ToolExecutor(registry, event_log=log, workers=InlineWorkers(), power=True)
    commits = _three_commits(folder / "floor.db")
    rounds = []
    for _ in range(15):
        whole = block(live, 40)
        call = block(lambda: plain.execute(ctx, "bench.write", {"number": next(numbers)}), 40)
        rounds.append((whole, call, block(commits, 40)))
    whole, call, floor = (median(column) for column in zip(*rounds, strict=True))
    ratio = median((life - alone) / bare for life, alone, bare in rounds)
    yield (
        f"approval opened, approved, used: {whole - call:.0f} us on top of the call itself ({call:.0f} us, as durable);"
        f" three bare WAL commits, FULL {floor:.0f} us  {ratio:.2f}x  bar 4x  {'ok' if ratio <= 4 else 'OVER'}"
    )


def _signature_lines() -> Iterator[str]:
    _, operator = make_key("ada", None)
    data = b"x" * 300
    signature = operator.sign(data)
    sign = median(block(lambda: operator.sign(data), 500) for _ in range(5))
    check = median(block(lambda: signature_fits(operator.public_key, data, signature), 500) for _ in range(5))
    yield f"signature, made {sign:.0f} us, checked {check:.0f} us  shown apart"


def _policy_lines() -> Iterator[str]:
    spec = ToolSpec("bench.read", "Read")
    args = {"path": "notes/today.md", "limit": 100}
    costs = []
    for count, conditional in ((1, 0), (10, 0), (100, 0), (1000, 0), (1000, 1), (1000, 10)):
        rules = [PolicyRule("deny", (f"other{number}.*",)) for number in range(count)]
        rules += [
            PolicyRule("deny", ("bench.*",), args={"path": (f"secret{n}/*",)}) for n in range(conditional)
        ]
        policy = ToolPolicy.normal(rules=WrittenPolicy(rules))

        def ask(policy: ToolPolicy = policy) -> object:
            return policy.evaluate(spec, "agent", args)

        cost = median(block(ask, 10_000) for _ in range(5))
        costs.append(f"{count:,}{f' + {conditional} on arguments' if conditional else ''}: {cost:.2f} us")
    yield "written policy, rules " + ", ".join(costs) + "  bar 3 us, flat without conditions"


def report() -> Iterator[str]:
    yield from _policy_lines()
    with tempfile.TemporaryDirectory() as folder:
        yield from _life_lines(Path(folder))
    yield from _signature_lines()
