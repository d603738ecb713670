"""Agents that are Python functions: each attempt has a process, a folder, a home and a kernel of its own."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sb.errors import UsageError
from sb.evals.agents.python import PythonAgent
from sb.evals.answer import Answer
from sb.evals.kernel import BEGIN
from sb.evals.running import Options
from sb.kernel.contracts import SafetyClass
from tests.evals.running_cases import Setup, answer, case, run

HERE = Path(__file__).parent
Opened = Callable[[str], PythonAgent]


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    made: dict[str, PythonAgent] = {}

    def open_one(name: str) -> PythonAgent:
        if name not in made:
            scratch = tmp_path_factory.mktemp("scratch") / "home"
            made[name] = PythonAgent(f"python:shop_agent:{name}", f"shop_agent:{name}", HERE, scratch)
        return made[name]

    yield open_one
    for item in made.values():
        item.close()


def test_a_governed_function_runs_under_the_kernel_of_the_case(agent: Opened, tmp_path: Path) -> None:
    asked = answer(agent("governs"), tmp_path, "7")
    assert "shop.refund" in asked.error, "a refund that nothing undoes waits for a person"
    found = answer(agent("governs"), tmp_path, "7", setup=Setup(approve=("shop.refund",)))
    assert (found.error, found.output, found.cost_cents) == ("", "refunded 7", 2.0)
    (call,) = found.calls
    assert (call.tool, dict(call.args), call.success) == ("shop.refund", {"order": 7}, True)
    assert call.safety_class is SafetyClass.NETWORK


@pytest.mark.parametrize(
    ("approve", "output", "success"),
    [(("shop.*",), "wiped west", True), ((), "not wiped: ToolCallRefused", False)],
)
def test_a_request_is_answered_at_once_and_is_one_call(
    agent: Opened, tmp_path: Path, approve: tuple[str, ...], output: str, success: bool
) -> None:
    found = answer(agent("wipes"), tmp_path, "west", setup=Setup(approve=approve))
    assert found.output == output
    assert [(call.tool, call.success) for call in found.calls] == [("shop.wipe", success)]


def test_a_coroutine_may_be_an_agent(agent: Opened, tmp_path: Path) -> None:
    found = answer(agent("in_a_loop"), tmp_path)
    assert (found.error, found.output) == ("", "2 written")
    assert sorted(str(call.args["path"]) for call in found.calls) == ["a.txt", "b.txt"]


def test_the_surroundings_of_an_attempt_are_its_own(agent: Opened, tmp_path: Path) -> None:
    found = run(agent("surroundings"), tmp_path, case("a", vars={"x": 1}), case("b"))
    answers = [result.attempts[0].answer for result in found.results]
    assert [item.error for item in answers] == ["", ""]
    first, second = (json.loads(item.output) for item in answers)
    assert first["folder"] == first["context"] != second["folder"]
    assert first["vars"] == {"x": 1}
    assert sorted(first["ours"]) == ["SB_EVAL_CASE", "SB_EVAL_SEED", "SB_EVAL_TOKEN", "SB_HOME"]
    assert Path(first["ours"]["SB_HOME"]).parent == Path(first["folder"]).parent
    assert not Path(first["folder"]).exists()
    assert "printed by the agent" in answers[0].log
    assert 0 <= first["now"] - BEGIN < 600


def test_a_seed_decides_the_chance_of_an_attempt(agent: Opened, tmp_path: Path) -> None:
    def drawn(seed: int, *ids: str) -> list[tuple[float, str]]:
        cases = [case(item) for item in ids]
        made = run(agent("surroundings"), tmp_path, *cases, options=Options(seed=seed))
        facts = [json.loads(result.attempts[0].answer.output) for result in made.results]
        return [(fact["chance"], fact["run"]) for fact in facts]

    assert drawn(7, "a", "b") == drawn(7, "a", "b")
    assert drawn(7, "b") == drawn(7, "a", "b")[1:]
    assert drawn(8, "a") != drawn(7, "a")


def misbehaving(agent: Opened, folder: Path, text: str, timeout_s: float = 60.0) -> Answer:
    return answer(agent("misbehaves"), folder, text, timeout_s=timeout_s)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("raises", r"ValueError: no luck \(shop_agent\.py:\d+\)"),
        ("exits", r"SystemExit: 3 \(shop_agent\.py:\d+\)"),
        ("dies", "the agent: it was killed by SIGKILL, without a final line"),
        ("returns", "it returned int; an agent returns a text or an AgentRun"),
    ],
)
def test_what_goes_wrong_is_one_line(agent: Opened, tmp_path: Path, text: str, error: str) -> None:
    assert re.fullmatch(error, misbehaving(agent, tmp_path, text).error)
    assert misbehaving(agent, tmp_path, "again").output == "fine: again"


def test_an_agent_that_hangs_ends_at_its_timeout_and_the_next_case_runs(
    agent: Opened, tmp_path: Path
) -> None:
    begun = time.monotonic()
    assert misbehaving(agent, tmp_path, "hangs", 0.5).error == "the agent: no answer within 0.5 s"
    assert misbehaving(agent, tmp_path, "again").output == "fine: again"
    assert time.monotonic() - begun < 55  # and not the minute that it would take


def test_what_a_case_remembers_and_finds_is_set_up(agent: Opened, tmp_path: Path) -> None:
    records = ({"content": "The harbour opens at nine", "category": "project"},)
    found = answer(agent("remembers"), tmp_path, "When does the harbour open?", setup=Setup(records=records))
    assert (found.error, found.output) == ("", "The harbour opens at nine")


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("shop_agent:nobody", "has no attribute 'nobody'"),
        ("no_such_module:run", "No module named 'no_such_module'"),
        ("shop_agent:BEGIN_AGAIN.x", "has no attribute"),
        ("shop_agent", "names no function"),
        ("os:sep", "is not a function"),
    ],
)
def test_a_function_that_cannot_be_loaded_is_refused_before_anything_runs(
    reference: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=reason):
        PythonAgent(f"python:{reference}", reference, HERE, tmp_path / "home")
