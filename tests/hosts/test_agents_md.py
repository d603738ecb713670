"""`sb install agents-md` on real files: one section, in its place, taken out again to the byte."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.cli import load
from sb.config.home import Home
from sb.errors import ConfigError
from sb.hosts.agents_md import BEGIN, END, FILE, plan_install, plan_removal, write
from sb.hosts.install.files import FileChange
from tests.conftest import CommandLine

LINES = st.lists(st.sampled_from(["", "# Rules", "\ttabs", "é", BEGIN[5:]]), max_size=4)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    monkeypatch.chdir(folder / "src")
    return folder


@given(lines=LINES, newline=st.sampled_from(["\n", "\r\n", "\r"]), mark=st.booleans(), ends=st.booleans())
def test_any_file_is_restored_to_the_byte(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], newline: str, mark: bool, ends: bool
) -> None:
    folder = tmp_path_factory.mktemp("project")
    before = (newline.join(lines) + newline * ends).encode("utf-8-sig" if mark else "utf-8")
    (folder / FILE).write_bytes(before)
    (folder / FILE).write_bytes(plan_install(folder).after or b"")
    assert (folder / FILE).read_bytes().count(END.encode()) == 1
    assert not plan_install(folder).needed
    assert plan_removal(folder).after == before


def test_section_goes_into_the_root_of_the_project_and_out_again(project: Path, sb: CommandLine) -> None:
    file = project / FILE
    assert "+## SecondBrain" in sb("install", "agents-md", "--dry-run").out
    assert not file.exists()
    assert "needs a terminal, or --yes" in sb("install", "agents-md").err
    assert sb("install", "agents-md", "--yes").out.endswith("now has the section of sb\n")
    assert sb("install", "agents-md", "--yes").out == f"{file} already has the section of sb\n"
    assert sb("uninstall", "agents-md", "--yes", "--json").json["items"][0]["changed"] is True
    assert not file.exists()
    assert sb("uninstall", "agents-md", "--yes").out == f"no section of sb in {file}\n"


def test_other_folder_is_named_and_has_to_exist(project: Path, tmp_path: Path, sb: CommandLine) -> None:
    done = sb("install", "agents-md", "--project", str(tmp_path), "--yes", "--json").json
    assert (done["host"], done["file"]) == ("agents-md", str(tmp_path / FILE))
    refused = sb("install", "agents-md", "--project", str(tmp_path / "nowhere"), "--yes")
    assert refused.code == 2
    assert "no such folder" in refused.err
    assert not (project / FILE).exists()


@pytest.mark.parametrize(
    "line",
    ["install agents-md --mcp", "uninstall agents-md --purge", "install claude-code --project ."],
)
def test_options_of_the_other_kind_are_refused(project: Path, sb: CommandLine, line: str) -> None:
    assert sb(*line.split(), "--yes").code == 2
    assert not (project / FILE).exists()


def test_outdated_section_is_renewed_in_its_place(project: Path) -> None:
    (project / FILE).write_text(f"before\n\n{BEGIN}\nof an earlier version\n{END}\nafter\n", "utf-8")
    renewed = (plan_install(project).after or b"").decode()
    assert renewed.startswith(f"before\n\n{BEGIN}\n## SecondBrain")
    assert renewed.endswith(f"{END}\nafter\n")
    assert plan_removal(project).after == b"before\nafter\n"


@pytest.mark.parametrize(
    "text", [BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}\n{END}\n{BEGIN}", f"{BEGIN}\n{BEGIN}\n{END}"]
)
def test_damaged_markers_are_refused_with_their_line(project: Path, text: str) -> None:
    (project / FILE).write_text(f"mine\n{text}\n", "utf-8")
    for plan in (plan_install, plan_removal):
        with pytest.raises(ConfigError, match=r"line \d: the markers of sb's section are damaged"):
            plan(project)


def test_link_stays_and_a_file_changed_meanwhile_is_left(project: Path, home: Path) -> None:
    (project / "CLAUDE.md").write_text("mine\n", "utf-8")
    (project / FILE).symlink_to("CLAUDE.md")
    change = plan_install(project)
    write(Home(home), change)
    assert (project / FILE).is_symlink()
    assert END in (project / "CLAUDE.md").read_text("utf-8")
    with pytest.raises(ConfigError, match="changed by another process"):
        write(Home(home), change)


@pytest.mark.parametrize("plan", [plan_install, plan_removal])
def test_link_out_of_the_project_is_not_followed(project: Path, plan: Callable[[Path], FileChange]) -> None:
    (project / FILE).symlink_to("../.profile")
    with pytest.raises(ConfigError, match=r"a link to .*\.profile, outside the project"):
        plan(project)


def test_commands_of_the_section_exist_with_their_options(project: Path) -> None:
    section = (plan_install(project).after or b"").decode()
    lines = re.findall(r"`(sb [^`]+)`", section)
    assert len(lines) >= 8
    for line in lines:
        command, *words = shlex.split(line)[1:]
        found = load(command)
        if words and words[0] in getattr(found, "commands", {}):
            found = found.commands[words[0]]
        known = {option for parameter in found.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, line
