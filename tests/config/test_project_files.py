"""Settings of a project's file, before and after a person trusts it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.config import Config, Home, HostPattern, check, find_project, is_trusted, load_config, trust
from sb.config.model import DURABILITIES, ENFORCEMENTS, SAFETY_MODES
from sb.errors import ConfigError


class Project:
    """A home and a project with a file, both in the test's own temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        (self.folder / ".git").mkdir(parents=True)
        self.file = self.folder / "sb.yaml"
        self.home = Home(folder / "home")
        self.home.create()
        self.env = {"SB_HOME": str(self.home.folder), "HOME": str(folder / "user")}

    def load(self, project: str | None = None, home: str | None = None) -> Config:
        if project is not None:
            self.file.write_text(project, encoding="utf-8")
        if home is not None:
            self.home.config_file.write_text(home, encoding="utf-8")
        return load_config(env=self.env, cwd=self.folder, flags={})

    def trust(self, shown: str = "") -> str:
        return trust(self.home, self.file, env=self.env, displayed=shown)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_the_nearest_project_file_up_to_the_git_root_is_found(project: Project) -> None:
    inner = project.folder / "a" / "b"
    inner.mkdir(parents=True)
    assert find_project(inner, project.home) is None
    (project.folder.parent / "sb.yaml").touch()
    assert find_project(inner, project.home) is None, "above the root of the repository"
    project.file.touch()
    assert find_project(inner, project.home) == project.file
    (project.folder / "a" / "sb.yaml").touch()
    assert find_project(inner, project.home) == project.folder / "a" / "sb.yaml"
    (inner / ".git").touch()
    assert find_project(inner, project.home) is None, "a worktree's .git is a file"


def test_a_project_file_inside_the_home_is_never_picked(project: Project) -> None:
    path = project.home.snapshots / "copy"
    path.mkdir(parents=True)
    for folder in (project.home.folder, path):
        (folder / "sb.yaml").touch()
    (project.folder / "to_home").symlink_to(project.home.folder)
    (project.folder.parent / ".git").mkdir()
    assert find_project(path, project.home) is None
    assert find_project(project.folder / "to_home", project.home) is None
    assert find_project(path, Home(project.folder / "to_home")) is None


def test_an_untrusted_file_can_make_everything_tighter(project: Project) -> None:
    (project.folder / "src").mkdir()
    config = project.load(
        "durability: power\ncontract_enforcement: observe\nsafety_mode: safe\nmax_args_bytes: 10\n"
        "budget: {max_tool_calls: 5, max_cost_usd_cents: 1}\n"
        "files: {roots: [src], max_read_bytes: 7}\nhttp: {allow: [api.example.org]}\n"
        "shell: {env: [LANG]}\naudit: {anchor_every: 3}\ntelemetry: {arguments: false}\n",
        f"contract_enforcement: off\nfiles: {{roots: ['{project.folder}']}}\nhttp: {{allow: ['*.example.org']}}\n"
        "telemetry: {arguments: true}\n",
    )
    assert (config.durability, config.contract_enforcement, config.safety_mode) == (
        "power",
        "observe",
        "safe",
    )
    assert (config.budget.max_tool_calls, config.budget.max_cost_usd_cents) == (5, 1.0)
    assert (config.files.roots, config.files.max_read_bytes) == ((project.folder / "src",), 7)
    assert config.http.allow == (HostPattern("api.example.org"),)
    assert (config.shell.env, config.audit.anchor_every, config.telemetry.arguments) == (
        ("PATH", "LANG"),
        3,
        False,
    )
    assert config.origin("files.roots") == f"{project.file}:6"
    assert config.notes == ()


@pytest.mark.parametrize(
    ("asked", "key", "refused"),
    [
        ("contract_enforcement: off", "contract_enforcement", "off"),
        ("budget: {max_tool_calls: 21}", "budget.max_tool_calls", "21"),
        ("telemetry: {arguments: true}", "telemetry.arguments", "true"),
        ("files: {roots: [/etc]}", "files.roots", "/etc"),
        ("http: {allow: [a, b, c, d, e]}", "http.allow", "a, b, c and 2 more"),
        ("shell: {env: [AWS_SECRET_ACCESS_KEY]}", "shell.env", "AWS_SECRET_ACCESS_KEY"),
    ],
)
def test_an_untrusted_file_can_widen_nothing_and_each_attempt_is_noted(
    project: Project, asked: str, key: str, refused: str
) -> None:
    config = project.load(asked)
    assert config.get(key) in (Config(project.home).get(key), (), ("PATH",))
    (note,) = config.notes
    assert note.startswith(f"{project.file}:1: {key}: {refused} would widen it")


@pytest.mark.parametrize(
    "line",
    [
        "tools: [evil:run]",
        "agents: {a: {ceiling: destructive}}",
        "database: x.db",
        "audit: {retention_days: 1}",
    ],
)
def test_what_cannot_be_narrowed_is_ignored_until_trusted(project: Project, line: str) -> None:
    config = project.load(line)
    assert config == Config(project.home, notes=config.notes)
    (note,) = config.notes
    assert "ignored until sb config trust: an untrusted file cannot set it" in note
    project.trust()
    assert project.load().notes == ()
    assert project.load() != Config(project.home)


def test_a_folder_asked_for_through_a_link_counts_as_what_it_leads_to(project: Project) -> None:
    (project.folder / "outside").symlink_to("/etc")
    (project.folder / "src").mkdir()
    (project.folder / "inside").symlink_to("src")
    config = project.load("files: {roots: [outside, inside]}", f"files: {{roots: ['{project.folder}']}}")
    assert config.files.roots == (project.folder / "src",)
    (note,) = config.notes
    assert note.startswith(f"{project.file}:1: files.roots: {project.folder}"[:200])


def test_a_folder_above_the_configured_one_gives_the_configured_one(project: Project) -> None:
    config = project.load("files: {roots: [/]}", f"files: {{roots: ['{project.folder}']}}")
    assert config.files.roots == (project.folder,)
    assert config.origin("files.roots") == f"{project.home.config_file}:1"


def test_a_trusted_file_counts_before_the_home_and_its_paths_start_at_its_folder(project: Project) -> None:
    content = "database: project.db\ntools: [my.tools:register]\nbudget: {max_tool_calls: 500}\nfiles: {roots: [.]}\n"
    project.load(content, "budget: {max_tool_calls: 5}")
    digest = project.trust()
    config = project.load()
    assert is_trusted(project.home, project.file)
    assert (config.database, config.tools) == (project.folder / "project.db", ("my.tools:register",))
    assert (config.budget.max_tool_calls, config.files.roots) == (500, (project.folder,))
    assert config.origin("budget.max_tool_calls") == f"{project.file}:3"
    assert config.notes == ()
    assert json.loads(project.home.trusted.read_text(encoding="utf-8")) == {str(project.file): digest}
    assert project.home.trusted.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in project.home.folder.iterdir()) == ["config.yaml", "trusted.json"]


def test_a_changed_file_is_untrusted_again_and_the_same_bytes_are_trusted_again(project: Project) -> None:
    project.load("budget: {max_tool_calls: 500}")
    project.trust()
    config = project.load("budget: {max_tool_calls: 501}")
    assert config.budget.max_tool_calls == 20
    assert (
        config.notes[0]
        == f"{project.file}: changed since it was trusted: it only narrows until sb config trust"
    )
    assert not is_trusted(project.home, project.file)
    assert project.load("budget: {max_tool_calls: 500}").budget.max_tool_calls == 500


def test_trust_in_one_file_is_not_trust_in_its_copy(project: Project) -> None:
    project.load("tools: [a:b]")
    project.trust()
    copy = project.folder / "sub" / "sb.yaml"
    copy.parent.mkdir()
    copy.write_bytes(project.file.read_bytes())
    assert not is_trusted(project.home, copy)
    assert load_config(env=project.env, cwd=copy.parent, flags={}).tools == ()


def test_a_file_that_changed_after_it_was_shown_is_not_trusted(project: Project) -> None:
    project.load("tools: [shown:one]")
    shown = project.trust()
    project.load("tools: [swapped:in]")
    with pytest.raises(ConfigError, match="has changed since it was shown"):
        project.trust(shown)
    assert project.load().tools == ()


def make_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def make_dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def make_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 31)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (make_link, "is a symbolic link"),
        (make_dangling, "is a symbolic link"),
        (make_huge, "is larger than 1.0 MiB"),
        (os.mkfifo, "is not a regular file"),
        (Path.mkdir, "is a folder, not a file"),
    ],
)
def test_a_hostile_project_file_is_refused_and_cannot_be_trusted(
    project: Project, make: Callable[[Path], None], message: str
) -> None:
    make(project.file)
    for attempt in (project.load, project.trust):
        with pytest.raises(ConfigError) as caught:
            attempt()
        assert caught.value.message == f"{project.file}: {message}"
    assert not is_trusted(project.home, project.file)
    assert [str(problem) for problem in check(project.file, project.env)] == [f"{project.file}: {message}"]


@pytest.mark.parametrize("content", ["budget: {", "nonsense: 1", "durability: x"])
def test_a_broken_project_file_stops_the_command_and_cannot_be_trusted(
    project: Project, content: str
) -> None:
    with pytest.raises(ConfigError, match=r"sb\.yaml:1"):
        project.load(content)
    with pytest.raises(ConfigError, match=r"sb\.yaml:1"):
        project.trust()
    assert not project.home.trusted.exists()


def test_only_a_project_file_can_be_trusted(project: Project) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        project.trust()
    (project.folder / "other.yaml").touch()
    with pytest.raises(ConfigError, match="is not a project file"):
        trust(project.home, project.folder / "other.yaml", env=project.env)


@pytest.mark.parametrize("record", ["", "[]", "{", '{"a": 1}', "[" * 100_000])
def test_a_damaged_record_of_trust_is_reported_and_trusts_nothing(project: Project, record: str) -> None:
    project.load("tools: [a:b]")
    project.home.trusted.write_text(record, encoding="utf-8")
    for attempt in (project.load, project.trust, lambda: is_trusted(project.home, project.file)):
        with pytest.raises(ConfigError, match=r"trusted\.json: is damaged"):
            attempt()


def test_what_an_agent_wrote_cannot_command_the_terminal(project: Project) -> None:
    folder = project.folder / "a\x1b[2J\u202eb"
    folder.mkdir()
    (folder / "sb.yaml").write_text("tools: [a:b]\nfiles: {roots: ['.']}", encoding="utf-8")
    config = load_config(env=project.env, cwd=folder, flags={})
    assert config.notes[0].startswith(f"{project.folder}/ab/sb.yaml:1: tools: ignored")
    assert not any(mark in line for line in config.notes for mark in "\x1b\u202e")


FOLDERS = ["/srv", "/srv/a", "/srv/a/b", "/srv/ab", "/opt", "/opt/x", "/"]


def lists(values: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(values), max_size=3, unique=True).map(json.dumps)


VALUES: dict[str, st.SearchStrategy[object]] = {
    "durability": st.sampled_from(DURABILITIES),
    "contract_enforcement": st.sampled_from(ENFORCEMENTS),
    "safety_mode": st.sampled_from(SAFETY_MODES),
    "max_args_bytes": st.integers(1, 3_000_000),
    "budget.max_tool_calls": st.integers(1, 40),
    "budget.max_cost_usd_cents": st.sampled_from(["0.5", "5", "10.0", "11.25"]),
    "files.roots": lists(FOLDERS),
    "files.keep_max_bytes": st.integers(1, 10_000_000),
    "http.allow": lists(
        ["a.b.c", "*.b.c", "*.a.b.c", "x.a.b.c:443", "a.b.c:8080", "*.b.c:8080", "c", "[::1]:8080"]
    ),
    "shell.env": lists(["PATH", "LANG", "TZ", "HOME", "X"]),
    "telemetry.arguments": st.sampled_from(["true", "false"]),
    "tools": lists(["a:b", "c.d:e"]),
    "agents": st.sampled_from(["{}", "{a: {ceiling: network}}"]),
    "audit.retention_days": st.integers(0, 9),
}
contents = st.fixed_dictionaries({}, optional=VALUES)
BOTH = ("files.roots", "http.allow")
contents_with_both = st.fixed_dictionaries(
    {key: VALUES[key] for key in BOTH},
    optional={key: values for key, values in VALUES.items() if key not in BOTH},
)


def as_yaml(values: dict[str, object]) -> str:
    grouped: dict[str, list[str]] = {}
    for key, value in values.items():
        group, _, name = key.rpartition(".")
        grouped.setdefault(group, []).append(f"{'  ' if group else ''}{name}: {value}")
    blocks = [f"{group}:" if group else "" for group in grouped]
    return "\n".join("\n".join((head, *lines)) for head, lines in zip(blocks, grouped.values(), strict=True))


def pairs(config: Config) -> Iterator[tuple[str, int]]:
    for host in ("a.b.c", "x.a.b.c", "y.x.a.b.c", "q.b.c", "c", "::1"):
        for port in (80, 443, 8080):
            if any(pattern.matches(host, port) for pattern in config.http.allow):
                yield host, port


def reached(config: Config) -> set[str]:
    return {
        folder for folder in FOLDERS if any(Path(folder).is_relative_to(root) for root in config.files.roots)
    }


@given(contents, contents)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_an_untrusted_file_never_gives_a_wider_value_than_the_home(
    project: Project, home: dict[str, object], asked: dict[str, object]
) -> None:
    project.file.unlink(missing_ok=True)
    before = project.load(home=as_yaml(home))
    after = project.load(as_yaml(asked))
    for names, key in (
        (DURABILITIES, "durability"),
        (ENFORCEMENTS, "contract_enforcement"),
        (SAFETY_MODES, "safety_mode"),
    ):
        assert names.index(after.get(key)) >= names.index(before.get(key))
    for key in (
        "max_args_bytes",
        "budget.max_tool_calls",
        "budget.max_cost_usd_cents",
        "files.keep_max_bytes",
    ):
        assert after.get(key) <= before.get(key)
    assert reached(after) <= reached(before)
    assert set(pairs(after)) <= set(pairs(before))
    assert set(after.shell.env) <= set(before.shell.env)
    assert after.telemetry.arguments <= before.telemetry.arguments
    for key in ("tools", "agents", "audit.retention_days", "database"):
        assert after.get(key) == before.get(key)
        assert (key in asked) == any(f" {key}: ignored" in note for note in after.notes)


@given(contents, contents_with_both)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_what_an_untrusted_file_gets_is_all_that_both_allow(
    project: Project, home: dict[str, object], asked: dict[str, object]
) -> None:
    project.file.unlink(missing_ok=True)
    before = project.load(home=as_yaml(home))
    after = project.load(as_yaml(asked))
    project.file.unlink()
    alone = project.load(home=as_yaml(asked))
    assert reached(after) == reached(before) & reached(alone)
    assert set(pairs(after)) == set(pairs(before)) & set(pairs(alone))
