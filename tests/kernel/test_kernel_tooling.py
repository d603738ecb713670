"""Registry, policy and executor, as the kernel reference documents them."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from sb.errors import ContractError
from sb.kernel import RunBudget, RunContext, SafetyClass, SafetyMode, ToolErrorCode, ToolSpec
from sb.kernel.contracts import AgentCapabilities, ToolArgSchema
from sb.kernel.tooling import PolicyAction
from sb.kernel.tooling.executor import ToolExecutor
from sb.kernel.tooling.permissions import ToolPolicy
from sb.kernel.tooling.registry import ToolRegistry, get_default_registry
from sb.state import Event

READ, WRITE, NETWORK, DESTROY = SafetyClass


class Counter:
    """A tool that counts its calls."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def __call__(self, **args: Any) -> dict[str, int]:
        self.calls.append(args)
        return {"n": len(self.calls)}


@pytest.fixture
def tool() -> Counter:
    return Counter()


@pytest.fixture
def registry(tool: Counter) -> ToolRegistry:
    registry = ToolRegistry()
    for safety_class in SafetyClass:
        registry.register_fn(f"t.{safety_class}", safety_class.title(), tool, safety_class)
    return registry


def events(executor: ToolExecutor, kind: str = "") -> list[Event]:
    return list(executor.event_log.events(kind=kind))


def last_payload(executor: ToolExecutor) -> dict[str, Any]:
    payload = events(executor)[-1].payload
    assert payload is not None
    return payload


def test_the_documented_path_from_registry_to_result_works() -> None:
    registry = ToolRegistry()
    spec = ToolSpec(tool_id="myagent.do_thing", name="Do Thing")
    registry.register(spec, lambda arg: {"echo": arg})
    registry.register_fn(tool_id="myagent.x", name="X", fn=lambda: None)
    executor = ToolExecutor(registry=registry, policy=ToolPolicy.safe_mode())
    ctx = RunContext.create(agent_name="demo", safety_mode=SafetyMode.SAFE)
    result = executor.execute(ctx, "myagent.do_thing", {"arg": "value"})
    assert result.success
    assert result.data == {"echo": "value"}
    assert (result.tool_id, result.trace_id) == ("myagent.do_thing", ctx.trace_id)
    assert ctx.budget.tool_calls_used == 1
    assert ctx.budget.latency_ms_used == result.latency_ms > 0


def test_the_constructor_takes_the_documented_arguments_in_order() -> None:
    parameters = inspect.signature(ToolExecutor).parameters
    assert list(parameters)[:3] == ["registry", "policy", "event_log"]
    assert parameters["policy"].default is None
    assert parameters["event_log"].default is None
    assert {p.kind for p in list(parameters.values())[3:]} == {inspect.Parameter.KEYWORD_ONLY}
    assert list(inspect.signature(ToolExecutor.execute).parameters)[1:5] == [
        "ctx",
        "tool_id",
        "args",
        "override_fn",
    ]


def test_the_query_methods_answer_as_documented(registry: ToolRegistry) -> None:
    assert registry.list_ids() == ["t.destructive", "t.local_write", "t.network", "t.read_only"]
    assert [spec.tool_id for spec in registry.list_all()] == registry.list_ids()
    assert [s.tool_id for s in registry.filter_by_safety(SafetyClass.READ_ONLY)] == ["t.read_only"]
    assert len(registry.filter_by_safety(SafetyClass.NETWORK)) == 3
    assert len(registry) == 4
    assert "t.network" in registry
    assert "myagent.do_thing" not in registry
    registry.register_fn("t.private", "Private", lambda: None, allowlisted_agents=["meeting_copilot"])
    assert "t.private" in [s.tool_id for s in registry.filter_for_agent("meeting_copilot")]
    assert "t.private" not in [s.tool_id for s in registry.filter_for_agent("other")]


def test_the_default_registry_is_one_per_process() -> None:
    assert get_default_registry() is get_default_registry()


def test_another_contract_under_a_taken_id_is_refused_and_the_same_one_is_not(registry: ToolRegistry) -> None:
    with pytest.raises(ContractError, match="already registered"):
        registry.register_fn("t.network", "Network", lambda: 1, SafetyClass.READ_ONLY)
    registry.register_fn("t.network", "Network", lambda: 2, SafetyClass.NETWORK)
    fn = registry.get_callable("t.network")
    assert fn is not None
    assert fn() == 2
    assert registry.unregister("t.network")
    assert not registry.unregister("t.network")


@pytest.mark.parametrize(
    ("policy", "allowed"),
    [
        (ToolPolicy.normal(), {READ, WRITE, NETWORK}),
        (ToolPolicy.safe_mode(), {READ}),
        (ToolPolicy.strict_mode(), {READ}),
    ],
)
@pytest.mark.parametrize("safety_class", list(SafetyClass))
def test_each_policy_runs_what_it_allows_and_nothing_else(
    registry: ToolRegistry,
    tool: Counter,
    policy: ToolPolicy,
    allowed: set[SafetyClass],
    safety_class: SafetyClass,
) -> None:
    executor = ToolExecutor(registry, policy)
    result = executor.execute(RunContext.create(agent_name="a"), f"t.{safety_class}", {})
    assert result.success is (safety_class in allowed)
    assert len(tool.calls) == (safety_class in allowed)
    if not result.success:
        assert result.error_code is ToolErrorCode.PERMISSION_DENIED


@pytest.mark.parametrize("mode", [SafetyMode.SAFE, SafetyMode.STRICT])
def test_the_stricter_of_context_and_policy_binds(
    registry: ToolRegistry, tool: Counter, mode: SafetyMode
) -> None:
    ctx = RunContext.create(agent_name="a", safety_mode=mode)
    assert not ToolExecutor(registry, ToolPolicy.normal()).execute(ctx, "t.local_write", {}).success
    normal = RunContext.create(agent_name="a")
    assert not ToolExecutor(registry, ToolPolicy(mode)).execute(normal, "t.local_write", {}).success
    assert tool.calls == []


def test_an_external_write_is_network_to_the_policy(tool: Counter) -> None:
    registry = ToolRegistry()
    registry.register_fn("t.mail", "Mail", tool, metadata={"side_effect_level": "external_write"})
    ctx = RunContext.create(agent_name="a", safety_mode=SafetyMode.SAFE)
    assert not ToolExecutor(registry).execute(ctx, "t.mail", {}).success
    assert tool.calls == []


def test_a_destructive_call_waits_for_a_person_even_in_normal_mode(
    registry: ToolRegistry, tool: Counter
) -> None:
    policy = ToolPolicy.normal(allowed_tools={"t.destructive"})
    spec = registry.get("t.destructive")
    assert spec is not None
    assert policy.evaluate(spec, "a", {}).action is PolicyAction.REQUIRE_APPROVAL
    executor = ToolExecutor(registry, policy)
    ctx = RunContext.create(agent_name="a")
    result = executor.execute(ctx, "t.destructive", {})
    assert result.error_code is ToolErrorCode.PERMISSION_DENIED
    assert result.data["reasons"][0]["rule"] == "destructive"
    assert tool.calls == []
    assert ctx.budget.tool_calls_used == 0
    assert events(executor)[-1].kind == "kernel.tool.policy.blocked"


def test_blocking_beats_allowing(registry: ToolRegistry, tool: Counter) -> None:
    policy = ToolPolicy.normal(blocked_tools={"t.read_only"}, allowed_tools={"t.read_only", "t.network"})
    executor = ToolExecutor(registry, policy)
    ctx = RunContext.create(agent_name="a")
    assert "blocked" in executor.execute(ctx, "t.read_only", {}).error_message
    assert "allowed" in executor.execute(ctx, "t.local_write", {}).error_message
    assert executor.execute(ctx, "t.network", {}).success


def test_an_empty_allowed_set_allows_nothing(registry: ToolRegistry) -> None:
    executor = ToolExecutor(registry, ToolPolicy.normal(allowed_tools=set()))
    assert not executor.execute(RunContext.create(agent_name="a"), "t.read_only", {}).success


def test_a_policy_that_raises_denies(registry: ToolRegistry, tool: Counter) -> None:
    class Broken(ToolPolicy):
        def evaluate(self, spec: ToolSpec, agent_name: str, args: dict[str, Any]) -> Any:
            raise KeyError("no such rule")

    executor = ToolExecutor(registry, Broken())
    result = executor.execute(RunContext.create(agent_name="a"), "t.read_only", {})
    assert result.error_code is ToolErrorCode.PERMISSION_DENIED
    assert "a check failed" in result.error_message
    assert tool.calls == []
    assert last_payload(executor)["rule"] == "check_failed"


def test_an_unknown_tool_is_not_found_and_the_nearest_named(registry: ToolRegistry) -> None:
    result = ToolExecutor(registry).execute(RunContext.create(agent_name="a"), "t.read_onyl", {})
    assert result.error_code is ToolErrorCode.NOT_FOUND
    assert 'did you mean "t.read_only"' in result.error_message


def test_with_no_tools_at_all_the_answer_says_so() -> None:
    result = ToolExecutor(ToolRegistry()).execute(RunContext.create(agent_name="a"), "t.x", {})
    assert (result.error_code, result.error_message) == (ToolErrorCode.NOT_FOUND, "no tools are registered")


def test_the_nth_call_runs_and_the_next_one_does_not(registry: ToolRegistry, tool: Counter) -> None:
    executor = ToolExecutor(registry)
    ctx = RunContext.create(agent_name="a", budget=RunBudget(max_tool_calls=2))
    results = [executor.execute(ctx, "t.read_only", {}) for _ in range(3)]
    assert [r.success for r in results] == [True, True, False]
    assert results[2].error_code is ToolErrorCode.BUDGET_EXCEEDED
    assert "max_tool_calls = 2" in results[2].error_message
    assert len(tool.calls) == 2
    assert events(executor)[-1].kind == "kernel.budget.exceeded"


@pytest.mark.parametrize(
    "budget", [{"max_latency_ms": 0}, {"max_prompt_tokens": 0}, {"max_cost_usd_cents": 0.0}]
)
def test_any_cap_stops_the_next_call(registry: ToolRegistry, tool: Counter, budget: dict[str, Any]) -> None:
    ctx = RunContext.create(agent_name="a", budget=RunBudget(**budget))
    result = ToolExecutor(registry).execute(ctx, "t.read_only", {})
    assert result.error_code is ToolErrorCode.BUDGET_EXCEEDED
    assert tool.calls == []


def test_a_refused_call_gives_its_reservation_back(registry: ToolRegistry) -> None:
    executor = ToolExecutor(registry)
    ctx = RunContext.create(agent_name="a", budget=RunBudget(max_tool_calls=1))
    assert not executor.execute(ctx, "t.destructive", {}).success
    assert executor.execute(ctx, "t.read_only", {}).success


def test_override_fn_is_called_in_place_of_the_tool_under_the_same_rules(
    registry: ToolRegistry, tool: Counter
) -> None:
    executor = ToolExecutor(registry)
    ctx = RunContext.create(agent_name="a")
    result = executor.execute(ctx, "t.read_only", {"x": 1}, override_fn=lambda x: x + 1)
    assert result.data == 2
    denied = executor.execute(ctx, "t.destructive", {}, override_fn=tool)
    assert denied.error_code is ToolErrorCode.PERMISSION_DENIED
    assert tool.calls == []


def test_an_agent_off_the_tools_allowlist_is_denied(tool: Counter) -> None:
    registry = ToolRegistry()
    registry.register_fn("t.mine", "Mine", tool, allowlisted_agents=["me"])
    executor = ToolExecutor(registry)
    assert executor.execute(RunContext.create(agent_name="me"), "t.mine", {}).success
    other = executor.execute(RunContext.create(agent_name="you"), "t.mine", {})
    assert other.error_code is ToolErrorCode.PERMISSION_DENIED
    assert len(tool.calls) == 1


def test_a_registered_agent_is_bound_by_its_allowlist_and_ceiling(registry: ToolRegistry) -> None:
    executor = ToolExecutor(registry)
    ctx = RunContext.create(agent_name="copilot")
    assert executor.execute(ctx, "t.network", {}).success
    registry.register_agent(
        AgentCapabilities(
            "copilot",
            tool_allowlist=["t.read_only", "t.network"],
            safety_class_ceiling=SafetyClass.LOCAL_WRITE,
        )
    )
    assert executor.execute(ctx, "t.read_only", {}).success
    assert "ceiling" in executor.execute(ctx, "t.network", {}).error_message
    assert "allowlist" in executor.execute(ctx, "t.local_write", {}).error_message
    assert [s.tool_id for s in registry.filter_for_agent("copilot")] == ["t.read_only"]
    assert executor.execute(RunContext.create(agent_name="unregistered"), "t.network", {}).success


def test_a_required_permission_is_granted_by_configuration_only(tool: Counter) -> None:
    registry = ToolRegistry()
    registry.register_fn("t.calendar", "Calendar", tool, requires_permission=["calendar.read"])
    ctx = RunContext.create(agent_name="a")
    denied = ToolExecutor(registry).execute(ctx, "t.calendar", {})
    assert denied.error_code is ToolErrorCode.PERMISSION_DENIED
    assert "calendar.read" in denied.error_message
    granted = ToolExecutor(registry, permissions={"a": ["calendar.read"]})
    assert granted.execute(ctx, "t.calendar", {}).success


def test_declared_arguments_are_checked_and_undeclared_ones_are_not(tool: Counter) -> None:
    registry = ToolRegistry()
    registry.register_fn("t.free", "Free", tool)
    registry.register_fn(
        "t.strict",
        "Strict",
        tool,
        args_schema=[ToolArgSchema("path"), ToolArgSchema("limit", "integer", required=False)],
    )
    executor = ToolExecutor(registry)
    ctx = RunContext.create(agent_name="a")

    def message(args: dict[str, Any]) -> str:
        result = executor.execute(ctx, "t.strict", args)
        assert result.error_code is ToolErrorCode.VALIDATION_ERROR
        return result.error_message

    assert "'path' is missing" in message({})
    assert "'path' must be string, not integer" in message({"path": 1})
    assert "unknown argument 'pth' (did you mean \"path\"?)" in message({"pth": "x"})
    assert "'limit' must be integer" in message({"path": "x", "limit": "3"})
    assert tool.calls == []
    assert executor.execute(ctx, "t.strict", {"path": "x"}).success
    assert executor.execute(ctx, "t.free", {"anything": [1]}).success


class TestContracts:
    @pytest.fixture
    def registry(self, tool: Counter) -> ToolRegistry:
        registry = ToolRegistry()
        for safety_class in (READ, WRITE):
            registry.register_fn(f"t.{safety_class}", "T", tool, safety_class)
        return registry

    @staticmethod
    def change(registry: ToolRegistry, tool_id: str, **fields: Any) -> None:
        spec = registry.get(tool_id)
        assert spec is not None
        for name, value in fields.items():
            setattr(spec, name, value)

    def test_an_unchanged_contract_runs_and_its_audit_keys_say_so(self, registry: ToolRegistry) -> None:
        executor = ToolExecutor(registry, contract_enforcement="enforce")
        assert executor.execute(RunContext.create(agent_name="a"), "t.local_write", {}).success
        intent = events(executor, "kernel.tool.dispatch")[0].payload
        assert intent is not None
        spec = registry.get("t.local_write")
        assert spec is not None
        assert {key: value for key, value in intent.items() if key.startswith("tool_contract")} == {
            "tool_contract_fingerprint": spec.contract_fingerprint(),
            "tool_contract_registered_fingerprint": spec.contract_fingerprint(),
            "tool_contract_status": "unchanged",
            "tool_contract_enforcement": "enforce",
            "tool_contract_mismatch": False,
        }

    def test_enforce_denies_a_changed_contract_before_policy_budget_and_callable(
        self, registry: ToolRegistry, tool: Counter
    ) -> None:
        class Counting(ToolPolicy):
            asked = 0

            def evaluate(self, spec: ToolSpec, agent_name: str, args: dict[str, Any]) -> Any:
                type(self).asked += 1
                return super().evaluate(spec, agent_name, args)

        executor = ToolExecutor(registry, Counting(), contract_enforcement="enforce")
        ctx = RunContext.create(agent_name="a")
        self.change(registry, "t.local_write", description="and mail a copy to me")
        result = executor.execute(ctx, "t.local_write", {})
        assert result.error_code is ToolErrorCode.PERMISSION_DENIED
        assert "contract" in result.error_message
        assert (Counting.asked, ctx.budget.tool_calls_used, tool.calls) == (0, 0, [])
        assert last_payload(executor)["tool_contract_mismatch"] is True

    def test_a_change_cannot_talk_the_risk_down(self, registry: ToolRegistry, tool: Counter) -> None:
        executor = ToolExecutor(registry, contract_enforcement="enforce")
        self.change(registry, "t.local_write", safety_class=SafetyClass.READ_ONLY)
        assert not executor.execute(RunContext.create(agent_name="a"), "t.local_write", {}).success
        assert tool.calls == []

    def test_enforce_lets_a_changed_read_only_tool_run_and_says_so(self, registry: ToolRegistry) -> None:
        executor = ToolExecutor(registry, contract_enforcement="enforce")
        self.change(registry, "t.read_only", description="new")
        assert executor.execute(RunContext.create(agent_name="a"), "t.read_only", {}).success
        assert last_payload(executor)["tool_contract_status"] == "changed"

    def test_observe_logs_the_mismatch_and_runs(self, registry: ToolRegistry) -> None:
        executor = ToolExecutor(registry)
        self.change(registry, "t.local_write", description="new")
        assert executor.execute(RunContext.create(agent_name="a"), "t.local_write", {}).success
        intent = events(executor, "kernel.tool.dispatch")[0].payload
        assert intent is not None
        assert (intent["tool_contract_enforcement"], intent["tool_contract_mismatch"]) == ("observe", True)

    def test_off_logs_the_fingerprint_without_comparing(self, registry: ToolRegistry) -> None:
        executor = ToolExecutor(registry, contract_enforcement="off")
        self.change(registry, "t.read_only", description="new")
        assert executor.execute(RunContext.create(agent_name="a"), "t.read_only", {}).success
        payload = last_payload(executor)
        spec = registry.get("t.read_only")
        assert spec is not None
        assert payload["tool_contract_fingerprint"] == spec.contract_fingerprint()
        assert (payload["tool_contract_status"], payload["tool_contract_mismatch"]) == ("unchecked", False)

    @pytest.mark.parametrize("mutate", ["args", "metadata", "agents"])
    def test_a_change_inside_a_list_or_mapping_is_seen_too(self, registry: ToolRegistry, mutate: str) -> None:
        spec = registry.get("t.local_write")
        assert spec is not None
        executor = ToolExecutor(registry, contract_enforcement="enforce")
        assert executor.execute(RunContext.create(agent_name="a"), "t.local_write", {}).success
        if mutate == "args":
            spec.args_schema.append(ToolArgSchema("bcc", required=False))
        elif mutate == "metadata":
            spec.metadata["side_effect_risk_tags"] = ["money"]
        else:
            spec.allowlisted_agents.append("a")
        assert not executor.execute(RunContext.create(agent_name="a"), "t.local_write", {}).success


def test_a_run_is_marked_at_its_start_and_end(registry: ToolRegistry) -> None:
    executor = ToolExecutor(registry)
    ctx = RunContext.create(agent_name="a", intent="tidy up")
    with executor.run(ctx):
        executor.execute(ctx, "t.local_write", {})
    kinds = [event.kind for event in executor.event_log.events(run_id=ctx.run_id)]
    assert kinds == [
        "kernel.run.started",
        "kernel.tool.dispatch",
        "kernel.tool.dispatch",
        "kernel.run.finished",
    ]


def test_a_bare_execute_marks_the_start_once(registry: ToolRegistry) -> None:
    executor = ToolExecutor(registry)
    ctx = RunContext.create(agent_name="a")
    for _ in range(3):
        executor.execute(ctx, "t.read_only", {})
    assert len(events(executor, "kernel.run.started")) == 1
    assert events(executor, "kernel.run.finished") == []


def test_a_run_that_fails_says_with_what(registry: ToolRegistry) -> None:
    executor = ToolExecutor(registry)
    with pytest.raises(ZeroDivisionError), executor.run(RunContext.create(agent_name="a")):
        raise ZeroDivisionError
    assert last_payload(executor)["error"] == "ZeroDivisionError"


def test_the_agent_class_of_the_reference_works() -> None:
    from sb.kernel import MemoryBundle

    def my_callable(input: str) -> dict[str, str]:
        return {"output": input.upper()}

    class MyAgent:
        def __init__(self) -> None:
            self._registry = ToolRegistry()
            self._registry.register(ToolSpec(tool_id="my_agent.do_thing", name="Do"), my_callable)
            self._executor = ToolExecutor(registry=self._registry, policy=ToolPolicy.safe_mode())

        def run(self, inp: str) -> Any:
            ctx = RunContext.create(agent_name="my_agent", safety_mode=SafetyMode.SAFE)
            memory = MemoryBundle.create(trace_id=ctx.trace_id)
            result = self._executor.execute(ctx, "my_agent.do_thing", {"input": inp})
            if result.success:
                memory.durable.put("last_run", result.data, ttl_s=3600.0)
            return memory.durable.get("last_run")

    assert MyAgent().run("hi") == {"output": "HI"}
