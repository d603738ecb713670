"""No call passes with an untrusted project file that would not pass without it."""

from __future__ import annotations

import json
import operator
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sb.config import Config, load_config
from sb.config.model import BY_KEY, DURABILITIES, ENFORCEMENTS, SAFETY_MODES, SETTINGS
from sb.config.pack_files import PackFile
from sb.config.scopes import QUESTIONS, RIGHTS, Scopes
from sb.kernel import SafetyClass
from sb.kernel.contracts import ReversalClass, ReversalSpec
from sb.runtime import Runtime, open_runtime
from tests.conftest import approve_tools

FOLDERS = (".", "src", "src/inner", "other")
HOSTS = ("a.b.c", "*.b.c", "*.a.b.c", "x.a.b.c:443", "a.b.c:8080", "c", "[::1]:8080")
PORTS = (80, 443, 8080)


def lists(*values: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(values), max_size=3, unique=True).map(json.dumps)


def one_of(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


SIZES, COUNTS = one_of(1, 60, 5_000, 2_000_000, 9_000_000), one_of(1, 2, 3, 20, 50)
CEILINGS = one_of(0, 5, 100, 999_999_999, 1_000_000_000)
# Every setting, with values that a file may give it: one that is missing here fails.
VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "database": one_of("other.db", "../brain.db"),
    "database_key": one_of("none"),
    "durability": one_of(*DURABILITIES),
    "contract_enforcement": one_of(*ENFORCEMENTS),
    "reversibility": one_of(*ENFORCEMENTS),
    "safety_mode": one_of(*SAFETY_MODES),
    "agent_charters": one_of("off", "observe"),  # what enforce does is tested in tests/kernel/boundaries
    "context_sources": one_of("off", "observe"),
    "intents": lists("refund.issue", "note.read"),
    "release.check": one_of("off", "observe"),
    "release.prompt": lists("prompt.md"),
    "release.eval": lists("evals"),
    "release.model": one_of("a-model"),
    "max_args_bytes": SIZES,
    "max_result_bytes": SIZES,
    "budget.max_tool_calls": COUNTS,
    "budget.max_retries_per_tool": one_of(0, 1, 100),
    "budget.max_prompt_tokens": COUNTS,
    "budget.max_latency_ms": one_of(10_000, 30_000, 60_000),
    "budget.max_cost_usd_cents": one_of(0.5, 10, 11.25),
    "agents": one_of(
        "{}",
        "{clerk: {ceiling: destructive}}",
        "{clerk: {ceiling: destructive, permissions: [till]}}",
        "{clerk: {ceiling: local_write, tools: [files.write, files.read]}}",
        "{other: {ceiling: read_only}}",
    ),
    "tools": one_of("[]", '["os:getcwd"]'),
    "policy": one_of(
        "[]",
        "[{deny: files.*, args: {path: 'src/*'}}]",
        "[{allow: '*'}]",
        "[{allow: [files.*, shop.*]}]",
        "[{approve: shop.note}]",
        "[{allow: files.*, args: {path: ['src/*', 'a.txt']}}, {allow: shop.*}]",
    ),
    "files.roots": lists(*FOLDERS),
    "files.keep_max_bytes": SIZES,
    "files.max_read_bytes": SIZES,
    "undo.keep_days": COUNTS,
    "undo.store_max_bytes": SIZES,
    "undo.call_max_bytes": SIZES,
    "undo.call_max_files": COUNTS,
    "undo.tree_ms": COUNTS,
    "http.allow": lists(*HOSTS),
    "http.max_bytes": SIZES,
    "shell.env": lists("PATH", "LANG", "TZ", "HOME", "X"),
    "shell.max_output_bytes": SIZES,
    "approvals.overdue_after_minutes": COUNTS,
    "approvals.expire_after_minutes": COUNTS,
    "approvals.dual_control": lists("shop.*", "files.write"),
    **{f"irreversibility.{name}": CEILINGS for name in ("money", "comms", "commitments", "exposure", "regulatory")},
    "kill.dual_control": one_of("true", "false"),
    "autonomy.mode": one_of(*ENFORCEMENTS),
    "budget.session_cost_usd": one_of(0.5, 5, 1_000_000_000),
    "budget.daily_cost_usd": one_of(0.5, 5, 1_000_000_000),
    "console.lock_after_min": one_of(0, 5, 15),
    "prices": one_of("{m: {input: 3}}", "{}"),
    "hooks.conflicts": one_of("off", "warn", "refuse"),
    "hooks.claims": one_of("off", "tell", "hold"),
    "hooks.approval": one_of("queue", "ask"),
    "hooks.secrets": one_of("allow", "ask", "queue", "deny"),
    "hooks.uploads": one_of("allow", "ask"),
    "hooks.unjudged": one_of("all", "reads", "none"),
    "hooks.deadline_seconds": one_of(1, 20, 25),
    "hooks.read_only": lists("mcp__*", "Bash"),
    "hooks.packs": lists("ours.yaml", "more.yaml"),
    "hooks.packs_disabled": lists("clouds", "vault"),
    "hooks.mcp": one_of("{'mcp__*': read}"),
    "hooks.keep": one_of("true", "false"),
    "hooks.confine": one_of("off", "on", "require"),
    "hooks.writable": lists(*FOLDERS),
    "hooks.resident": one_of("true", "false"),
    "memory.embedder": one_of("static", "ollama", "none"),
    "memory.ollama_url": one_of("http://evil.example:80"),
    "memory.ollama_model": one_of("other"),
    "memory.transformers_model": one_of("/tmp/model"),
    "memory.quarantine": lists("tool-output", "web-page", "ingested-document"),
    "memory.sync_scopes": lists("*", "global", "project:*"),
    "memory.planning_floor": one_of("0", "0.6", "1"),
    "memory.interference": one_of("0", "3", "20"),
    "memory.spreading": one_of("0", "0.3", "1"),
    "memory.signals": one_of("{affect: true}", "{affect: false, phi: true}"),
    "memory.salience": one_of("{trust: 4}"),
    "memory.scopes": st.dictionaries(
        one_of("*", "project:*", "*:a", "p*:a", "project:a", "global"),
        st.fixed_dictionaries(
            {},
            optional={
                **dict.fromkeys(RIGHTS, st.lists(one_of("*", "ada", "ad*", "*a", "adam", "eve"), max_size=3, unique=True)),
                "purpose": one_of("support"),
                "consent": st.booleans(),
                "max_age": one_of("0s", "1d", "30d"),
                "personal_data": one_of("keep", "redact", "drop", "escalate"),
                "retention": one_of("1d", "30d", {"event": "1d", "*": "9d"}),
                "gate": one_of({"lesson": {"threshold": 0.4}}, {"*": {"threshold": 0.5}}),
                "includes": st.lists(one_of("team:a", "team:b"), max_size=2, unique=True),
                "trust_floor": one_of(0, 0.45, 1),
            },
        ),
        max_size=3,
    ).map(json.dumps),
    "memory.personal_data_readers": one_of("['nobody']"),
    "credentials": one_of("{billing: 'env:TOKEN'}"),
    "output_gate.results": one_of("[reports.*]"),
    "output_gate.action": one_of("redact", "refuse"),
    "output_gate.messages": one_of("off", "mark", "refuse"),
    "memory.attacks": one_of("off", "mark", "quarantine", "refuse"),
    "red_team.tool_results": one_of("off", "mark", "quarantine"),
    "red_team.prompts": one_of("off", "mark"),
    "memory.hooks": one_of("true", "false"),
    "memory.orient_tokens": one_of(100, 2_000, 10_000),
    "entity.plugin_fail_fast": one_of("true", "false"),
    "operators.file": one_of("mine.json"),
    "audit.anchor_every": COUNTS,
    "audit.retention_days": one_of(0, 1, 9),
    "replay.keep_days": one_of(0, 1, 90),
    "replay.max_bytes": SIZES,
    "telemetry.arguments": one_of("true", "false"),
}  # fmt: skip

Before = Callable[[Any, Any], bool]  # the value without the file, and with it: whether that is no wider


def ordered(*names: str) -> Before:
    return lambda before, after: names.index(after) >= names.index(before)


def no_more(before: float, after: float) -> bool:
    return after <= before


def part_of(before: Any, after: Any) -> bool:
    return set(after) <= set(before)


def only_raising(before: tuple[PackFile, ...], after: tuple[PackFile, ...]) -> bool:
    return after[: len(before)] == before and all(pack.only_raises for pack in after[len(before) :])


def inner(before: tuple[Path, ...], after: tuple[Path, ...]) -> bool:
    return all(any(path.resolve().is_relative_to(root.resolve()) for root in before) for path in after)


def reached(allowed: Any) -> set[tuple[str, int]]:
    names = ("a.b.c", "x.a.b.c", "y.x.a.b.c", "q.b.c", "c", "::1")
    return {
        (name, port) for name in names for port in PORTS if any(item.matches(name, port) for item in allowed)
    }


_SCOPES = ("global", "project:a", "project:b", "team:a")


def no_more_rights(before: Scopes, after: Scopes) -> bool:
    """Whoever may do something afterwards could do it before, and floors of trust are no lower."""
    agents = ("ada", "adam", "ad", "a", "eve", "bob", "")
    asked = [(right, scope, agent) for right in RIGHTS for scope in _SCOPES for agent in agents]
    return all(before.allows(*item) or not after.allows(*item) for item in asked) and all(
        after.answer("trust_floor", scope) >= before.answer("trust_floor", scope) for scope in _SCOPES
    )


def no_more_of_memory(before: Scopes, after: Scopes) -> bool:
    """Rights and floors are no wider, and all else is as it was."""
    rest = [name for name in QUESTIONS if name not in (*RIGHTS, "trust_floor", "gate", "retention")]
    same = all(before.answer(name, scope) == after.answer(name, scope) for name in rest for scope in _SCOPES)
    values = [policy.values("gate", "retention") for policy in (before, after)]
    return no_more_rights(before, after) and same and values[0] == values[1]


# What is no wider, of each setting that such a file may change: said again, and not asked of the rule itself.
NO_WIDER: Mapping[str, Before] = {
    "durability": ordered(*DURABILITIES),
    "contract_enforcement": ordered(*ENFORCEMENTS),
    "autonomy.mode": ordered(*ENFORCEMENTS),
    "reversibility": ordered(*ENFORCEMENTS),
    "safety_mode": ordered(*SAFETY_MODES),
    "agent_charters": ordered(*ENFORCEMENTS),
    "context_sources": ordered(*ENFORCEMENTS),
    "release.check": ordered(*ENFORCEMENTS),
    "intents": lambda before, after: not before or (bool(after) and part_of(before, after)),
    "hooks.approval": ordered("ask", "queue"),
    "hooks.conflicts": ordered("off", "warn", "refuse"),
    "output_gate.action": ordered("redact", "refuse"),
    "output_gate.messages": ordered("off", "mark", "refuse"),
    "memory.attacks": ordered("off", "mark", "quarantine", "refuse"),
    "red_team.tool_results": ordered("off", "mark", "quarantine"),
    "red_team.prompts": ordered("off", "mark"),
    "hooks.secrets": ordered("allow", "ask", "queue", "deny"),
    "hooks.uploads": ordered("allow", "ask"),
    "hooks.keep": lambda before, after: before or not after,
    "hooks.confine": ordered("off", "on", "require"),
    "hooks.claims": ordered("off", "tell", "hold"),
    "hooks.writable": inner,
    "hooks.unjudged": ordered("all", "reads", "none"),
    "hooks.packs": only_raising,
    "files.roots": inner,
    "http.allow": lambda before, after: reached(after) <= reached(before),
    "shell.env": lambda before, after: part_of(before, after) and ("PATH" in after) == ("PATH" in before),
    "memory.hooks": no_more,
    "memory.scopes": no_more_of_memory,
    "memory.planning_floor": lambda before, after: after >= before,
    "telemetry.arguments": no_more,
    **{
        # A ceiling takes the place of the question whether there may be anything at all: none can come to be.
        f"irreversibility.{name}": lambda before, after: after <= before and (before < 1e9 or after == before)
        for name in ("money", "comms", "commitments", "exposure", "regulatory")
    },
    **dict.fromkeys(("max_args_bytes", "max_result_bytes", "budget.max_tool_calls", "budget.max_retries_per_tool", "budget.max_prompt_tokens", "budget.max_latency_ms", "budget.max_cost_usd_cents", "budget.session_cost_usd", "budget.daily_cost_usd", "files.keep_max_bytes", "files.max_read_bytes", "undo.call_max_bytes", "undo.call_max_files", "http.max_bytes", "shell.max_output_bytes", "approvals.overdue_after_minutes", "approvals.expire_after_minutes", "memory.orient_tokens", "audit.anchor_every"), no_more),
}  # fmt: skip


def as_yaml(values: Mapping[str, Any]) -> str:
    grouped: dict[str, list[str]] = {}
    for key, value in values.items():
        group, _, name = key.rpartition(".")
        grouped.setdefault(group, []).append(f"{'  ' if group else ''}{name}: {value}")
    blocks = sorted(grouped.items(), key=lambda item: item[0] != "")
    return "\n".join("\n".join(([f"{group}:"] if group else []) + lines) for group, lines in blocks) + "\n"


class World:
    """A home and a project, fresh ones; closed at the end of the block.

    Args:
        home: settings of `config.yaml`. project: those of `sb.yaml`; None for no file.
    """

    def __init__(
        self, folder: str, name: str, home: Mapping[str, Any], project: Mapping[str, Any] | None
    ) -> None:
        self.project = Path(folder) / name / "project"
        for item in FOLDERS:
            (self.project / item).mkdir(parents=True, exist_ok=True)
        (self.project / ".git").mkdir()
        self.home = Path(folder) / name / "home"
        self.home.mkdir(mode=0o700)
        given = dict(home)
        if "files.roots" in given:  # relative to the project in both files
            given["files.roots"] = json.dumps(
                [str(self.project / load) for load in json.loads(given["files.roots"])]
            )
        (self.home / "config.yaml").write_text(as_yaml(given), encoding="utf-8")
        if project is not None:
            (self.project / "sb.yaml").write_text(as_yaml(project), encoding="utf-8")

    def config(self) -> Config:
        env = {"SB_HOME": str(self.home), "HOME": str(self.home.parent)}
        return load_config(env=env, cwd=self.project, flags={})

    def tree(self) -> dict[str, str]:
        files = (path for path in self.project.rglob("*") if path.is_file() and path.name != "sb.yaml")
        return {str(file.relative_to(self.project)): file.read_text(encoding="utf-8") for file in files}


contents = st.fixed_dictionaries({}, optional=dict(VALUES))


def test_every_setting_has_values_and_if_it_may_be_narrowed_a_rule_here() -> None:
    assert set(VALUES) == set(BY_KEY)
    assert set(NO_WIDER) == {row.key for row in SETTINGS if row.narrow is not None}


@given(contents, contents)
@settings(max_examples=40)
def test_no_setting_is_wider_with_an_untrusted_file(home: dict[str, Any], project: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder, "one", home, project)
        after = world.config()
        (world.project / "sb.yaml").unlink()
        before = world.config()
    for key in BY_KEY:
        rule: Before = NO_WIDER.get(key, operator.eq)
        assert rule(before.get(key), after.get(key)), key


class Shop:
    """Tools with effects that are counted."""

    def __init__(self, runtime: Runtime) -> None:
        self.done: list[tuple[str, str]] = []
        self.runtime = runtime
        wire = {"risk_dimension": "money", "value_arg": "amount"}
        tell = {"risk_dimension": "comms"}
        stays = ReversalSpec(ReversalClass.IRREVERSIBLE)
        back = ReversalSpec(ReversalClass.COMPENSABLE, "shop.note", reversal_args={"text": "=back"})
        for name, safety, more in (
            ("look", SafetyClass.READ_ONLY, {}),
            ("note", SafetyClass.LOCAL_WRITE, {"reversal": back}),
            ("till", SafetyClass.LOCAL_WRITE, {"reversal": back, "requires_permission": ["till"]}),
            ("wire", SafetyClass.NETWORK, {"reversal": stays, "metadata": wire}),
            ("refund", SafetyClass.NETWORK, {"reversal": back, "metadata": wire}),
            ("tell", SafetyClass.NETWORK, {"reversal": stays, "metadata": tell}),
            ("wipe", SafetyClass.DESTRUCTIVE, {}),
        ):
            runtime.registry.register_fn(f"shop.{name}", name, self._doing(name), safety, **more)
        approve_tools(runtime)

    def _doing(self, name: str) -> Callable[..., Any]:
        def do(text: str = "", amount: float = 0) -> str:
            self.done.append((name, f"{text}{amount}"))
            return "x" * 100

        return do


Call = tuple[str, dict[str, Any]]
CALLS: st.SearchStrategy[Call] = st.one_of(
    st.tuples(
        one_of("shop.look", "shop.note", "shop.till", "shop.tell", "shop.wipe"),
        one_of({"text": "a"}, {"text": "b" * 90}),
    ),
    st.tuples(
        one_of("shop.wire", "shop.refund"), one_of({"amount": 0}, {"amount": 3}, {"amount": 5_000_000})
    ),
    st.tuples(
        one_of("files.write"),
        st.fixed_dictionaries(
            {
                "path": one_of("a.txt", "src/a.txt", "inner/b.txt", "other/c.txt"),
                "content": one_of("short", "long" * 30),
            }
        ),
    ),
    st.tuples(
        one_of("files.read", "files.delete"), st.fixed_dictionaries({"path": one_of("a.txt", "src/a.txt")})
    ),
)


def passing(world: World, calls: list[Call]) -> tuple[list[Call], list[tuple[str, str]]]:
    """The calls of one run that pass, and what they did."""
    with open_runtime(world.config()) as runtime:
        shop = Shop(runtime)
        ctx = runtime.context("clerk")
        passed = []
        for tool_id, args in calls:
            before = len(shop.done), world.tree()
            done = runtime.executor.execute(ctx, tool_id, args).success
            if done or (len(shop.done), world.tree()) != before:  # its answer may be too large, or not
                passed.append((tool_id, args))
        return passed, shop.done


ASKING: dict[str, Any] = {"files.roots": '["."]', "policy": "[{deny: files.*, args: {path: 'src/*'}}]"}


@given(contents, contents, st.lists(CALLS, min_size=4, max_size=10))
@settings(max_examples=8)
@example({}, {"irreversibility.money": 999_999_999}, [("shop.wire", {"amount": 5_000_000})])
@example(ASKING, {"files.roots": '["src"]'}, [("files.write", {"path": "a.txt", "content": "short"})])
@example(ASKING, {"files.roots": '["src"]'}, [("files.write", {"path": "src/a.txt", "content": "short"})])
@example(
    {"files.roots": '["."]'},
    {"files.roots": '["src"]'},
    [("files.write", {"path": "src/a.txt", "content": "short"})],
)
def test_what_passes_with_an_untrusted_file_passes_without_it_and_does_the_same(
    home: dict[str, Any], project: dict[str, Any], calls: list[Call]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for item in ("database", "tools"):  # of these no file is needed to see that they are ignored
            home.pop(item, None)
        narrowed, free = World(folder, "narrowed", home, project), World(folder, "free", home, None)
        passed, done = passing(narrowed, calls)
        assert passing(free, passed) == (passed, done)
        assert narrowed.tree() == free.tree()


def test_a_file_may_still_narrow_where_relative_paths_go() -> None:
    """The last example above writes, and the one before it is denied by the policy: neither is trivially true."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder, "one", {"files.roots": '["."]'}, {"files.roots": '["src"]'})
        calls: list[Call] = [
            ("files.write", {"path": path, "content": "x"}) for path in ("src/a.txt", "a.txt", "other/a.txt")
        ]
        passed, _ = passing(world, calls)
        assert passed == calls[:1]
        assert world.tree() == {os.path.join("src", "a.txt"): "x"}


@pytest.mark.parametrize("asked", ["0", "5", "999999999"])
def test_an_untrusted_ceiling_counts_only_below_one_that_is_set(asked: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        none = World(folder, "none", {}, {"irreversibility.money": asked})
        assert none.config().irreversibility.ceilings() == {}
        assert "would widen it" in none.config().notes[0]
        some = World(folder, "some", {"irreversibility.money": 100}, {"irreversibility.money": asked})
        assert some.config().irreversibility.ceilings() == {"money": min(100.0, float(asked))}
