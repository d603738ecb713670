"""Credentials that variables of the host put elsewhere are closed there, too, and open to those programs alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sb.hosts.confinement import bubblewrap
from sb.hosts.confinement.credentials import moved_credentials
from sb.hosts.confinement.needs import rows_of
from tests.hosts.confinement.conftest import Place

# A variable, its value below a folder, a file there that it makes a credential, and one that stays open.
MOVED = (
    ("KUBECONFIG", "k/prod.yaml", "k/prod.yaml", "k/other.yaml"),
    ("KUBECONFIG", "k/a.yaml:{area}/k/b.yaml", "k/b.yaml", "k/c.yaml"),
    ("DOCKER_CONFIG", "d", "d/config.json", "d/daemon.txt"),
    ("NETRC", "n", "n", "m"),
    ("XDG_CONFIG_HOME", "x", "x/gh/hosts.yml", "x/gh/config.yml"),
    ("XDG_CONFIG_HOME", "x", "x/gcloud/access_tokens.db", "x/htop/htoprc"),
    ("AWS_SHARED_CREDENTIALS_FILE", "a", "a", "b"),
    ("AWS_CONFIG_FILE", "a", "a", "b"),
    ("GOOGLE_APPLICATION_CREDENTIALS", "key.json", "key.json", "package.json"),
    ("NPM_CONFIG_USERCONFIG", "rc", "rc", "rc2"),
    ("npm_config_userconfig", "rc", "rc", "rc2"),
    ("PIP_CONFIG_FILE", "pip", "pip", "pip2"),
    ("CARGO_HOME", "c", "c/credentials.toml", "c/config.toml"),
    ("GNUPGHOME", "g", "g/private-keys-v1.d/a.key", "g/gpg.conf"),
    ("CLOUDSDK_CONFIG", "s", "s/credentials.db", "t"),
    ("AZURE_CONFIG_DIR", "z", "z/msal_token_cache.json", "z/config"),
    ("GH_CONFIG_DIR", "h", "h/hosts.yml", "h/config.yml"),
    ("PASSWORD_STORE_DIR", "p", "p/mail.gpg", "q"),
)


def made(area: Path, *names: str) -> None:
    for name in names:
        path = area / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("TOKEN\n", encoding="utf-8")


@pytest.mark.parametrize(("variable", "value", "closed", "free"), MOVED)
def test_credential_is_closed_where_the_variable_puts_it(
    variable: str, value: str, closed: str, free: str, place: Place
) -> None:
    area = place.home / "elsewhere"
    made(area, closed, free)
    moved = moved_credentials(str(place.home), {variable: f"{area}/{value.format(area=area)}"})
    done = place.run(f"cat {area}/{closed}", place.profile(usual=moved))
    assert "Permission denied" in done.stderr
    assert place.run(f"cat {area}/{free}", place.profile(usual=moved)).stdout == "TOKEN\n"
    assert place.run(f"cat {area}/{closed}").stdout == "TOKEN\n", "without the variable"


@pytest.mark.parametrize(
    ("program", "variable", "path"),
    [("kubectl", "KUBECONFIG", "prod.yaml"), ("docker", "DOCKER_CONFIG", "config.json"), ("gh", "GH_CONFIG_DIR", "hosts.yml"),
     ("aws", "AWS_SHARED_CREDENTIALS_FILE", "a"), ("gh", "XDG_CONFIG_HOME", "gh/hosts.yml")],
)  # fmt: skip
def test_its_program_reads_it_there(program: str, variable: str, path: str, place: Place) -> None:
    area = place.home / "elsewhere"
    made(area, path)
    value = str(area / path) if variable in ("KUBECONFIG", "AWS_SHARED_CREDENTIALS_FILE") else str(area)
    moved = moved_credentials(str(place.home), {variable: value})
    assert str(area / path) in place.profile(usual=moved).unreadable
    assert str(area / path) not in place.profile(rows_of([program]), usual=moved).unreadable
    assert str(area / path) in place.profile(rows_of(["psql"]), usual=moved).unreadable


def test_what_is_in_the_project_stays_readable(place: Place) -> None:
    made(place.project, "kube.yaml", ".docker/config.json")
    env = {"KUBECONFIG": f"{place.project}/kube.yaml", "DOCKER_CONFIG": f"{place.project}/.docker"}
    profile = place.profile(usual=moved_credentials(str(place.home), env))
    assert not [path for path in profile.unreadable if path.startswith(f"{place.project}/")]
    around = place.home / "around"
    made(around, "shop/a.gpg")
    moved = moved_credentials(str(place.home), {"PASSWORD_STORE_DIR": str(around)})
    assert str(around) in place.profile(usual=moved).unreadable
    assert str(around) not in place.profile(usual=moved, project=str(around / "shop")).unreadable


def test_value_that_names_no_credential_closes_nothing(place: Place) -> None:
    home = str(place.home)
    folders = ("GNUPGHOME", "PASSWORD_STORE_DIR", "XDG_CONFIG_HOME", "CURL_HOME", "CARGO_HOME")
    for value in ("/dev/null", "/", home, os.path.dirname(home), "relative", "", f"{home}/missing"):
        env = dict.fromkeys((*folders, "KUBECONFIG", "NETRC"), value)
        assert moved_credentials(home, env) == {}, value


def test_usual_place_is_named_by_a_variable_as_well(place: Place) -> None:
    made(place.home, ".config/gh/hosts.yml")
    env = {"XDG_CONFIG_HOME": f"{place.home}/.config", "GH_CONFIG_DIR": f"{place.home}/.config/gh"}
    assert moved_credentials(str(place.home), env) == {}
    assert str(place.home / ".config/gh/hosts.yml") in place.profile().unreadable


def test_link_is_followed_to_the_credential(place: Place) -> None:
    made(place.home, "real/token")
    (place.home / "link").symlink_to(place.home / "real" / "token")
    moved = moved_credentials(str(place.home), {"NETRC": f"{place.home}/link"})
    assert list(moved) == [os.path.realpath(place.home / "real" / "token")]
    assert bubblewrap.find()
