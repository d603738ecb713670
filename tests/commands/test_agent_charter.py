"""`sb agent charter`, as a person uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import CommandLine
from tests.kernel.boundaries.conftest import CLERK


@pytest.fixture
def charter(home: Path, sb: CommandLine) -> Path:
    sb("init")
    path = home / "charters" / "clerk.yaml"
    path.parent.mkdir()
    path.write_text(CLERK, encoding="utf-8")
    return path


def test_a_charter_is_listed_approved_and_checked(sb: CommandLine, charter: Path) -> None:
    assert sb("agent", "charter", "check", "clerk").code == 1
    done = sb("agent", "charter", "approve", "clerk", "--yes", "--reason", "reviewed")
    assert (done.code, "the charter of clerk is approved by" in done.out) == (0, True)
    assert sb("agent", "charter", "check").out.splitlines()[-1] == "ok: 1 charter"
    assert sb("agent", "charter", "list", "--json").json["items"][0]["state"] == "approved"
    allowed = sb("agent", "charter", "check", "clerk", "--intent", "refund.issue")
    refused = sb("agent", "charter", "check", "clerk", "--intent", "refund.large")
    assert (allowed.code, refused.code) == (0, 4)
    assert "denies intent refund.large" in refused.out
    charter.write_text(CLERK.replace("note.read", "note.write"), encoding="utf-8")
    shown = sb("agent", "charter", "show", "clerk").out
    assert "clerk: changed" in shown
    assert "allowed_intents" in shown.split("changes since approval:")[1]
    again = sb("agent", "charter", "approve", "clerk", "--yes", "--reason", "reviewed")
    assert (again.code, "its version is 1.0.0 as before" in again.err) == (2, True)
    assert (
        sb("log", "tail", "--kind", "contract.baseline.changed").out.count("approved the charters of clerk")
        == 1
    )


def test_what_is_wrong_is_one_line_with_file_and_line(sb: CommandLine, charter: Path) -> None:
    charter.write_text(CLERK.replace("owner", "owned_by"), encoding="utf-8")
    done = sb("agent", "charter", "check")
    assert done.code == 1
    assert done.out.splitlines()[0].endswith('clerk.yaml:3: owned_by: unknown key (did you mean "owner"?)')
    approved = sb("agent", "charter", "approve", "clerk", "--yes")
    assert (approved.code, approved.err.count("\n") <= 2) == (2, True)


@pytest.mark.parametrize("agent", ["clark", "../x"])
def test_an_agent_without_a_charter_is_named(sb: CommandLine, charter: Path, agent: str) -> None:
    done = sb("agent", "charter", "show", agent)
    assert (done.code, "Traceback" in done.err) == (1, False)


def test_what_charters_approved_holds_after_the_first_operator_is_enrolled(
    sb: CommandLine, charter: Path
) -> None:
    sb("agent", "charter", "approve", "clerk", "--yes", "--reason", "reviewed")
    sb("operator", "init", "ana", "--no-passphrase", "--yes")
    assert sb("agent", "charter", "list", "--json").json["items"][0]["state"] == "approved"


def test_a_run_is_held_to_its_charter(sb: CommandLine, charter: Path, home: Path) -> None:
    config = home / "config.yaml"
    config.write_text(config.read_text("utf-8") + "agent_charters: enforce\n", encoding="utf-8")
    charter.write_text(CLERK.replace("[shop]", "[files]"), encoding="utf-8")
    run = ("kernel", "run", "files.read", "--agent", "clerk", "--intent")
    refused = sb(*run, "refund.issue")
    assert (refused.code, "was never approved" in refused.err) == (4, True)
    sb("agent", "charter", "approve", "clerk", "--yes", "--reason", "reviewed")
    assert sb(*run, "refund.large").code == 4
    assert "charter" not in sb(*run, "refund.issue", "--args", '{"path": "x"}').err


def test_memory_commands_of_an_agent_keep_to_its_data_scopes(
    sb: CommandLine, charter: Path, home: Path
) -> None:
    config = home / "config.yaml"
    config.write_text(config.read_text("utf-8") + "agent_charters: enforce\n", encoding="utf-8")
    sb("agent", "charter", "approve", "clerk", "--yes", "--reason", "reviewed")
    save = ("memory", "remember", "a fact of some worth", "--agent", "clerk", "--scope")
    assert sb(*save, "project:shop").code == 0
    done = sb(*save, "project:other")
    assert (done.code, "outside the data scopes" in done.err) == (4, True)


def test_doctor_names_charters_and_sources_that_do_not_count(
    sb: CommandLine, charter: Path, home: Path
) -> None:
    def findings() -> dict[str, str]:
        items = sb("doctor", "--json").json["items"]
        return {item["name"]: item["status"] for item in items if item["name"] in ("charters", "sources")}

    assert findings() == {}
    (home / "config.yaml").write_text("agent_charters: enforce\ncontext_sources: enforce\n", encoding="utf-8")
    (home / "sources.yaml").write_text("wiki: none\n", encoding="utf-8")
    assert findings() == {"charters": "warn", "sources": "fail"}
    sb("agent", "charter", "approve", "clerk", "--yes", "--reason", "reviewed")
    (home / "sources.yaml").unlink()
    assert findings() == {"charters": "ok", "sources": "ok"}
