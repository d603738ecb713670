"""A user's home with a project, and commands that run there in confinement under the real engine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from sb.hosts.confinement import bubblewrap
from sb.hosts.confinement.credentials import credentials_of
from sb.hosts.confinement.needs import Need
from sb.hosts.confinement.profile import Grounds, Profile, make_profile
from sb.hosts.confinement.sockets import control_sockets
from sb.shell.places.guarded import Guarded

GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
}
GIT |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "PATH": os.environ["PATH"]}


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, env=GIT, check=True, capture_output=True)


@dataclass
class Place:
    """Args: home: of the user. project: a repository in it."""

    home: Path
    project: Path

    @property
    def sb_home(self) -> Path:
        return self.home / ".sb"

    def grounds(self, **changed: object) -> Grounds:
        facts: dict[str, object] = {
            "home": str(self.home),
            "project": str(self.project),
            "own": [str(self.sb_home)],
            "private": [str(self.sb_home / "keys"), str(self.sb_home / "confine")],
            "guarded": Guarded(),
            "temporary": (),
            "credentials": credentials_of(str(self.home)),
            "sockets": list(control_sockets(str(self.home), {}, os.getuid(), str(self.sb_home / "helper"))),
        }
        return Grounds(**{**facts, **changed})  # type: ignore[arg-type]

    def profile(self, needs: Sequence[Need] = (), opened: Sequence[Path] = (), **changed: object) -> Profile:
        return make_profile(self.grounds(**changed), needs, [str(path) for path in opened])

    def run(
        self, command: str, profile: Profile | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """A command line, run as an agent's: confined, with this home."""
        denied = self.sb_home / "confine" / "denied"
        bubblewrap.make_denied(denied)
        options = bubblewrap.arguments(profile or self.profile(), denied)
        return subprocess.run(
            [bubblewrap.find(), *options, "bash", "-c", command],
            cwd=cwd or self.project,
            env={**GIT, "HOME": str(self.home)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    home = tmp_path / "user"
    place = Place(home, home / "shop")
    for folder in (place.sb_home / "keys", home / ".ssh", home / ".claude", place.project / ".claude"):
        folder.mkdir(parents=True)
    (place.sb_home / "config.yaml").write_text("hooks: {}\n")
    (place.sb_home / "keys" / "operator").write_text("secret")
    (home / ".ssh" / "id_ed25519").write_text("PRIVATE")
    (home / ".ssh" / "id_ed25519.pub").write_text("public")
    (home / ".claude" / "settings.json").write_text("{}")
    (home / "notes.md").write_text("mine\n")
    git(place.project.parent, "init", "-q", str(place.project))
    (place.project / "cart.py").write_text("total = 0\n")
    git(place.project, "add", ".")
    git(place.project, "commit", "-qm", "begin")
    return place
