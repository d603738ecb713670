"""Contracts that an upgrade changed: `sb doctor --fix` and `sb install` approve those of shipped tools."""

from __future__ import annotations

from pathlib import Path

from sb.kernel.authority.signing import Label
from tests.conftest import CommandLine
from tests.kernel.baselines.test_seeding import REWORDED, changed, first_version


def test_doctor_approves_the_contracts_that_an_upgrade_changed(sb: CommandLine, person: Path) -> None:
    first_version(Label("ada"), "looked at it", REWORDED)
    found = {item["name"]: item for item in sb("doctor", "--json").json["items"]}["baselines"]
    assert (found["status"], found["hint"]) == ("warn", "sb doctor --fix")
    assert "2 contracts of this release not approved" in found["detail"]
    refused = sb("doctor", "--fix")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    fixed = sb("doctor", "--fix", "--yes", "--json").json
    assert [item["tool_id"] for item in fixed["fixed"]] == list(REWORDED)
    assert sb("doctor", "--fix", "--json").json["fixed"] == []
    assert "nothing to fix" in sb("doctor", "--fix").err
    assert not {item["name"]: item for item in fixed["items"]}["baselines"]["hint"]


def test_install_approves_the_contracts_that_an_upgrade_changed(sb: CommandLine, person: Path) -> None:
    first_version(Label("ada"), "looked at it", REWORDED)
    dry = sb("install", "claude-code", "--dry-run", "--json").json
    done = sb("install", "claude-code", "--yes", "--json").json
    assert (dry["contracts"], done["contracts"]) == ([], list(REWORDED))
    assert "sb doctor --fix" not in str(done["next_steps"])


def test_contract_of_an_upgrade_waits_for_the_operator_who_is_enrolled(sb: CommandLine, person: Path) -> None:
    log = first_version(Label("ada"), "looked at it", REWORDED)
    assert sb("operator", "init", "ada", "--no-passphrase").code == 0
    installed = sb("install", "claude-code", "--yes")
    assert "2 contracts of this release must be signed" in installed.err
    assert changed(log) == list(REWORDED)
    assert "approved by ada" in sb("doctor", "--fix", "--yes").out
    assert changed(log) == []
