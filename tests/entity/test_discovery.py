"""Installed parts of entities: found by entry points, and imported only when asked for."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path

import pytest

from sb.base.discovery import MODELS, PLUGINS, STACKS, DiscoveredComponent, discover, find, load_component

MODULE = """
class Weather: ...
"""


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path, with a module in it."""
    (tmp_path / "discovered_demo.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "discovered_broken.py").write_text("raise SystemExit(3)", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "discovered_demo", raising=False)
    return tmp_path


def install(site: Path, distribution: str, entry_points: str) -> None:
    """Write the files that pip leaves behind of a distribution."""
    info = site / f"{distribution}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")


def test_what_is_installed_is_listed_with_who_brought_it_and_nothing_is_imported(site: Path) -> None:
    install(
        site,
        "demo",
        "[sb.plugins]\nwet = discovered_demo:Weather\n[sb.stacks]\nbroken = discovered_broken:X\n",
    )
    found = DiscoveredComponent("wet", PLUGINS, "discovered_demo", "Weather", "demo", "1.2")
    assert found in discover(PLUGINS)
    assert find(STACKS, "broken").qualname == "discovered_broken:X"
    assert "discovered_demo" not in sys.modules
    assert load_component(found).__name__ == "Weather"


def test_what_is_installed_meanwhile_is_found_and_nothing_is_read_twice(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def installed() -> list[str]:
        return [component.name for component in discover(PLUGINS) if component.module == "discovered_demo"]

    assert installed() == []
    install(site, "demo", "[sb.plugins]\nwet = discovered_demo:Weather\n")
    os.utime(site, (2e9, 2e9))  # a clock of files may stand still for milliseconds
    assert installed() == ["wet"]
    monkeypatch.setattr(importlib.metadata, "entry_points", None)
    assert installed() == ["wet"]


def test_what_cannot_be_loaded_says_why(site: Path) -> None:
    install(site, "demo", "[sb.models]\nbroken = discovered_broken:X\nmissing = discovered_demo:Nothing\n")
    with pytest.raises(ImportError, match=r"broken of sb\.models cannot be loaded: SystemExit: 3"):
        load_component(find(MODELS, "broken"))
    with pytest.raises(ImportError, match=r"missing of sb\.models cannot be loaded: AttributeError"):
        load_component(find(MODELS, "missing"))
    for name in ("none", "wet"):
        with pytest.raises(ImportError, match=f"{name} of sb.plugins is not installed"):
            find(PLUGINS, name)
    with pytest.raises(ImportError, match=r"gone of sb\.plugins is not installed"):
        load_component(DiscoveredComponent("gone", PLUGINS, "discovered_demo", "Weather"))


def test_a_name_that_two_distributions_offer_belongs_to_neither(site: Path) -> None:
    for distribution in ("demo", "other"):
        install(site, distribution, "[sb.plugins]\nwet = discovered_demo:Weather\n")
    with pytest.raises(ImportError, match="is offered by several distributions: demo, other"):
        load_component(find(PLUGINS, "wet"))


def test_an_installation_that_cannot_be_read_offers_nothing_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(**_: str) -> None:
        raise ValueError("no name in METADATA")

    monkeypatch.setattr(importlib.metadata, "entry_points", broken)
    assert discover(PLUGINS) == []
    assert "cannot read the entry points of sb.plugins: ValueError: no name in METADATA" in caplog.text
