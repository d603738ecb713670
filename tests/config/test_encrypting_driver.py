"""Files that name the key of the database, before the configuration is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.config import organization
from sb.config.encrypting_driver import is_configured
from sb.config.home import Home
from sb.config.trust import trust

KEY = 'database_key: "file:/run/secrets/sb.key"\n'


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    home, project = tmp_path / "home", tmp_path / "project"
    for folder in (home, project):
        folder.mkdir(mode=0o700)
    (project / ".git").mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setattr(organization, "FOLDER", tmp_path / "etc")
    return {"SB_HOME": str(home), "HOME": str(tmp_path)}


@pytest.mark.parametrize(
    ("text", "named"),
    [("", False), ("database_key: none\n", False), (f"# {KEY}", False), (KEY, True)],
)
def test_the_homes_file_counts(env: dict[str, str], text: str, named: bool) -> None:
    Path(env["SB_HOME"], "config.yaml").write_text(text, encoding="utf-8")
    assert is_configured(env) is named


def test_an_organizations_file_counts(env: dict[str, str]) -> None:
    organization.FOLDER.mkdir()
    text = f"organization: acme\nversion: 1\nsettings:\n  {KEY}"
    (organization.FOLDER / "policy.yaml").write_text(text, encoding="utf-8")
    assert is_configured(env)


def test_a_projects_file_counts_once_it_is_trusted_and_until_it_changes(env: dict[str, str]) -> None:
    home, project = Home.locate(env), Path.cwd() / "sb.yaml"
    project.write_text(KEY, encoding="utf-8")
    assert not is_configured(env)
    trust(home, project, env=env)
    assert is_configured(env)
    project.write_text(KEY + "# changed\n", encoding="utf-8")
    assert not is_configured(env)
