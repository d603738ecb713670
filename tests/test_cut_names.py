"""Names, ids and reasons that are cut: a secret across the cut is masked first, so that no part of it stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.secrets.redaction import one_line
from sb.errors import SBError
from sb.hosts.hooks.reporting import _shown as shown_response
from sb.kernel import (
    Assumption,
    ReversalClass,
    ReversalSpec,
    RunContext,
    SafetyClass,
    ToolArgSchema,
    ToolRegistry,
)
from sb.kernel.approvals.queue import shown_id
from sb.kernel.durable_execution.values import require_name
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.incident_response.kill import parse_scope
from sb.kernel.registry.arguments import presentable
from sb.kernel.reversibility.mutations import assumption_name
from sb.log.event_log import EventLog
from sb.runtime import open_runtime
from sb.store.anchor import Anchor
from sb.store.database import open_database
from sb.tools.failures import display as display_path
from tests.conftest import approve_tools
from tests.rows import rows

SECRET = "ghp_" + "Zq7Xw2Lm9Kd4Vb6Nr8Tc" * 2
LENGTHS = (40, 60, 64, 80, 100, 183, 200, 300, 500, 1_000, 4_000, 4_096)


def left(text: str) -> str:
    """The rest of the secret, if it is enough to go by."""
    pieces = (SECRET[at : at + 8] for at in range(4, len(SECRET) - 7))
    return next((piece for piece in pieces if piece in text), "")


def names_around(limit: int) -> list[str]:
    """Names in which the secret stands before, across and behind a cut."""
    return [f"{'n' * max(limit - before, 0)} {SECRET} tail" for before in (46, 33, 30, 21, 13, 9, 2)]


def error_of(fn: Any, *args: Any) -> str:
    with pytest.raises(SBError) as caught:
        fn(*args)
    return str(caught.value)


SHOWN = [
    presentable,
    shown_id,
    display_path,
    assumption_name,
    lambda name: json.dumps(shown_response({"out": name, "more": "x" * 5_000})),
    lambda name: error_of(require_name, name + "\n", "a step's name"),
    lambda name: error_of(parse_scope, name),
    lambda name: error_of(parse_scope, f"class:{name}"),
]


@rows("show", SHOWN)
def test_nothing_of_a_secret_across_a_cut_is_shown(show: Any) -> None:
    for name in [name for limit in LENGTHS for name in names_around(limit)]:
        assert not left(show(name)), name


@given(st.integers(0, 300), st.integers(1, 300), st.sampled_from(("", "\x1b[0m", "\n", "\u200b")))
def test_wherever_a_secret_stands_and_wherever_the_cut_is_no_part_of_it_is_left(
    before: int, limit: int, mark: str
) -> None:
    text = "n" * before + " " + SECRET[:9] + mark * (mark != "\n") + SECRET[9:] + mark + " tail"
    shown = one_line(text, limit)
    assert not left(shown)
    assert len(shown) <= limit


def everything_in(folder: Path) -> str:
    return "".join(path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file())


def test_no_name_of_a_call_keeps_a_part_of_a_secret_in_the_database(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    registry = ToolRegistry()
    schema = [ToolArgSchema("note", required=False)]
    registry.register_fn("t.read", "R", lambda note="": note, args_schema=schema, max_retries=0)

    def fails(note: str = "") -> None:
        raise RuntimeError("e" * 470 + " " + SECRET)

    registry.register_fn("t.fails", "F", fails, args_schema=schema, max_retries=0)
    log = EventLog(open_database(tmp_path / "brain.db"), anchor=Anchor(tmp_path / "anchors.jsonl"))
    executor = ToolExecutor(registry, event_log=log)
    messages = ""
    ctx = RunContext.create("agent")
    with executor.run(ctx):
        for limit in (64, 200, 500):
            for name in names_around(limit):
                for tool, args in (("t.read", {name: 1}), (name, {}), (name, {name: name}), ("t.fails", {})):
                    messages += executor.execute(ctx, tool, args).error_message
    log.close()
    shown = capfd.readouterr()
    assert not left(everything_in(tmp_path) + messages + shown.out + shown.err)


def test_neither_a_step_nor_what_a_way_back_relies_on_keeps_a_part_of_a_secret(home: Path) -> None:
    with open_runtime() as runtime:
        names = names_around(100)
        for number in range(len(names)):
            runtime.registry.register_fn(
                f"t.write{number}", "W", lambda: {"done": 1}, SafetyClass.LOCAL_WRITE, max_retries=0,
                reversal=ReversalSpec(ReversalClass.COMPENSABLE, "t.undo"),
            )  # fmt: skip
        runtime.registry.register_fn("t.undo", "U", lambda: None, SafetyClass.LOCAL_WRITE, max_retries=0)
        approve_tools(runtime)
        ctx = RunContext.create("agent")
        for number, name in enumerate(names[:7]):
            relied_on = (name, Assumption(name + "b"))
            done = runtime.executor.execute(ctx, f"t.write{number}", {}, step=name, assumptions=relied_on)
            again = runtime.executor.execute(ctx, f"t.write{number}", {}, step=name)
            assert (again.data, again.mutation_id) == (
                {"done": 1},
                "",
            )  # the step is known again: nothing was run
            assert done.mutation_id
    assert not left(everything_in(home))


@rows("name", ["agent_name", "session_id", "user_sid", "trace_id"])
def test_a_secret_is_nobodys_name(name: str) -> None:
    for text in (SECRET, f"agent {SECRET}", "hvs." + "Zq7Xw2Lm9Kd4Vb6Nr8Tc" * 2):
        made: dict[str, Any] = {name: text}
        with pytest.raises(ValueError, match="holds a secret") as caught:
            RunContext.create(**made)
        assert not left(str(caught.value))
    assert RunContext.create("ada@example.org", session_id="4111111111111111").agent_name


def test_only_what_was_masked_is_cut() -> None:
    """In the kernel and around it texts are cut by `one_line`; `shorten` is for what came from the log."""
    masked_before = {"sb/kernel/calls/narrative.py"}
    root = Path(__file__).parents[1]
    users = {
        path.relative_to(root).as_posix()
        for folder in ("sb/kernel", "sb/log", "sb/hosts/hooks", "sb/entity/inference", "sb/harness")
        for path in (root / folder).rglob("*.py")
        if "shorten(" in path.read_text(encoding="utf-8")
    }
    assert users == masked_before
