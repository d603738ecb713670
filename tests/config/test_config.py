"""Where settings come from, and what a configuration file may not say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.base.reading import Report
from sb.config import (
    SETTINGS,
    Config,
    Home,
    Setting,
    check,
    current_settings,
    load_config,
    render_example,
    render_table,
)
from sb.config.document import MAX_DEPTH, MAX_NODES, parse_document
from sb.config.kinds import CEILINGS, TOOL_ID
from sb.config.model import SAFETY_MODES
from sb.config.sources import MAX_BYTES
from sb.errors import ConfigError, ExitCode
from sb.kernel import contracts, run_context
from tests.rows import rows

ROOT = Path(__file__).parents[2]


VALUES = """\
contract_enforcement: off
budget:
  max_tool_calls: 1_000
  max_cost_usd_cents: 0.5
files: {roots: [data, ~//work, ~, /srv/../srv]}
http: {allow: [Example.org, '*.example.org:8443']}
tools: [my.tools:register]
agents:
  a.b: {tools: [files.read], ceiling: network, permissions: [mail]}
  idle: {}
telemetry: {arguments: true}
"""


class Place:
    """A home and a folder to work in, both in the test's own temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.cwd = folder / "work"
        self.home.mkdir(mode=0o700)
        (self.cwd / ".git").mkdir(parents=True)  # no search for a project beyond the test's own folder
        self.env = {"SB_HOME": str(self.home), "HOME": str(folder / "user")}

    @property
    def file(self) -> Path:
        return self.home / "config.yaml"

    def load(self, content: str | bytes = "", flags: dict[str, object] | None = None) -> Config:
        self.file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load_config(env=self.env, cwd=self.cwd, flags=flags or {})

    def refusal(self, content: str | bytes) -> ConfigError:
        with pytest.raises(ConfigError) as caught:
            self.load(content)
        return caught.value


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_without_any_file_every_setting_is_at_its_default(place: Place) -> None:
    config = load_config(env=place.env, cwd=place.cwd, flags={})
    assert config.database == place.home / "brain.db"
    assert (config.durability, config.contract_enforcement, config.safety_mode) == (
        "process",
        "enforce",
        "normal",
    )
    assert config.budget.max_tool_calls == 20
    assert config.files.roots == ()
    assert config.shell.env == ("PATH", "LANG", "LC_ALL", "TZ")
    assert {config.origin(row.key) for row in SETTINGS} == {"default"}
    assert config.notes == ()
    assert list(place.home.iterdir()) == []


def test_a_missing_home_is_not_created_by_loading(tmp_path: Path) -> None:
    config = load_config(env={"SB_HOME": str(tmp_path / "none")}, cwd=tmp_path, flags={})
    assert config.database == tmp_path / "none" / "brain.db"
    assert not (tmp_path / "none").exists()


def test_values_of_the_file_are_typed_and_know_their_line(place: Place) -> None:
    config = place.load(VALUES)
    user = Path(place.env["HOME"])
    assert config.contract_enforcement == "off"
    assert (config.budget.max_tool_calls, config.budget.max_cost_usd_cents) == (1000, 0.5)
    assert config.files.roots == (place.home / "data", user / "work", user, Path(os.path.realpath("/srv")))
    assert [str(pattern) for pattern in config.http.allow] == ["example.org", "*.example.org:8443"]
    assert config.agents["a.b"].tools == ("files.read",)
    assert (config.agents["idle"].tools, config.agents["idle"].ceiling) == ((), "read_only")
    assert config.tools == ("my.tools:register",)
    assert config.telemetry.arguments is True
    assert config.origin("budget.max_tool_calls") == f"{place.file}:3"
    assert config.origin("agents") == f"{place.file}:8"
    assert config.origin("database") == "default"


def test_a_flag_counts_before_the_environment_and_that_before_the_file(place: Place) -> None:
    content = "database: from_file.db\n"
    config = place.load(content)
    assert (config.database, config.origin("database")) == (place.home / "from_file.db", f"{place.file}:1")
    place.env["SB_DB"] = "from_env.db"
    config = place.load(content, {"database": None})
    assert (config.database, config.origin("database")) == (place.cwd / "from_env.db", "SB_DB")
    config = place.load(content, {"database": Path("/else/x.db")})
    assert (config.database, config.origin("database")) == (Path("/else/x.db"), "--db")
    assert config.home.folder == place.home


def test_an_empty_variable_counts_as_none(place: Place) -> None:
    place.env["SB_DB"] = ""
    assert place.load().origin("database") == "default"
    user = Path(place.env["HOME"])
    assert Home.locate({"HOME": str(user), "SB_HOME": ""}).folder == user / ".sb"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"databse": "x"}, "no setting 'databse' (did you mean \"database\"?)"),
        ({"max_args_bytes": 5}, "max_args_bytes has no flag"),
        ({"database": ""}, "--db: database: must be a path, not nothing"),
        ({"database": "a\x1b[2Jb"}, "--db: database: 'ab' is not a path"),
    ],
)
def test_a_wrong_flag_is_refused(place: Place, flags: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        place.load("", flags)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({"SB_HOME": "here"}, "SB_HOME is 'here', must be an absolute path or begin with ~/"),
        ({"SB_HOME": "~root/x"}, "SB_HOME: ~root is another user's home"),
        ({"SB_HOME": "/a\nb"}, "SB_HOME: '/a b' is not a path"),
        ({"HOME": "here"}, "SB_HOME: no home folder: HOME is not an absolute path"),
    ],
)
def test_a_home_that_cannot_be_meant_is_refused(tmp_path: Path, env: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(env=env, cwd=tmp_path, flags={})
    assert caught.value.message == message


def test_a_home_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    home = Home(tmp_path / "a" / "b")
    home.create()
    assert home.folder.stat().st_mode & 0o777 == 0o700
    home.create()
    assert home.exposure() == ""


def test_a_home_that_others_can_write_to_is_refused_and_one_that_they_can_read_is_noted(place: Place) -> None:
    place.home.chmod(0o755)
    assert place.load().notes == (f"{place.home}: other users can read it; chmod 700 {place.home}",)
    place.home.chmod(0o770)
    assert place.refusal("").message == f"{place.home}: other users can write to it"


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for home in (Home(tmp_path / "file"), Home(tmp_path / "file" / "below")):
        with pytest.raises(ConfigError):
            home.create()


BAD_FILES: dict[str | bytes, str] = {
    "nonsense: 1": ":1: nonsense: unknown key",
    "\nbuget: {}": ':2: buget: unknown key (did you mean "budget"?)',
    "budget:\n  max_tool_cals: 1": ':2: budget.max_tool_cals: unknown key (did you mean "max_tool_calls"?)',
    "max_tool_calls: 3": ":1: max_tool_calls: unknown key",
    "budget.max_tool_calls: 3": ":1: budget.max_tool_calls: unknown key",
    "budget: 3": ":1: budget: must be a mapping of settings, not 3",
    "budget: {max_tool_calls: 0}": ":1: budget.max_tool_calls: must be a whole number from 1 to 1,000,000,000, not 0",
    "budget: {max_tool_calls: -1}": "not -1",
    "budget: {max_tool_calls: 010}": "not 010",
    "budget: {max_tool_calls: 1.0}": "not 1.0",
    "budget: {max_tool_calls: '5'}": 'not "5" in quotes',
    "budget: {max_tool_calls: true}": "not true",
    "budget:\n  max_tool_calls:\n": ":2: budget.max_tool_calls: must be a whole number from 1 to 1,000,000,000, not nothing",
    f"budget: {{max_tool_calls: {'9' * 5000}}}": "not 9999",
    "budget: {max_cost_usd_cents: .inf}": "must be a number from 0.01 to 1,000,000,000, not .inf",
    "budget: {max_cost_usd_cents: 1e3}": "not 1e3",
    f"budget: {{max_cost_usd_cents: {'9' * 400}}}": "must be a number",
    "durability: fast": ":1: durability: must be process or power, not fast",
    "telemetry: {arguments: yes}": ":1: telemetry.arguments: must be true or false, not yes",
    "tools: a:b": ":1: tools: must be a list, not a:b",
    "tools: [a:b, a:b]": ":1: tools: a:b is listed twice",
    "tools: [a.b]": ":1: tools: must be module:function, not a.b",
    "tools: [{a: b}]": "not a mapping",
    "files:\n  roots:\n    - /a\n    - ''": ':4: files.roots: must be a path, not ""',
    "files: {roots: [~root]}": ":1: files.roots: ~root is another user's home",
    "http: {allow: ['http://x']}": ':1: http.allow: must be host, *.host or host:port, not "http://x"',
    "http: {allow: ['*']}": "http.allow",
    "http: {allow: ['a..b']}": "http.allow",
    "http: {allow: ['a:0']}": "http.allow",
    "http: {allow: ['a:65536']}": "http.allow",
    "http: {allow: ['*.com']}": ':1: http.allow: must be host, *.host or host:port, not "*.com"',
    "http: {allow: [a.b, A.B.]}": ":1: http.allow: A.B. is listed twice",
    "http: {max_bytes: 0}": ":1: http.max_bytes: must be a number of bytes from 1 to",
    "http: {allow: ['ex\u212aample.org']}": "http.allow",
    "files: {max_read_bytes: -1}": ":1: files.max_read_bytes: must be a number of bytes from 1 to",
    "files: {keep_max_bytes: 0}": ":1: files.keep_max_bytes: must be a number of bytes from 1 to",
    "shell: {max_output_bytes: 0}": ":1: shell.max_output_bytes: must be a number of bytes from 1 to",
    "shell: {env: [A=B]}": ":1: shell.env: must be the name of an environment variable, not A=B",
    "agents: [a]": ":1: agents: must be a mapping of agents by name, not a list",
    "agents:\n  a:": ":2: agents.a: must be a mapping, not nothing",
    "agents: {a: {tool: [x]}}": ':1: agents.a.tool: unknown key (did you mean "tools"?)',
    "agents: {a: {tools: []}}": ":1: agents.a.tools: an empty list would allow every tool",
    "agents: {a: {tools: [X]}}": ":1: agents.a.tools: must be a tool id, not X",
    "agents: {a: {ceiling: root}}": ":1: agents.a.ceiling: must be read_only, local_write, network or destructive",
    "memory: {scopes: [team:web]}": ":1: memory.scopes: must be a mapping of scopes, such as customer:*, to read, write",
    "memory: {scopes: {shop: {includes: [team:web]}}}": ":1: memory.scopes.shop: is no scope, and no pattern such as project:*",
    "memory:\n  scopes:\n    project:shop: team:web": ":3: memory.scopes.project:shop: must be a mapping of its rules, not",
    "memory:\n  scopes:\n    project:shop:\n      includes: team:web": ":4: memory.scopes.project:shop.includes: must be a list, not team:web",
    "memory: {scopes: {'project:*': {includes: [web]}}}": ":1: memory.scopes.project:*.includes: must be global, or TYPE:NAME such as",
    "memory: {scopes: {'*': {readers: [a]}}}": ':1: memory.scopes.*.readers: unknown key (did you mean "read"?)',
    "memory: {scopes: {'*': {retention: soon}}}": ":1: memory.scopes.*.retention: 'soon' is not a duration",
    "memory: {scopes: {'*': {retention: {event: soon}}}}": ":1: memory.scopes.*.retention.event: 'soon' is not a duration",
    "memory: {scopes: {'*': {gate: {lessen: {}}}}}": ':1: memory.scopes.*.gate.lessen: is no category (did you mean "lesson"?)',
    "memory:\n  access: {'*': {read: [a]}}": ":2: memory.access: is now part of memory.scopes",
    "memory: {trust_floor: 0.5}": ":1: memory.trust_floor: is now part of memory.scopes",
    "durability: power\ndurability: process": ":2: durability: is set twice, first on line 1",
    "budget: {max_tool_calls: 1, max_tool_calls: 2}": ":1: budget.max_tool_calls: is set twice, first on line 1",
    "? [a]\n: b": ":1: a key must be a name, not a list",
    "- a": ":1: must be a mapping of settings, not a list",
    "text": ":1: must be a mapping of settings, not text",
    "a: 1\n---\nb: 2": ":2: has a second document",
    "budget:\n\tmax_tool_calls: 1": ":2: has a tab",
    "budget: {": ": invalid YAML",
    "a: b: c": ":1: invalid YAML",
    "http:\n  allow: [*.example.org]": ":2: invalid YAML",
    "a: &x [1]\nb: *x": ":1: anchors (&) and aliases (*) are not used here",
    "files: !!python/object/apply:os.system [x]": ":1: tags (!) are not used here",
    "durability: !!str power": ":1: tags (!) are not used here",
    'durability: "\\e[31m"': ":1: a value has a line break, a tab or an invisible character",
    "durability: |\n  a\n  b": "a value has a line break",
    "# \u202e gnidaer": ":1: has a control character or an invisible one",
    "a: \x00": ":1: has a control character or an invisible one",
    'a: "\\UFFFFFFFF"': ": invalid YAML",
    b"\n\xff": ":2: is not UTF-8 text",
    "a: 1\n".encode("utf-16"): ":1: is not UTF-8 text",
    "tools: " + "[" * (MAX_DEPTH + 2): f":1: is nested deeper than {MAX_DEPTH} levels",
    "tools: [" + "a," * MAX_NODES + "]": f":1: has more than {MAX_NODES:,} values",
    b"#" * (MAX_BYTES + 1): ": is larger than 1.0 MiB",
}


@rows("content, message", BAD_FILES.items())
def test_a_bad_file_is_refused_with_file_line_and_key(
    place: Place, content: str | bytes, message: str
) -> None:
    error = place.refusal(content)
    assert error.message.startswith(str(place.file))
    assert message in error.message
    assert "\n" not in error.message + error.hint
    assert len(error.message) < 400
    assert error.exit_code is ExitCode.USAGE


def test_without_the_c_parser_the_same_files_are_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    for content, message in BAD_FILES.items():
        assert message in place.refusal(content).message
    assert place.load(VALUES).budget.max_tool_calls == 1000


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("max_tool_calls: 3", "write budget: and, indented on the next line, max_tool_calls:"),
        ("budget: {x: 3}", "known here: max_tool_calls, max_retries_per_tool"),
        ("http:\n  allow: [*.example.org]", 'in quotes: "*.example.org"'),
        ("http:\n  allow: [*example]", 'in quotes: "*.example.org"'),
        ("http: {allow: ['::1']}", 'an IPv6 address as "[::1]"'),
        ("http: {allow: ['*.com']}", "after *. a domain with a dot"),
        ("tools: a:b", "write it as [one, other]"),
        ("budget:\n\tx: 1", "indent with spaces"),
    ],
)
def test_a_refusal_says_what_to_do(place: Place, content: str, hint: str) -> None:
    assert hint in place.refusal(content).hint


@pytest.mark.parametrize(
    "content", ["", "# only a comment\n", "---\n", "\ufeff# a byte order mark\r\nbudget:\r\n", "{}"]
)
def test_an_empty_file_is_fine(place: Place, content: str) -> None:
    assert {place.load(content).origin(row.key) for row in SETTINGS} == {"default"}


def make_folder(path: Path) -> None:
    path.mkdir()


def make_loop(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (make_folder, "is a folder, not a file"),
        (os.mkfifo, "is not a regular file"),
        (make_loop, "cannot be read: Too many levels of symbolic links"),
    ],
)
def test_what_is_not_a_readable_file_is_refused(
    place: Place, make: Callable[[Path], None], message: str
) -> None:
    make(place.file)
    with pytest.raises(ConfigError) as caught:
        load_config(env=place.env, cwd=place.cwd, flags={})
    assert caught.value.message == f"{place.file}: {message}"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_refused(place: Place) -> None:
    place.file.touch(mode=0o000)
    with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
        load_config(env=place.env, cwd=place.cwd, flags={})


def test_all_problems_are_listed_by_check_and_counted_by_load(place: Place) -> None:
    content = "durability: x\nbudget:\n  max_tool_calls: x\n  y: 1\nagents: {a: {ceiling: x, z: 1}}\ntools: [x, y]\n"
    error = place.refusal(content)
    problems = check(place.file, place.env)
    assert [problem.line for problem in problems] == [1, 3, 4, 5, 5, 6, 6]
    assert [problem.key for problem in problems][2:5] == ["budget.y", "agents.a.ceiling", "agents.a.z"]
    assert error.message == f"{problems[0]} (and 6 more)"
    assert [str(problem) for problem in check(place.home / "none.yaml", place.env)] == [
        f"{place.home}/none.yaml: does not exist"
    ]


def test_a_dotfile_manager_may_link_the_file_in_the_home(place: Place, tmp_path: Path) -> None:
    (tmp_path / "dotfile").write_text("files: {roots: [data]}", encoding="utf-8")
    place.file.symlink_to(tmp_path / "dotfile")
    config = load_config(env=place.env, cwd=place.cwd, flags={})
    assert config.files.roots == (place.home / "data",)


@given(
    st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
@settings(deadline=None)
def test_arbitrary_bytes_are_parsed_or_reported(data: bytes) -> None:
    report = Report("file")
    table = parse_document(data, report)
    assert isinstance(table, dict)
    assert all("\n" not in str(problem) for problem in report.problems)


names = st.sampled_from(
    [row.key for row in SETTINGS] + [row.name for row in SETTINGS] + ["budget", "files", "x"]
)
words = st.sampled_from(
    ["20", "-1", "off", "process", "true", "[a, b]", "{}", "[]", "", "*a", "&a b", "!!int 3", "''"]
)
yaml_files = st.lists(
    st.tuples(
        st.sampled_from(["", "  ", "\t", "- "]),
        names,
        st.sampled_from([": ", ":", " "]),
        words | st.text(max_size=8),
    )
).map(lambda lines: "\n".join("".join(parts) for parts in lines))


@given(yaml_files | st.binary(max_size=80))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_a_file_holds_only_a_config_error_is_raised(place: Place, content: str | bytes) -> None:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    try:
        place.load(data)
        refused = False
    except ConfigError:
        refused = True
    assert refused == bool(check(place.file, place.env))


def test_the_example_file_and_the_reference_are_generated_from_the_table() -> None:
    assert (ROOT / "config.example.yaml").read_text(encoding="utf-8") == render_example()
    reference = (ROOT / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
    _, _, after = reference.partition("<!-- settings: generated by sb.config.render_table -->\n")
    assert after.partition("<!-- /settings -->")[0] == render_table()


def test_the_example_gives_the_defaults_as_it_is_and_with_every_setting_uncommented(place: Place) -> None:
    defaults = load_config(env=place.env, cwd=place.cwd, flags={})
    assert place.load(render_example()) == defaults
    uncommented, number = re.subn(r"^( *)#([a-z_]+:)", r"\1\2", render_example(), flags=re.MULTILINE)
    assert number == len(SETTINGS)
    config = place.load(uncommented)
    assert all(config.origin(row.key) != "default" for row in SETTINGS)
    assert [(setting.key, setting.value) for setting in current_settings(config)] == [
        (setting.key, setting.value) for setting in current_settings(defaults)
    ]


@rows("row", [row for row in SETTINGS if row.example])
def test_the_example_of_a_setting_is_valid(place: Place, row: Setting) -> None:
    line = f"{row.name}: {row.example}\n"
    config = place.load(f"{row.group}:\n  {line}" if row.group else line)
    assert config.get(row.key) != row.default


def test_shown_values_are_plain_json_in_the_order_of_the_table(place: Place) -> None:
    config = place.load(
        "http: {allow: ['*.a.b:1', '[::0:1]']}\nagents: {a: {tools: [x.y]}}\nfiles: {roots: [/a]}\n"
    )
    lines = {line.key: line for line in current_settings(config)}
    assert list(lines) == [row.key for row in SETTINGS]
    assert lines["http.allow"].value == ["*.a.b:1", "[::1]"]
    assert lines["agents"].value == {"a": {"tools": ["x.y"], "ceiling": "read_only", "permissions": []}}
    assert (lines["files.roots"].value, lines["files.roots"].origin) == (["/a"], f"{place.file}:3")
    assert lines["budget.max_cost_usd_cents"].value == 10.0


def test_an_unknown_key_has_no_origin(place: Place) -> None:
    with pytest.raises(ConfigError, match="did you mean"):
        place.load().origin("files.root")


def test_names_that_the_kernel_also_knows_are_the_same_there() -> None:
    assert tuple(contracts.SafetyClass) == CEILINGS
    assert tuple(run_context.SafetyMode) == SAFETY_MODES
    assert TOOL_ID == contracts.TOOL_ID


def test_importing_the_configuration_and_loading_without_a_file_need_no_yaml(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    code = (
        "import sys, pathlib, sb.config as c\n"
        f"c.load_config(env={{'SB_HOME': {str(tmp_path)!r}}}, cwd=pathlib.Path({str(tmp_path)!r}), flags={{}})\n"
        "assert 'yaml' not in sys.modules and 'tempfile' not in sys.modules\n"
        "assert not [name for name in sys.modules if name.startswith('sb.kernel')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(ROOT)})
