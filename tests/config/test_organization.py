"""An organization's settings for a machine: everybody else may only narrow them."""

from __future__ import annotations

import json
import operator
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.config import load_config, organization
from sb.config.model import BY_KEY
from sb.config.organization import installed_policies, sign_policy
from sb.config.rules import PolicyRule
from sb.config.scopes import Scopes
from sb.errors import ConfigError, UsageError
from sb.kernel.authority.keys import make_key
from sb.runtime import open_runtime
from tests.config.test_narrowing import (
    CALLS,
    NO_WIDER,
    VALUES,
    Before,
    Call,
    World,
    as_yaml,
    no_more_rights,
    passing,
)
from tests.conftest import CommandLine

_, IT = make_key("it-desk", None)
_, STRANGER = make_key("stranger", None)


class System:
    """The folder that root owns, moved to a temporary one that belongs to who runs the tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(mode=0o755)
        (folder / organization.KEY).write_text(f"{IT.public_key}\n")

    def install(
        self, settings: str, name: str = "policy.yaml", sign: Callable[[bytes], str] = IT.sign
    ) -> Path:
        indented = "".join(f"  {line}\n" for line in settings.splitlines())
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"organization: Example\nversion: 12\nsettings:\n{indented}")
        sign_policy(path, sign)
        return path


@contextmanager
def managed(folder: Path) -> Iterator[System]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(organization, "FOLDER", folder)
        patch.setattr(organization, "OWNER", os.getuid())
        yield System(folder)


@pytest.fixture
def system(tmp_path: Path) -> Iterator[System]:
    with managed(tmp_path / "etc") as found:
        yield found


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(str(tmp_path), "one", {}, None)


def test_without_a_policy_nothing_is_limited(world: World, system: System) -> None:
    assert installed_policies() == ()
    assert world.config().organization == ()
    (system.folder / organization.KEY).unlink()
    system.folder.rmdir()
    assert installed_policies() == ()


def test_the_organization_s_value_counts_and_a_home_may_only_narrow_it(world: World, system: System) -> None:
    system.install("safety_mode: safe\nbudget:\n  max_tool_calls: 5\nhooks:\n  packs_disabled: []")
    assert world.config().safety_mode == "safe"
    home = world.home / "config.yaml"
    home.write_text(
        "safety_mode: normal\nbudget: {max_tool_calls: 3}\nhooks: {packs_disabled: [clouds], keep: false}\n"
    )
    config = world.config()
    assert (config.safety_mode, config.budget.max_tool_calls) == ("safe", 3)
    assert (config.hooks.packs_disabled, config.hooks.keep) == ((), False)
    policy = f"{system.folder / 'policy.yaml'}"
    assert config.origin("safety_mode") == f"{policy}:4 (Example)"
    assert config.origin("budget.max_tool_calls") == f"{home}:2, within {policy}:6 (Example)"
    assert config.notes == (
        f"{home}:1: safety_mode: normal would widen it: ignored: {policy}:4 (Example)",
        f"{home}:3: hooks.packs_disabled: ignored: {policy}:8 (Example) sets it",
    )


def no_wider_rules(before: tuple[PolicyRule, ...], after: tuple[PolicyRule, ...]) -> bool:
    added = after[len(before) :]
    closed = any(rule.effect == "allow" for rule in before)
    return after[: len(before)] == before and not (closed and any(rule.effect == "allow" for rule in added))


def no_looser_memory(before: Scopes, after: Scopes) -> bool:
    """Rights and floors are no wider; less is kept, for less long, of less personal data, and with more consent."""
    actions, scopes = ("keep", "escalate", "redact", "drop"), ("global", "project:a", "project:b", "team:a")

    def fresher(scope: str) -> bool:
        most, now = before.answer("max_age", scope), after.answer("max_age", scope)
        return not most or 0 < now <= most

    def no_longer(scope: str, name: str) -> bool:
        most, now = (policy.answer("retention", scope, (name,)) for policy in (before, after))
        return most is None or now[0] <= most[0]

    return no_more_rights(before, after) and all(
        after.answer("consent", scope) >= before.answer("consent", scope)
        and actions.index(after.answer("personal_data", scope))
        >= actions.index(before.answer("personal_data", scope))
        and fresher(scope)
        and all(no_longer(scope, name) for name in ("event", "fact"))
        and all(
            after.answer(name, scope) == before.answer(name, scope)
            for name in ("includes",)
            if before.values(name)
        )
        for scope in scopes
    )


WITHIN: Mapping[str, Before] = {
    **NO_WIDER,
    "memory.scopes": no_looser_memory,
    "policy": no_wider_rules,
    "approvals.dual_control": lambda before, after: set(before) <= set(after),
    "kill.dual_control": lambda before, after: after >= before,
}
contents = st.fixed_dictionaries({}, optional=dict(VALUES))


@given(contents, contents, contents)
@settings(max_examples=40)
def test_no_setting_of_an_organization_is_wider_with_the_files_of_home_and_project(
    policy: dict[str, Any], home: dict[str, Any], project: dict[str, Any]
) -> None:
    with tempfile.TemporaryDirectory() as folder, managed(Path(folder) / "etc") as system:
        world = World(folder, "one", home, project)
        here = World(folder, "bare", {}, None)
        if "files.roots" in policy:
            roots = [str(world.project / load) for load in json.loads(policy["files.roots"])]
            policy = policy | {"files.roots": json.dumps(roots)}
        system.install(as_yaml(policy))
        after, alone = world.config(), here.config()
    for key in policy:
        rule: Before = WITHIN.get(key, operator.eq)
        assert rule(alone.get(key), after.get(key)), key


LIMITS = st.fixed_dictionaries(
    {}, optional={key: VALUES[key] for key in VALUES if key not in ("database", "tools", "files.roots")}
)


@given(LIMITS, st.data(), st.lists(CALLS, min_size=4, max_size=8))
@settings(max_examples=8)
def test_what_passes_with_a_home_s_values_passes_with_the_organization_s_alone(
    policy: dict[str, Any], data: st.DataObject, calls: list[Call]
) -> None:
    home = data.draw(st.fixed_dictionaries({}, optional={key: VALUES[key] for key in policy}))
    with tempfile.TemporaryDirectory() as folder, managed(Path(folder) / "etc") as system:
        system.install(as_yaml(policy))
        roots = {"files.roots": '["."]'}
        narrowed, alone = World(folder, "narrowed", home | roots, None), World(folder, "alone", roots, None)
        passed, done = passing(narrowed, calls)
        assert passing(alone, passed) == (passed, done)


def test_rules_of_a_home_are_added_but_allow_nothing_that_the_organization_does_not(
    world: World, system: System
) -> None:
    system.install("policy:\n  - allow: shop.*\n  - deny: http.*")
    (world.home / "config.yaml").write_text("policy:\n  - allow: '*'\n  - approve: shop.wire\n")
    rules = [(rule.name, rule.effect, rule.tools) for rule in world.config().policy]
    assert rules == [
        ("organization policy[1]", "allow", ("shop.*",)),
        ("organization policy[2]", "deny", ("http.*",)),
        ("policy[2]", "approve", ("shop.wire",)),
    ]


def test_later_files_of_the_folder_narrow_those_before_them(world: World, system: System) -> None:
    system.install("budget: {max_tool_calls: 9}")
    system.install("budget: {max_tool_calls: 12}\nmax_args_bytes: 7", "policy.d/20-team.yaml")
    system.install("budget: {max_tool_calls: 4}", "policy.d/10-site.yaml")
    config = world.config()
    assert (config.budget.max_tool_calls, config.max_args_bytes) == (4, 7)
    assert [line.partition(" (")[0] for line in config.organization] == ["Example, version 12"] * 3


def test_flags_and_variables_that_contradict_the_organization_are_refused(
    world: World, system: System
) -> None:
    system.install("database: /var/lib/sb/brain.db")
    env = {"SB_HOME": str(world.home), "HOME": str(world.home)}
    with pytest.raises(ConfigError, match=r"--db: database is set by .*policy\.yaml:4 \(Example\)"):
        load_config(env=env, cwd=world.project, flags={"database": "mine.db"})
    with pytest.raises(ConfigError, match="SB_DB: database is set by"):
        load_config(env=env | {"SB_DB": "mine.db"}, cwd=world.project, flags={})
    assert world.config().database == Path("/var/lib/sb/brain.db")


def test_the_environment_moves_no_folder_of_the_organization(world: World, system: System) -> None:
    system.install("files:\n  roots: [~/work]")
    for home in ("/one", "/two"):
        config = load_config(env={"SB_HOME": str(world.home), "HOME": home}, cwd=world.project, flags={})
        assert not str(config.files.roots[0]).startswith(home)


def break_key(system: System) -> None:
    (system.folder / organization.KEY).write_text("ed25519:short\n")


def other_key(system: System) -> None:
    (system.folder / organization.KEY).write_text(STRANGER.public_key)


def edit(system: System) -> None:
    path = system.folder / "policy.yaml"
    path.write_text(path.read_text().replace("safe", "normal"))


def link(system: System) -> None:
    path = system.folder / "policy.yaml"
    path.rename(system.folder / "real")
    path.symlink_to("real")


def foreign(system: System) -> None:
    organization.OWNER += 1


def resigned_by_a_stranger(system: System) -> None:
    system.install("safety_mode: safe", sign=STRANGER.sign)


def unknown_setting(system: System) -> None:
    path = system.folder / "policy.yaml"
    path.write_text(path.read_text().replace("safety_mode", "safty_mode"))
    signed = IT.sign(b"sb organization policy\n" + path.read_bytes())
    path.with_name("policy.yaml.sig").write_text(signed)


FAULTS: tuple[tuple[Callable[[System], object], str], ...] = (
    (break_key, "organization.pub: not a public key"),
    (other_key, "is not signed with the key of"),
    (edit, "is not signed with the key of"),
    (resigned_by_a_stranger, "is not signed with the key of"),
    (link, "policy.yaml: cannot be read"),
    (unknown_setting, 'policy.yaml:4: safty_mode: unknown key (did you mean "safety_mode"?)'),
    (foreign, "does not belong to root"),
    (lambda system: (system.folder / organization.KEY).unlink(), "organization.pub: cannot be read"),
    (lambda system: (system.folder / "policy.yaml.sig").unlink(), "policy.yaml.sig: cannot be read"),
    (
        lambda system: (system.folder / "policy.yaml").chmod(0o666),
        "policy.yaml: others than root can write to it",
    ),
    (lambda system: system.folder.chmod(0o777), "others than root can write to it"),
)


@pytest.mark.parametrize(("fault", "said"), FAULTS)
def test_a_policy_that_cannot_be_believed_stops_everything_but_a_stop(
    fault: Callable[[System], object], said: str, world: World, system: System, sb: CommandLine
) -> None:
    sb("init")
    system.install("safety_mode: safe")
    fault(system)
    with pytest.raises(ConfigError) as error:
        world.config()
    assert said in str(error.value)
    done = sb("kernel", "tools")
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    stopped = sb("kill", "agent", "clerk", "--reason", "a test")
    assert (stopped.code, said in stopped.err) == (0, True)


def test_a_policy_needs_a_name_a_version_and_a_mapping(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    for text, item in (
        ("settings: {}\n", "organization is missing"),
        ("organization: X\nsettings: {}\n", "version is missing"),
        ("organization: X\nversion: 1\nsettings: 3\n", "settings: must be a mapping of settings, not 3"),
        ("organization: X\nversion: 1\nsetting: {}\n", 'unknown key (did you mean "settings"?)'),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError) as error:
            sign_policy(path, IT.sign)
        assert item in str(error.value)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        sign_policy(tmp_path / "none.yaml", IT.sign)
    path.write_text("organization: X\nversion: 1\nsettings: {}\n")
    with pytest.raises(UsageError, match="nobody is enrolled"):
        sign_policy(path, lambda data: "")
    assert not (tmp_path / "policy.yaml.sig").exists()


def test_each_run_says_under_which_policy_it_ran(world: World, system: System) -> None:
    system.install("safety_mode: safe")
    with open_runtime(world.config()) as runtime:
        with runtime.run("clerk"):
            pass
        (payload,) = runtime.database.query("SELECT payload FROM events WHERE kind = 'kernel.run.started'")
    (policy,) = json.loads(payload[0])["organization"]
    assert policy.startswith("Example, version 12 (sha256 ")


def test_an_operator_signs_and_everybody_sees_what_is_in_force(
    sb: CommandLine, system: System, tmp_path: Path
) -> None:
    sb("init")
    sb("operator", "init", "ana", "--no-passphrase")
    path = tmp_path / "policy.yaml"
    path.write_text("organization: Example\nversion: 3\nsettings:\n  safety_mode: strict\n")
    signed = sb("config", "sign", str(path), "--json")
    assert (signed.code, json.loads(signed.out)["by"]) == (0, "ana")
    (key,) = json.loads(sb("operator", "whoami", "--json").out)["keys"]
    (system.folder / organization.KEY).write_text(key["public_key"])
    for name in ("policy.yaml", "policy.yaml.sig"):
        (system.folder / name).write_bytes((tmp_path / name).read_bytes())
    (item,) = json.loads(sb("config", "organization", "--json").out)["items"]
    assert (item["version"], item["settings"]) == ("3", ["safety_mode"])
    rows = json.loads(sb("config", "show", "--origin", "--json").out)["items"]
    assert [(row["key"], row["value"]) for row in rows] == [("safety_mode", "strict")]
    assert rows[0]["origin"].endswith("policy.yaml:4 (Example)")


def test_every_setting_that_an_organization_fixes_is_one_that_no_project_narrows() -> None:
    fixed = {key for key, row in BY_KEY.items() if row.within is None and row.narrow is None}
    assert fixed.isdisjoint(WITHIN)
