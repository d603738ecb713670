"""Links are swapped in while the tools work: nothing outside the root may be read or changed."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.config.groups import Files, Http, Shell
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.kernel.registry.registry import ToolRegistry
from sb.store.snapshots import SnapshotStore
from sb.tools import register_builtin
from sb.tools.roots import Roots

Call = Callable[..., Any]
SWAPS = 1000
CALLS = 100
LINE = "SECRET outside\n"


def exchange(path: Path, other: Path) -> None:
    """Swap two names atomically."""
    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(path), os.fsencode(other)
    if sys.platform == "darwin":
        failed = libc.renamex_np(*names, 2)
    else:
        failed = libc.renameat2(-100, names[0], -100, names[1], 2)
    if failed:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Swapper:
    """Puts a link in place of something real and back, as fast as it can, in a thread."""

    def __init__(self, real: Path, target: Path) -> None:
        self._real = real
        self._link = real.with_name("link")
        self._target = target
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.swaps = 0

    def _run(self) -> None:
        while not self._stop.is_set():
            if not self._link.is_symlink():  # a tool replaced or removed it: that is no escape
                self._link.unlink(missing_ok=True)
                self._link.symlink_to(self._target)
            try:
                exchange(self._real, self._link)
                exchange(self._real, self._link)
            except FileNotFoundError:  # just deleted by the tool
                continue
            self.swaps += 1

    @contextmanager
    def running(self) -> Iterator[None]:
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        self._thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join(60)
            sys.setswitchinterval(interval)


def snapshot(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        path.name: (path.read_text(encoding="utf-8"), path.stat().st_mtime_ns)
        for path in sorted(folder.iterdir())
    }


def attempts(swapper: Swapper, attempt: Callable[[], Any]) -> set[str]:
    """Call until links were swapped often enough and both outcomes were seen; what the calls gave or said."""
    seen: set[str] = set()
    outcomes: set[bool] = set()
    calls = 0
    give_up = time.monotonic() + 60
    with swapper.running():
        while swapper.swaps < SWAPS or calls < CALLS or outcomes != {True, False}:
            assert time.monotonic() < give_up, (swapper.swaps, calls, outcomes)
            calls += 1
            try:
                result = attempt()
                outcomes.add(result.get("matches") != [])  # a search skips what it may not open
            except ToolError as error:
                result = error
                outcomes.add(False)
            seen.add(str(result))
    return seen


@pytest.fixture
def tree(root: Path, outside: Path) -> Path:
    """A folder in the root, and one outside with the same names in it."""
    folder = root / "folder"
    folder.mkdir()
    for name in ("file.txt", "other.txt"):
        (folder / name).write_text("inside\n", encoding="utf-8")
        (outside / name).write_text(LINE, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("swapped", "tool_id", "arguments"),
    [
        ("folder", "files.read", {"path": "folder/file.txt"}),
        ("folder/file.txt", "files.read", {"path": "folder/file.txt"}),
        ("folder", "files.search", {"query": "side", "path": ".", "glob": "file.*"}),
        ("folder/file.txt", "files.search", {"query": "side", "path": ".", "glob": "file.*"}),
        ("folder", "files.write", {"path": "folder/file.txt", "content": "written"}),
        ("folder/file.txt", "files.write", {"path": "folder/file.txt", "content": "written"}),
        ("folder", "files.write", {"path": "folder/new/file.txt", "content": "written", "parents": True}),
        ("folder", "files.delete", {"path": "folder/file.txt"}),
        ("folder/file.txt", "files.delete", {"path": "folder/file.txt"}),
    ],
)
def test_no_swapped_in_link_leads_outside(
    root: Path, tree: Path, outside: Path, call: Call, swapped: str, tool_id: str, arguments: dict[str, Any]
) -> None:
    target = outside if swapped == "folder" else outside / "file.txt"
    swapper = Swapper(root / swapped, target)
    before = snapshot(outside)

    def attempt() -> Any:
        if tool_id == "files.delete":
            call("files.write", path="folder/file.txt", content="again")
        return call(tool_id, **arguments)

    seen = attempts(swapper, attempt)
    assert not [text for text in seen if "SECRET" in text]
    assert snapshot(outside) == before


def test_a_listing_never_shows_what_is_outside(root: Path, tree: Path, outside: Path, call: Call) -> None:
    (outside / "secret-name").write_text("x", encoding="utf-8")
    seen = attempts(Swapper(tree, outside), lambda: call("files.list", path="folder"))
    assert not [text for text in seen if "secret-name" in text]


def test_a_program_never_starts_outside(root: Path, tree: Path, outside: Path, call: Call) -> None:
    def attempt() -> Any:
        return call("shell.run", argv=["cat", "file.txt"], cwd="folder")

    seen = attempts(Swapper(tree, outside), attempt)
    assert not [text for text in seen if "SECRET" in text]


def test_calls_leave_no_descriptor_open(root: Path, tree: Path, call: Call) -> None:
    (root / "link").symlink_to(tree)
    uses: list[tuple[str, dict[str, Any]]] = [
        ("files.read", {"path": "folder/file.txt"}),
        ("files.read", {"path": "link/file.txt"}),
        ("files.read", {"path": "folder"}),
        ("files.read", {"path": ".sb/brain.db"}),
        ("files.list", {"path": "folder"}),
        ("files.list", {"path": "folder/file.txt"}),
        ("files.search", {"query": "inside"}),
        ("files.write", {"path": "folder/a/b", "content": "x", "parents": True}),
        ("files.write", {"path": "folder/a", "content": "x"}),
        ("files.delete", {"path": "folder/a/b"}),
        ("files.delete", {"path": "folder/missing"}),
        ("shell.run", {"argv": ["true"], "cwd": "folder"}),
        ("shell.run", {"argv": ["no-such-program"]}),
        ("shell.run", {"argv": ["sleep", "5"], "timeout_s": 0.01}),
        ("http.get", {"url": "http://example.com/"}),
    ]

    def use_everything() -> int:
        for tool_id, arguments in uses:
            with suppress(ToolError):
                call(tool_id, **arguments)
        return len(os.listdir("/dev/fd"))

    assert use_everything() == use_everything()


segments = st.sampled_from(
    [
        "",
        ".",
        "..",
        "...",
        "a",
        "file",
        "link",
        "up",
        "~",
        "-",
        "\0",
        "\n",
        "\ud800",
        "root",
        "outside",
        "ROOT",
    ]
) | st.text(max_size=3)
paths = st.builds(
    lambda start, parts: start + "/".join(parts),
    st.sampled_from(["", "/", "//", "ROOT/"]),
    st.lists(segments),
)


@given(paths)
def test_no_path_is_ever_located_outside_the_roots(path: str) -> None:
    roots = Roots([Path("/srv/one"), Path("/srv/one/two"), Path("/srv/three")])
    try:
        root, parts = roots.locate(path.replace("ROOT", "/srv/one"))
    except ToolError as error:
        refusal: ToolErrorCode | None = error.code
    else:
        refusal = None
        assert root in (("srv", "one"), ("srv", "one", "two"), ("srv", "three"))
        assert all(part not in ("", ".", "..") and "/" not in part and "\0" not in part for part in parts)
    assert refusal in (None, ToolErrorCode.VALIDATION_ERROR, ToolErrorCode.PERMISSION_DENIED)


@pytest.fixture(scope="module")
def maze(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Call]:
    """A root with links in every direction, and its tools."""
    top = tmp_path_factory.mktemp("maze")
    root, outside = top / "root", top / "outside"
    (root / "a" / "a").mkdir(parents=True)
    outside.mkdir()
    (outside / "file").write_text(LINE, encoding="utf-8")
    (root / "a" / "file").write_text("inside", encoding="utf-8")
    (root / "link").symlink_to(outside)
    (root / "a" / "link").symlink_to(outside / "file")
    (root / "up").symlink_to("..")
    registry = ToolRegistry()
    snapshots = SnapshotStore(top / "kept", 1000)
    register_builtin(registry, Files((root,)), Http(), Shell(), snapshots, [])

    def call_tool(tool_id: str, **arguments: Any) -> Any:
        function = registry.get_callable(tool_id)
        assert function
        return function(**arguments)

    return root, call_tool


@given(path=paths)
def test_whatever_the_path_a_call_stays_inside_or_says_why_not(maze: tuple[Path, Call], path: str) -> None:
    root, call = maze
    path = path.replace("ROOT", str(root))
    uses: list[tuple[str, dict[str, Any]]] = [
        ("files.read", {}),
        ("files.list", {}),
        ("files.search", {"query": "SECRET"}),
        ("files.write", {"content": "inside", "parents": True}),
        ("files.delete", {}),
    ]
    codes = set()
    for tool_id, arguments in uses:
        try:
            result = call(tool_id, path=path, **arguments)
        except ToolError as error:
            codes.add(error.code)
        else:
            assert "SECRET outside" not in str(result)
            assert str(result.get("path", root)).startswith(str(root))
    assert ToolErrorCode.UNEXPECTED not in codes
    assert set(os.listdir(root.parent)) <= {"kept", "outside", "root"}
    assert (root.parent / "outside" / "file").read_text(encoding="utf-8") == LINE
    assert os.listdir(root.parent / "outside") == ["file"]
