"""One call of a host is read once: its command line is parsed once, and its paths are followed once."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import sb.shell
from sb.hosts.hooks.calls import context as contexts
from sb.hosts.hooks.calls.context import JudgingContext
from sb.hosts.hooks.event import Finding, GovernedCall, NativeCall
from sb.hosts.hooks.judged_call import JudgedCall
from sb.kernel.calls.call import Ask
from sb.kernel.contracts import SafetyClass
from tests.hosts.hooks.conftest import Host


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The command lines that were parsed for guards, with how often."""
    parsed: Counter[str] = Counter()
    classify = sb.shell.classify

    def counting(line: str, **given: Any) -> Any:
        parsed[line] += 1
        return classify(line, **given)

    monkeypatch.setattr(contexts, "classify", counting)
    return parsed


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The paths whose links were followed, with how often."""
    paths: Counter[str] = Counter()
    realpath = os.path.realpath

    def counting(path: Any, **given: Any) -> Any:
        paths[os.fspath(path)] += 1
        return realpath(path, **given)

    monkeypatch.setattr(os.path, "realpath", counting)
    return paths


@pytest.fixture
def context(tmp_path: Path) -> JudgingContext:
    (tmp_path / "shop").mkdir()
    return JudgingContext(tmp_path / "shop", tmp_path, [tmp_path / ".sb"])


def test_line_that_is_asked_about_is_parsed_once_for_verdict_and_advice(
    host: Host, lines: Counter[str]
) -> None:
    assert "Safer: `git push --force-with-lease`" in host.before("Bash", command="git push --force").reason
    assert lines["git push --force"] == 1


def test_line_of_a_servers_tool_is_parsed_once_for_its_effects_and_its_credentials(
    context: JudgingContext, lines: Counter[str]
) -> None:
    governed = JudgedCall.of(NativeCall("mcp__sh__run", {"command": "cat ~/.ssh/id_rsa"}), context).governed
    assert governed.effects.secrets
    assert lines == {"cat ~/.ssh/id_rsa": 1}


def test_same_line_in_another_folder_is_parsed_again(context: JudgingContext, lines: Counter[str]) -> None:
    call = JudgedCall.of(NativeCall("Bash", {"command": "rm -rf dist"}), context)
    here, home = call.line("rm -rf dist"), call.line("rm -rf dist", context.home)
    assert here.changes != home.changes
    assert lines["rm -rf dist"] == 2


def test_path_of_a_read_is_followed_once_as_it_is_and_once_in_its_shortest_form(
    context: JudgingContext, followed: Counter[str]
) -> None:
    path = str(context.cwd / "a.txt")
    assert JudgedCall.of(NativeCall("Read", {"file_path": path}), context).governed.refused == ""
    assert followed[path] == 2


def test_call_made_elsewhere_is_read_in_that_folder(context: JudgingContext) -> None:
    call = JudgedCall.of(NativeCall("Write", {"file_path": "a.txt"}, cwd="src"), context)
    assert call.governed.paths == (os.path.realpath(context.cwd / "src" / "a.txt"),)


def test_first_refusal_stays_and_questions_add_up() -> None:
    own, later = Ask("mcp_server", "first use"), Ask("outside_confinement", "writes elsewhere")
    call = GovernedCall("host.write", {}, SafetyClass.LOCAL_WRITE, asks=(own,))
    refused = call.after(Finding("too costly", "session_cost")).after(None)
    refused = refused.after(Finding("not confined", asks=(later,)))
    assert (refused.refused, refused.rule) == ("too costly", "session_cost")
    assert refused.asks == (own, later)
