"""Hooks with a helper: the same answers, each as the process of whoever asks would give it."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from sb.config import load_config
from sb.config.home import Home
from sb.hosts.hooks import main, resident
from sb.resident import wire
from sb.resident.client import Unavailable
from sb.runtime import open_runtime
from tests.resident.conftest import Site

SILENT = (0, b"", b"")


def intents(site: Site, **env: str) -> int:
    with open_runtime(load_config(env=site.env(**env), cwd=site.project, flags={})) as runtime:
        events = runtime.log.events(kind="kernel.tool.dispatch")
        return sum((event.payload or {}).get("phase") == "intent" for event in events)


def test_first_hook_starts_the_helper_which_ends_when_it_is_switched_off(site: Site) -> None:
    alone = site.hook(site.payload("rm -rf /srv/x", "t1"))
    helper = site.ready()
    asked = site.ask(site.payload("rm -rf /srv/x", "t2"))
    helped = site.hook(site.payload("rm -rf /srv/x", "t3"))
    assert asked == (0, alone.stdout, alone.stderr) == (helped.returncode, helped.stdout, helped.stderr)
    assert json.loads(alone.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert resident.running(site.home) == helper
    if os.path.isdir("/proc"):
        environment = Path(f"/proc/{helper.pid}/environ").read_bytes()
        assert b"PATH=/usr/bin:/bin\0" in environment
        assert str(site.home.folder).encode() not in environment  # nor anything else that the hook had
        assert os.readlink(f"/proc/{helper.pid}/cwd") == "/"
        assert {os.readlink(f"/proc/{helper.pid}/fd/{n}") for n in range(3)} == {"/dev/null"}
    site.configure("hooks: {resident: false}\n")
    assert site.ask(site.payload()) == SILENT
    site.gone(helper)


def test_each_request_has_its_own_environment_folder_and_configuration(helped: Site, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    assert helped.ask(helped.payload()) == SILENT
    assert helped.ask(helped.payload(), SB_DB=str(other)) == SILENT
    assert helped.ask(helped.payload()) == SILENT
    assert (intents(helped), intents(helped, SB_DB=str(other))) == (2, 1)
    helped.configure("policy: [{deny: host.shell.*, reason: not today}]\n")
    assert b"not today" in helped.ask(helped.payload())[1]
    helped.configure("nonsense: 1\n")
    assert b"nonsense" in helped.ask(helped.payload())[1]


def test_clients_at_once_are_each_answered(helped: Site) -> None:
    answers: list[tuple[int, bytes, bytes]] = []

    def ask() -> None:
        done = helped.hook(helped.payload())
        answers.append((done.returncode, done.stdout, done.stderr))

    threads = [threading.Thread(target=ask) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [SILENT] * 5
    assert intents(helped) == 5


def test_largest_payload_is_answered(helped: Site) -> None:
    assert wire.LONGEST_PAYLOAD == main.LONGEST_PAYLOAD
    short = helped.payload(hook_event_name="Notification", message="")
    filler = "x" * (wire.LONGEST_PAYLOAD - len(short))
    longest = helped.payload(hook_event_name="Notification", message=filler, use_id="12345678")
    assert len(longest) == wire.LONGEST_PAYLOAD
    assert helped.ask(longest) == SILENT


def test_hook_that_is_switched_off_starts_no_helper(site: Site) -> None:
    assert site.hook(site.payload(), SB_RESIDENT="false").returncode == 0
    assert not site.home.resident.exists()


def test_helper_ends_when_idle_and_when_its_home_is_gone(site: Site) -> None:
    assert site.launch(idle="0.2").wait() == 0
    assert (site.home.resident / resident.SECRET).exists()  # so it could be asked
    assert not (site.home.resident / resident.SOCKET).exists()
    assert resident.running(site.home) is None
    with pytest.raises(Unavailable) as caught:
        site.ask(site.payload())
    assert caught.value.startable


def test_helper_and_its_files_go_with_the_installation(site: Site) -> None:
    site.begin()
    resident.remove(site.home)
    assert resident.running(site.home) is None
    assert not site.home.resident.exists()
    assert not resident.stop(site.home)


def test_path_too_long_for_a_socket_means_no_helper(helped: Site) -> None:
    long = Home(helped.home.folder.parent / ("d" * 100))
    long.folder.mkdir(mode=0o700)
    assert resident.has_no_path(long)
    assert resident.LONGEST_PATH == wire.LONGEST_PATH
    with pytest.raises(Unavailable) as caught:
        helped.ask(helped.payload(), SB_HOME=str(long.folder))
    assert not caught.value.startable
