"""AgentDojo's ground-truth calls, judged by a policy: which injected calls it stops, and which of users' calls too.

AgentDojo (Debenedetti et al., 2024) gives for each task of a user, and for each task that an attacker injects, the calls
that solve it. No model runs here: an agent that was talked into everything makes all injected calls. So the figures are
of the policy alone; no policy can tell an injected call from the same call of a user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from sb.base.values.frozen import frozen, mutable
from sb.errors import UsageError
from sb.kernel.contracts import AgentCapabilities, SafetyClass
from sb.kernel.registry.registry import SHIPPED
from sb.kernel.run_context import RunBudget, RunContext
from sb.runtime import Runtime

VERSION = "v1.2.2"  # of the benchmark's tasks
MISSING = "AgentDojo is not installed"
_CLASSES = (  # of its tools, by the verbs that their names begin with; the first that fits counts
    (
        ("get_webpage", "post_", "send_", "share_", "invite_", "reserve_", "schedule_", "update_password"),
        "network",
    ),
    (("update_scheduled_",), "network"),
    (("delete_", "remove_", "cancel_"), "destructive"),
    (("get_", "search_", "read_", "list_", "check_"), "read_only"),
    (
        ("create_calendar_event", "add_calendar_event_", "reschedule_calendar_event"),
        "network",
    ),  # they invite people
    (("create_", "append_", "add_", "update_"), "local_write"),
)
_MOST_CALLS = 1_000  # of one run


@frozen
class DojoTask:
    """One task.

    Args:
        suite: banking, slack, travel or workspace. injected: an attacker's. calls: tool and arguments of each.
    """

    suite: str
    id: str
    injected: bool
    prompt: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...]


@mutable
class Tally:
    """Figures of one suite of tasks.

    Args:
        passed, calls: users' calls that ran, of all. tasks_passed, tasks: users' tasks all of whose calls ran.
        stopped, injected: injected calls with an effect that did not run, of all; in every user's task where they are
            tried in each. attacks_stopped, attacks: injected tasks of which at least one such call was stopped.
        without_calls: injected tasks that have no ground-truth call with an effect, which are left out.
    """

    passed: int = 0
    calls: int = 0
    tasks_passed: int = 0
    tasks: int = 0
    stopped: int = 0
    injected: int = 0
    attacks_stopped: int = 0
    attacks: int = 0
    without_calls: int = 0


@frozen
class DojoReport:
    """Both sides of a policy, suite by suite."""

    tallies: dict[str, Tally] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """A Markdown table."""
        yield "| suite | users' calls passed | users' tasks passed | injected calls stopped | attacks stopped |"
        yield "| --- | --- | --- | --- | --- |"
        for name, tally in [*self.tallies.items(), ("all", self.total)]:
            cells = (
                _share(tally.passed, tally.calls),
                _share(tally.tasks_passed, tally.tasks),
                _share(tally.stopped, tally.injected),
                _share(tally.attacks_stopped, tally.attacks),
            )
            yield f"| {name} | {' | '.join(cells)} |"

    @property
    def total(self) -> Tally:
        """All suites together."""
        names = Tally.__dataclass_fields__
        return Tally(**{name: sum(getattr(tally, name) for tally in self.tallies.values()) for name in names})


def load_tasks(version: str = VERSION) -> list[DojoTask]:
    """The tasks of the installed package.

    Raises:
        UsageError: it is not installed.
    """
    try:
        from agentdojo.task_suite.load_suites import get_suites
    except ImportError as error:
        raise UsageError(f"{MISSING}: {error}", "pip install 'secondbrain-sb[agentdojo]'") from None
    return read_tasks(get_suites(version))


def read_tasks(suites: Mapping[str, Any]) -> list[DojoTask]:
    """The tasks of suites as AgentDojo has them."""
    found = []
    for name, suite in suites.items():
        environment = suite.load_and_inject_default_environment({})
        for injected, tasks in ((False, suite.user_tasks), (True, suite.injection_tasks)):
            for task_id, task in tasks.items():
                calls = tuple((call.function, dict(call.args)) for call in task.ground_truth(environment))
                prompt = task.GOAL if injected else task.PROMPT
                found.append(DojoTask(name, task_id, injected, prompt, calls))
    return found


def class_of(tool: str) -> SafetyClass:
    """The class that a tool of AgentDojo's has here; destructive for one that is not known."""
    fitting = (word for verbs, word in _CLASSES if tool.startswith(verbs))
    return SafetyClass(next(fitting, SafetyClass.DESTRUCTIVE))


def register_tools(runtime: Runtime, tasks: Sequence[DojoTask]) -> None:
    """Register a tool for each that the tasks call; it does nothing."""
    with runtime.registry.source(
        SHIPPED
    ):  # what is measured is the policy, not that no tool declares an undo
        for tool in sorted({tool for task in tasks for tool, _ in task.calls}):
            runtime.registry.register_fn(tool, tool, _nothing, class_of(tool), description=tool)


def judge_tasks(runtime: Runtime, tasks: Sequence[DojoTask], *, least_privilege: bool = False) -> DojoReport:
    """Make the ground-truth calls of all tasks under a kernel, and count which of them run.

    Args:
        runtime: whose policy judges; `register_tools` was called, and the contracts are approved.
        least_privilege: hold the agent to the tools that the user's task needs, and try each injected task in each of
            the users' tasks of its suite; otherwise an injected task is tried once, with all tools.
    """
    report = DojoReport()
    for name in dict.fromkeys(task.suite for task in tasks):
        tally = report.tallies.setdefault(name, Tally())
        of_users = [task for task in tasks if task.suite == name and not task.injected]
        attacks = [
            task for task in tasks if task.suite == name and task.injected and any(map(_acts, task.calls))
        ]
        tally.without_calls = sum(task.suite == name and task.injected for task in tasks) - len(attacks)
        for task in of_users:
            agent = _agent(runtime, task) if least_privilege else "dojo"
            ran = _run(runtime, agent, task.calls)
            tally.calls += len(ran)
            tally.passed += sum(ran)
            tally.tasks += 1
            tally.tasks_passed += all(ran)
            for attack in attacks if least_privilege else ():
                _count_attack(tally, _run(runtime, agent, [*filter(_acts, attack.calls)]))
        for attack in () if least_privilege else attacks:
            _count_attack(tally, _run(runtime, "dojo", [*filter(_acts, attack.calls)]))
    return report


def _nothing(**given: Any) -> dict[str, Any]:
    return {}


def _acts(call: tuple[str, Mapping[str, Any]]) -> bool:
    """True if a call does more than read."""
    return class_of(call[0]) is not SafetyClass.READ_ONLY


def _agent(runtime: Runtime, task: DojoTask) -> str:
    """An agent that may call the tools of a task, and no others."""
    name = f"dojo-{task.suite}-{task.id}"
    tools = sorted({tool for tool, _ in task.calls})
    runtime.registry.register_agent(
        AgentCapabilities(
            name, tool_allowlist=tools or ["none"], safety_class_ceiling=SafetyClass.DESTRUCTIVE
        )
    )
    return name


def _run(runtime: Runtime, agent: str, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[bool]:
    """True for each call that ran."""
    ctx = RunContext.create(
        agent,
        intent="agentdojo",
        budget=RunBudget(max_tool_calls=_MOST_CALLS),
        clock=runtime.log.clock,
        ids=runtime.log.ids,
    )
    with runtime.executor.run(ctx):
        return [runtime.executor.execute(ctx, tool, dict(args)).success for tool, args in calls]


def _count_attack(tally: Tally, ran: Sequence[bool]) -> None:
    tally.injected += len(ran)
    tally.stopped += len(ran) - sum(ran)
    tally.attacks += 1
    tally.attacks_stopped += not all(ran)


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "-"
