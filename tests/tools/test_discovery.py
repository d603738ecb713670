"""Discovery of installed and configured tools."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sb
from sb.kernel.contracts import SafetyClass
from sb.kernel.registry.registry import ToolRegistry
from sb.tools.discovery import LoadFailure, load_third_party

MODULE = """
import sys
from sb.kernel.contracts import SafetyClass


def good(registry):
    registry.register_fn("{name}.one", "One", lambda: 1)
    registry.register_fn("{name}.two", "Two", lambda: 2, SafetyClass.NETWORK)


class Tools:
    @staticmethod
    def register(registry):
        registry.register_fn("{name}.three", "Three", lambda: 3)


def fails_halfway(registry):
    registry.register_fn("{name}.half", "Half", lambda: 0)
    raise RuntimeError("no license\\nfound")


def exits(registry):
    registry.register_fn("{name}.half", "Half", lambda: 0)
    sys.exit(3)


def replaces(registry):
    registry.register_fn("{name}.half", "Half", lambda: 0)
    registry.register_fn("own.tool", "Own", lambda: "replaced")


def removes(registry):
    registry.unregister("own.tool")
    registry.register_fn("own.tool", "Own", lambda: "replaced", SafetyClass.DESTRUCTIVE)


def conflicts(registry):
    registry.register_fn("{name}.half", "Half", lambda: 0)
    registry.register_fn("own.tool", "Own", lambda: 0, SafetyClass.DESTRUCTIVE)


def interrupts(registry):
    raise KeyboardInterrupt


not_callable = 3
"""


@pytest.fixture
def registry() -> ToolRegistry:
    registry = ToolRegistry()
    with registry.source("sb"):
        registry.register_fn("own.tool", "Own", lambda: "own")
    return registry


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path, with a module of tools."""
    (tmp_path / "third_party_demo.py").write_text(MODULE.replace("{name}", "demo"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "third_party_demo", raising=False)
    return tmp_path


def install(site: Path, *entry_points: str) -> None:
    """Write the files that pip leaves behind of a distribution."""
    info = site / "demo_tools-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: demo-tools\nVersion: 1.2\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text("[sb.tools]\n" + "\n".join(entry_points), encoding="utf-8")


def sources(registry: ToolRegistry) -> dict[str, str]:
    return {listing.spec.tool_id: listing.source for listing in registry.listing()}


def test_installed_and_configured_tools_are_registered_under_their_source(
    registry: ToolRegistry, site: Path
) -> None:
    install(site, "demo = third_party_demo:good")
    assert load_third_party(registry, ["third_party_demo:Tools.register"]) == []
    assert sources(registry) == {
        "own.tool": "sb",
        "demo.one": "entry point demo (demo-tools 1.2)",
        "demo.two": "entry point demo (demo-tools 1.2)",
        "demo.three": "config third_party_demo:Tools.register",
    }
    assert registry.get("demo.two").safety_class is SafetyClass.NETWORK  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("third_party_demo:fails_halfway", "RuntimeError: no license found"),
        ("third_party_demo:exits", "SystemExit: 3"),
        (
            "third_party_demo:replaces",
            "ContractError: it replaced or removed own.tool, which sb had registered",
        ),
        (
            "third_party_demo:removes",
            "ContractError: it replaced or removed own.tool, which sb had registered",
        ),
        ("third_party_demo:conflicts", "ContractError: tool own.tool is already registered by sb"),
        ("third_party_demo:missing", "AttributeError"),
        ("third_party_demo:not_callable", "TypeError"),
        ("no_such_module:register", "ModuleNotFoundError"),
        ("third_party_demo", "ValueError: not of the form module:function"),
        ("third_party_demo:", "ValueError"),
        ("", "ValueError"),
    ],
)
def test_a_source_that_fails_is_reported_and_leaves_nothing_behind(
    registry: ToolRegistry, site: Path, name: str, message: str
) -> None:
    if ":" in name and not name.endswith(":"):
        install(site, f"demo = {name}")
    failures = load_third_party(registry, [name, "third_party_demo:good"])
    assert failures[-1].source == f"config {name}"
    assert {failure.message.startswith(message) for failure in failures} == {True}
    assert sources(registry) == {
        "own.tool": "sb",
        "demo.one": "config third_party_demo:good",
        "demo.two": "config third_party_demo:good",
    }
    own = registry.get_callable("own.tool")
    assert own
    assert own() == "own"


def test_the_same_tools_from_two_sources_are_taken_from_the_first(registry: ToolRegistry, site: Path) -> None:
    install(site, "demo = third_party_demo:good")
    failures = load_third_party(registry, ["third_party_demo:good"])
    assert [failure.source for failure in failures] == ["config third_party_demo:good"]
    assert sources(registry)["demo.one"] == "entry point demo (demo-tools 1.2)"


def test_an_entry_point_that_cannot_be_read_keeps_no_other_from_loading(
    registry: ToolRegistry, site: Path
) -> None:
    install(site, "bad = not an object reference", "demo = third_party_demo:good")
    assert len(load_third_party(registry, [])) == 1
    assert "demo.one" in registry


def test_an_interrupt_is_not_swallowed(registry: ToolRegistry) -> None:
    with pytest.raises(KeyboardInterrupt):
        load_third_party(registry, ["third_party_demo:interrupts"])


def test_failures_are_one_line_without_control_characters(registry: ToolRegistry, site: Path) -> None:
    (site / "hostile.py").write_text("raise ValueError('a\\n\\x1b[31mb' * 500)", encoding="utf-8")
    (failure,) = load_third_party(registry, ["hostile:register"])
    assert failure == LoadFailure("config hostile:register", failure.message)
    assert failure.message.startswith("ValueError: a ba b")
    assert len(failure.message) <= 300


def test_importing_the_tools_is_cheap() -> None:
    code = (
        "import sys, sb.tools, sb.tools.discovery, sb.tools.files, sb.tools.http, sb.tools.shell\n"
        "from sb.config import HostPattern\n"
        "from sb.config.model import Http\n"
        "sb.tools.http.HttpGet(Http((HostPattern.parse('*.example.com'), HostPattern.parse('127.0.0.1:80'))))\n"
        "heavy = 'http.client ssl socket subprocess selectors importlib.metadata asyncio'\n"
        "print([name for name in heavy.split() if name in sys.modules])"
    )
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; sys.path.insert(0, {str(Path(sb.__file__).parents[1])!r})\n{code}",
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert found.stdout == "[]\n"
