"""Connected agents: each program in each project, when it was last seen, and how little is read for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.duration import human_age
from sb.base.sources import MICROSECONDS, CountingIds, SteeredClock
from sb.config import current_config
from sb.kernel import RunContext, SafetyClass
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.authority.signing import Label
from sb.kernel.review.activity import HOUR_S, Activity
from sb.kernel.review.agents import Agents
from sb.kernel.review.host_sessions import SESSIONS, connected_agents
from sb.kernel.review.log_pruning import prune
from sb.kernel.review.runs import first_events, project_name, runs_at
from sb.kernel.run_context import RunBudget
from sb.log.kinds import APPROVAL_DENIED
from sb.operator.filters import Filter
from sb.runtime import Runtime, open_runtime
from sb.store import migrate
from tests.conftest import CommandLine, approve_tools
from tests.rows import rows

SHOP, BLOG = "/data/ada/shop", "/data/ada/blog"


class Hosts:
    """Programs whose calls go through one kernel."""

    def __init__(self, runtime: Runtime, clock: SteeredClock, ids: CountingIds) -> None:
        self.runtime, self.clock, self.ids = runtime, clock, ids
        runtime.registry.register_fn("notes.look", "Look", lambda: 1, SafetyClass.READ_ONLY)
        runtime.registry.register_fn("bank.pay", "Pay", lambda to: to, SafetyClass.DESTRUCTIVE)
        approve_tools(runtime)

    def session(self, host: str, project: str = "", name: str = "s") -> RunContext:
        budget = RunBudget(max_tool_calls=10**6, max_latency_ms=10**9)
        metadata = {key: value for key, value in (("host", host), ("project", project)) if value}
        return RunContext.create(
            host or "clerk", session_id=name, metadata=metadata, budget=budget, clock=self.clock, ids=self.ids
        )

    def call(self, ctx: RunContext, count: int = 1) -> RunContext:
        for _ in range(count):
            self.clock.time += 1
            self.runtime.executor.execute(ctx, "notes.look", {})
        return ctx


@pytest.fixture
def hosts(home: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[Hosts]:
    with open_runtime(clock=clock, ids=ids) as runtime:
        yield Hosts(runtime, clock, ids)


def test_each_program_is_there_once_for_each_of_its_projects_the_one_heard_of_last_first(
    hosts: Hosts,
) -> None:
    early = hosts.call(hosts.session("claude-code", SHOP), 3)
    hosts.call(hosts.session("claude-code", SHOP), 1)
    hosts.call(hosts.session("codex", SHOP), 1)
    hosts.call(hosts.session("claude-code", BLOG), 1)
    hosts.call(hosts.session(""), 5)
    hosts.call(early)
    found = connected_agents(hosts.runtime.log)
    assert [(agent.host, agent.project_name) for agent in found] == [
        ("claude-code", "shop"),
        ("claude-code", "blog"),
        ("codex", "shop"),
    ]
    newest = found[0]
    assert (newest.run_id, newest.agent) == (early.run_id, "claude-code")
    assert newest.last_seen_at == int(hosts.clock.time * MICROSECONDS)


def test_requests_that_wait_are_counted_for_every_session_of_a_place(hosts: Hosts) -> None:
    for to in ("ada", "bob"):
        hosts.runtime.executor.execute(hosts.session("codex", SHOP), "bank.pay", {"to": to})
    hosts.call(hosts.session("codex", SHOP))
    hosts.call(hosts.session("codex", BLOG))
    assert {agent.project: agent.waiting for agent in connected_agents(hosts.runtime.log)} == {
        SHOP: 2,
        BLOG: 0,
    }
    hosts.clock.time += 365 * 86_400  # what nobody decided has expired
    assert [agent.waiting for agent in connected_agents(hosts.runtime.log)] == [0, 0]


def test_a_decision_about_its_call_is_no_sign_of_an_agent(hosts: Hosts) -> None:
    runtime = hosts.runtime
    runtime.executor.execute(hosts.session("codex", SHOP), "bank.pay", {"to": "ada"})
    [before] = connected_agents(runtime.log)
    activity = Activity(runtime.log, 12 * HOUR_S)
    activity.update()
    hosts.clock.time += 600
    [request] = ApprovalQueue(runtime.log).page()
    runtime.executor.approvals.deny(request.id, Label("ada"), "no")
    assert next(iter(runtime.log.events(newest_first=True, limit=1))).kind == APPROVAL_DENIED
    [after] = connected_agents(runtime.log)
    [seen] = Agents(runtime.log, activity).seen()
    assert before.last_seen_at == after.last_seen_at == seen.last_seen_at


def test_what_was_pruned_is_not_there_and_does_no_harm(hosts: Hosts) -> None:
    hosts.call(hosts.session("codex", SHOP))
    hosts.clock.time += 100 * 86_400
    hosts.call(hosts.session("codex", BLOG))
    prune(hosts.runtime.log, before=hosts.clock.time - 86_400, reason="old")
    log = hosts.runtime.log
    assert [agent.project for agent in connected_agents(log)] == [BLOG]
    assert {run.project for run in runs_at(log, first_events(log)).values()} == {"", BLOG}
    assert len(first_events(log, wanted=Filter.parse("project:shop").runs(0))) == 0


def test_only_the_newest_sessions_are_looked_at(hosts: Hosts) -> None:
    hosts.call(hosts.session("codex", SHOP))
    for number in range(SESSIONS - 1):
        hosts.runtime.executor.execute(hosts.session("gemini-cli", f"/p{number}"), "notes.look", {})
    assert "codex" in {agent.host for agent in connected_agents(hosts.runtime.log)}
    hosts.runtime.executor.execute(hosts.session("gemini-cli", "/p"), "notes.look", {})
    found = connected_agents(hosts.runtime.log)
    assert len(found) == SESSIONS
    assert "codex" not in {agent.host for agent in found}


_NOISE = """WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < 100000)
    INSERT INTO events (id, at, kind, run_id, trace_id, agent, tool_id, call_id, payload_digest, prev, hash, salt, payload)
    SELECT (SELECT max(id) FROM events) + n, at, iif(:run = '', 'kernel.run.started', 'kernel.tool.dispatch'),
    iif(:run = '', 'run_' || n, :run), '', agent, 'x.y', iif(:run = '', '', 'call_' || n), '', '', '', '', '{"intent": "noise"}'
    FROM more, (SELECT at, agent FROM events ORDER BY id LIMIT 1)"""


def test_what_is_read_does_not_grow_with_the_log(hosts: Hosts) -> None:
    """Counted in steps of SQLite's machine, of which each row that is read takes several."""
    for number in range(20):
        hosts.call(hosts.session(f"host-{number}", f"/data/ada/p{number}"), 20)
    newest = hosts.call(hosts.session("claude-code", SHOP), 1_010)
    log, database = hosts.runtime.log, hosts.runtime.database
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    def look() -> tuple[object, int]:
        nonlocal steps
        steps = 0
        connection = database._normal
        connection.set_progress_handler(step, 1)
        try:
            found = [(agent.host, agent.project) for agent in connected_agents(log)]
        finally:
            connection.set_progress_handler(None, 1)
        return found, steps

    before, few = look()
    with database.write() as execute:
        execute(_NOISE, {"run": ""})  # 100 000 runs of programs that said nothing
        execute(_NOISE, {"run": newest.run_id})  # 100 000 more calls of the newest session
    assert log.head().seq > 200_000
    after, many = look()
    assert before == after
    assert many <= few * 1.02
    assert many < 100_000


def test_a_database_without_the_index_gets_it_and_finds_what_joined_before(
    hosts: Hosts, sb: CommandLine, home: Path
) -> None:
    hosts.call(hosts.session("codex", SHOP))
    with hosts.runtime.database.write() as execute:
        execute("DROP INDEX sessions_of_hosts")
        execute("DELETE FROM schema_migrations WHERE number >= 6")
    hosts.runtime.close()
    assert sb("migrate").code == 0
    with open_runtime(current_config(), clock=hosts.clock, ids=hosts.ids) as runtime:
        assert [agent.host for agent in connected_agents(runtime.log)] == ["codex"]
        assert {line.state for line in migrate.status(runtime.database.query)} == {"applied"}


def test_damaged_text_is_no_program_and_stops_nothing(hosts: Hosts) -> None:
    hosts.call(hosts.session("codex", SHOP))
    hosts.call(hosts.session("codex", BLOG))
    with hosts.runtime.database.write() as execute:
        execute("DROP TRIGGER events_are_final")
        started = "SELECT min(id) FROM events WHERE kind = 'kernel.run.started'"
        execute(f'UPDATE events SET payload = \'{{"host": "co\' WHERE id = ({started})')
    assert [agent.project for agent in connected_agents(hosts.runtime.log)] == [BLOG]
    wanted = Filter.parse("host:codex").runs(0)
    assert len(first_events(hosts.runtime.log, wanted=wanted)) == 1


def test_doctor_says_who_joined_or_how_to(hosts: Hosts, sb: CommandLine) -> None:
    def finding() -> dict[str, str]:
        items = sb("doctor", "--json").json["items"]
        return next(dict(item) for item in items if item["name"] == "connected")

    assert finding()["hint"] == "sb install claude-code"
    for number in range(5):
        hosts.call(hosts.session("codex", f"/data/ada/p{number}"))
    check = finding()
    assert (check["status"], check["hint"]) == ("ok", "")
    assert check["detail"].startswith("codex in /data/ada/p4, last seen ")
    assert check["detail"].endswith("; and 2 more (sb console)")


@rows(
    "path, name",
    [
        (SHOP, "shop"),
        (SHOP + "/", "shop"),
        ("C:\\work\\shop", "shop"),
        ("shop", "shop"),
        ("/", "/"),
        ("", ""),
    ],
)
def test_a_project_is_called_by_its_folder(path: str, name: str) -> None:
    assert project_name(path) == name


@given(st.integers(-10, 10**10))
def test_an_age_is_said_in_its_largest_unit(seconds: int) -> None:
    age = human_age(seconds)
    if seconds < 60:
        assert age == "just now"
    else:
        count, unit, _ = age.split()
        size = {"min": 60, "h": 3_600, "d": 86_400}[unit]
        assert 0 <= seconds - int(count) * size < size
