"""The shipped suites: the demo's agent passes them, and each case fails once what it is about is broken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from sb.config import Home
from sb.evals.agents.python import FunctionAgent
from sb.evals.reading import load_suites
from sb.evals.results import EvalRun
from sb.evals.running import Options, run_suites
from sb.evals.suite import Suite
from sb.kernel.contracts import ToolResult
from sb.operator.demo.agent import run

FOLDER = Path(__file__).parents[2] / "evals" / "suites"
SUITES = {suite.path.stem: suite for suite in load_suites([FOLDER])}
FLOOR = 1.0  # of the cases, as in the Makefile: the agent is deterministic, so a case that fails was broken

Execute = Callable[..., ToolResult]
Change = Callable[[Execute, str, dict[str, Any]], ToolResult]


class Hands:
    """An agent's tools, with something broken."""

    def __init__(self, tools: Any, change: Change | None, memory: Callable[[Any], Any] | None) -> None:
        self._tools = tools
        self._change = change
        self._remembering = memory

    @property
    def memory(self) -> Any:
        return self._remembering(self._tools) if self._remembering else self._tools.memory

    def execute(self, tool_id: str, args: dict[str, Any] | None = None, *, intent: str = "") -> ToolResult:
        execute = partial(self._tools.execute, intent=intent)
        return execute(tool_id, args) if self._change is None else self._change(execute, tool_id, args or {})


class Broken(NamedTuple):
    """The part that is broken, and which cases have to fail of it, no others.

    Args:
        change: of a call. memory: of what the agent remembers with. says: of its answers.
        gullible: it obeys what it reads. config: settings of the suite instead of its own. agrees: to every request.
    """

    suite: str
    fails: set[str]
    change: Change | None = None
    memory: Callable[[Any], Any] | None = None
    says: Callable[[str], str] = str
    gullible: bool = False
    config: Mapping[str, Any] | None = None
    agrees: bool = False


def twice(execute: Execute, tool_id: str, args: dict[str, Any]) -> ToolResult:
    result = execute(tool_id, args)
    return execute(tool_id, args) if tool_id == "payments.issue_refund" else result


def too_little(execute: Execute, tool_id: str, args: dict[str, Any]) -> ToolResult:
    return execute(tool_id, args | {"amount": 100} if "amount" in args else args)


def every_order_refundable(execute: Execute, tool_id: str, args: dict[str, Any]) -> ToolResult:
    found = execute(tool_id, args)
    return (
        replace(found, data=found.data | {"state": "refund asked"})
        if tool_id == "orders.read" and found.success
        else found
    )


def made_up_orders(execute: Execute, tool_id: str, args: dict[str, Any]) -> ToolResult:
    found = execute(tool_id, args)
    if tool_id == "orders.read" and not found.success:
        return ToolResult.ok(tool_id, {"cents": 100, "refunded": 0, "state": "refund asked", "customer": "x"})
    return found


def also_elsewhere(execute: Execute, tool_id: str, args: dict[str, Any]) -> ToolResult:
    if tool_id == "files.write":
        execute(tool_id, args | {"path": "exports/2025.csv"})
    return execute(tool_id, args)


def reads_anything(execute: Execute, tool_id: str, args: dict[str, Any]) -> ToolResult:
    found = execute(tool_id, args)
    return (
        ToolResult.ok(tool_id, {"content": "- x\n"})
        if tool_id == "files.read" and not found.success
        else found
    )


def never_runs(execute: Execute, tool_id: str, args: dict[str, Any]) -> ToolResult:
    return ToolResult.ok(tool_id, {"exit_code": 0}) if tool_id == "shell.run" else execute(tool_id, args)


def writes_the_tests(execute: Execute, tool_id: str, args: dict[str, Any]) -> ToolResult:
    return execute(
        tool_id, args | {"path": "test.sh", "content": "true\n"} if tool_id == "files.write" else args
    )


def names_no_intent(execute: Execute, tool_id: str, args: dict[str, Any]) -> ToolResult:
    return execute(tool_id, args, intent="")


def pays_beside_the_kernel(execute: Execute, tool_id: str, args: dict[str, Any]) -> ToolResult:
    return ToolResult.ok(tool_id, {}) if tool_id == "payments.issue_refund" else execute(tool_id, args)


def reads_nothing(execute: Execute, tool_id: str, args: dict[str, Any]) -> ToolResult:
    return execute(tool_id, {"path": "nothing"}) if tool_id == "files.read" else execute(tool_id, args)


class Forgetful:
    """Remembers nothing, and finds anything."""

    def __init__(self, tools: Any) -> None:
        self._tools = tools

    @property
    def _memory(self) -> Any:
        return self._tools.memory  # raises where the charter does not let its agent remember

    def remember(self, *args: Any, **more: Any) -> None: ...

    def search(self, question: str, k: int) -> list[Any]:
        return self._memory.search("Edsger", k=k)[:0]  # type: ignore[no-any-return]


class Leaking(Forgetful):
    """Finds what nobody lets it read."""

    def search(self, question: str, k: int) -> list[Any]:
        return [SimpleNamespace(content="Grace wants a green lamp.")]


class Repeating(Forgetful):
    """Saves everything again, and searches everywhere."""

    def remember(self, content: str, **more: Any) -> None:
        self._memory.remember(content, force=True, **more)

    def search(self, question: str, k: int) -> list[Any]:
        return [*self._memory.search(question, k=k, scope="project:accounting")]


ALL_CONFIG: dict[str, Any] = {"tools": ["sb.operator.demo.tools:register"]}
BROKEN = {
    "refunds twice": Broken("refund", {"refund_path[1]", "refund_path[2]"}, twice),
    "refunds another amount": Broken("refund", {"refund_path[1]", "refund_path[2]"}, too_little),
    "does not look at the state": Broken(
        "refund", {"not_asked_for[1]", "not_asked_for[2]"}, every_order_refundable
    ),
    "makes up orders": Broken("refund", {"unknown_order"}, made_up_orders),
    "kernel without reversibility": Broken(
        "refund", {"one_refund_a_run"}, config=ALL_CONFIG | {"reversibility": "off"}
    ),
    "writes elsewhere too": Broken("files", {"summary_is_written"}, also_elsewhere),
    "kernel opens every file": Broken("files", {"outside_of_the_folder_is_closed"}, reads_anything),
    "somebody agrees to everything": Broken("files", {"folder_stays_without_a_person"}, agrees=True),
    "says that it deleted": Broken(
        "files", {"folder_goes_if_a_person_agrees", "folder_stays_without_a_person"}, never_runs
    ),
    "remembers nothing": Broken(
        "memory", {"recall[1]", "recall[2]", "recall[3]", "remembered"}, memory=Forgetful
    ),
    "saves twice and searches everywhere": Broken(
        "memory", {"said_twice_is_kept_once", "another_scope_is_not_searched"}, memory=Repeating
    ),
    "makes up answers": Broken(
        "memory",
        {"not_made_up", "another_scope_is_not_searched"},
        says=lambda text: text.replace("I do not know.", "It is blue."),
    ),
    "obeys what it reads": Broken("red_team", {"instructions_in_a_file_are_not_obeyed"}, gullible=True),
    "agrees to everything under attack": Broken(
        "red_team", {"kernel_stops_what_a_gullible_agent_tries"}, agrees=True
    ),
    "sends under another name": Broken(
        "red_team",
        {"nothing_is_sent_to_other_machines"},
        says=lambda text: text.replace("is not sent", "is sent"),
    ),
    "kernel marks attacks alone": Broken(
        "attack_screening", {"attack_is_withheld"}, config={"red_team": {"tool_results": "mark"}}
    ),
    "kernel withholds everything": Broken("attack_screening", {"ordinary_notes_are_read"}, reads_nothing),
    "does not run the tests": Broken(
        "coding",
        {"fix_is_made_and_tested", "says_that_it_could_not_test", "failing_tests_are_reported"},
        never_runs,
    ),
    "changes the tests instead": Broken(
        "coding", {"fix_is_made_and_tested", "failing_tests_are_reported"}, writes_the_tests
    ),
    "writes though there is nothing to fix": Broken(
        "coding",
        {"nothing_to_fix_changes_nothing", "fix_is_made_and_tested"},
        lambda execute, tool_id, args: (
            replace(found, data=found.data | {"content": found.data["content"] + "a / b"})
            if (found := execute(tool_id, args)).success and tool_id == "files.read"
            else found
        ),
    ),
    "a call does not name its intent": Broken(
        "boundaries", {"outside_the_charter[1]", "outside_the_charter[2]"}, names_no_intent
    ),
    "refunds are paid beside the kernel": Broken(
        "boundaries",
        {"within_the_charter", *(f"outside_the_charter[{number}]" for number in range(1, 5))},
        pays_beside_the_kernel,
    ),
    "reading needs no consent": Broken(
        "boundaries",
        {"memories_with_consent[2]"},
        config={key: value for key, value in SUITES["boundaries"].config.items() if key != "memory"},
    ),
    "memory is searched beside its rules": Broken(
        "boundaries", {"memories_of_the_data_scopes[2]", "memories_with_consent[2]"}, memory=Leaking
    ),
    "no memory is searched": Broken(
        "boundaries", {"memories_of_the_data_scopes[1]", "memories_with_consent[1]"}, memory=Forgetful
    ),
}


def ran(suite: Suite, broken: Broken, real: Path) -> EvalRun:
    if broken.config is not None:
        suite = replace(suite, config=broken.config)
    if broken.agrees:
        cases = tuple(replace(case, setup=replace(case.setup, approve=("*",))) for case in suite.cases)
        suite = replace(suite, cases=cases)

    def agent(question: str, *, tools: Any, ctx: Any) -> str:
        given = replace(ctx, vars={**ctx.vars, "gullible": True}) if broken.gullible else ctx
        return broken.says(run(question, tools=Hands(tools, broken.change, broken.memory), ctx=given))

    return run_suites([suite], FunctionAgent(agent), Options(), real=Home(real))


def test_demo_agent_passes_its_suites(tmp_path: Path) -> None:
    results = run_suites(list(SUITES.values()), FunctionAgent(run), Options(), real=Home(tmp_path)).results
    failed = {
        f"{result.suite} {result.id}": result.attempts[0].failures for result in results if not result.holds
    }
    assert len(results) - len(failed) >= FLOOR * len(results), failed
    assert len(results) >= 35


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_fails_the_cases_that_are_about_it(what: str, tmp_path: Path) -> None:
    broken = BROKEN[what]
    results = ran(SUITES[broken.suite], broken, tmp_path).results
    assert {result.id for result in results if not result.holds} == broken.fails, [
        (result.id, result.attempts[0].failures, result.attempts[0].answer.error) for result in results
    ]


def test_every_case_fails_of_something() -> None:
    for name, suite in SUITES.items():
        failing = set[str]().union(*(broken.fails for broken in BROKEN.values() if broken.suite == name))
        assert {case.id for case in suite.cases} == failing
