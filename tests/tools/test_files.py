"""The file tools: contracts, paths, snapshots, retries."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sb.config.groups import Files
from sb.kernel.contracts import SafetyClass, ToolError, ToolErrorCode
from sb.kernel.registry.registry import ToolRegistry
from sb.store.snapshots import SnapshotStore
from sb.tools.file_reading import FileReader
from sb.tools.file_search import FileSearch, SearchBounds
from sb.tools.files import register_files
from sb.tools.roots import Roots

Call = Callable[..., Any]
Refusal = Callable[..., str]
BINARY = bytes(range(256))
PATH_TOOLS: list[tuple[str, dict[str, str]]] = [
    ("files.read", {}),
    ("files.list", {}),
    ("files.search", {"query": "E"}),
    ("files.write", {"content": "new"}),
    ("files.delete", {}),
]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_contracts_say_what_each_tool_does(registry: ToolRegistry) -> None:
    found = {spec.tool_id: spec.safety_class for spec in registry.list_all()}
    assert found == {
        "files.read": SafetyClass.READ_ONLY,
        "files.list": SafetyClass.READ_ONLY,
        "files.search": SafetyClass.READ_ONLY,
        "files.write": SafetyClass.LOCAL_WRITE,
        "files.delete": SafetyClass.LOCAL_WRITE,
        "files.digest": SafetyClass.READ_ONLY,
        "files.restore": SafetyClass.LOCAL_WRITE,
        "files.restore_over": SafetyClass.LOCAL_WRITE,
        "files.restorable": SafetyClass.READ_ONLY,
        "http.get": SafetyClass.NETWORK,
        "shell.run": SafetyClass.DESTRUCTIVE,
    }
    assert {listing.source for listing in registry.listing()} == {"sb"}
    for spec in registry.list_all():
        assert spec.description
        assert all(arg.description and arg.name != "idempotency_key" for arg in spec.args_schema)
    assert [
        spec.tool_id for spec in registry.list_all() if "idempotent" in spec.declared and spec.idempotent
    ] == [
        "files.restore",
        "files.restore_over",
        "files.write",
        "http.get",
    ]


def test_contracts_do_not_change_with_the_settings(root: Path, snapshots: SnapshotStore) -> None:
    fingerprints = []
    for size in (10, 20):
        registry = ToolRegistry()
        register_files(registry, Files((root,), size, size), Roots([root]), snapshots)
        fingerprints.append([spec.contract_fingerprint() for spec in registry.list_all()])
    assert fingerprints[0] == fingerprints[1]


@pytest.mark.parametrize("name", ["a.txt", "sub/a.txt", "./sub//a.txt", "sub/./a.txt"])
def test_a_path_is_relative_to_the_first_root_or_absolute_below_it(root: Path, call: Call, name: str) -> None:
    (root / "sub").mkdir()
    (root / name).write_text("text", encoding="utf-8")
    by_relative = call("files.read", path=name)
    assert (
        by_relative == call("files.read", path=str(root / name)) == call("files.read", path=f"{root}/{name}")
    )
    assert by_relative == {
        "path": str(root / name),
        "content": "text",
        "encoding": "utf-8",
        "bytes": 4,
        "truncated": False,
    }


def test_a_root_that_is_a_link_is_resolved_when_configured_and_never_again(
    tmp_path: Path, root: Path, outside: Path, snapshots: SnapshotStore
) -> None:
    (root / "file.txt").write_text("inside", encoding="utf-8")
    link = tmp_path / "link"
    link.symlink_to(root)
    registry = ToolRegistry()
    register_files(registry, Files((link,)), Roots([link]), snapshots)
    read = registry.get_callable("files.read")
    assert read
    link.unlink()
    link.symlink_to(outside)
    for path in ("file.txt", f"{link}/file.txt", f"{root}/file.txt"):
        assert read(path=path)["content"] == "inside"


def test_a_folder_above_the_root_that_became_a_link_is_refused(
    tmp_path: Path, outside: Path, snapshots: SnapshotStore
) -> None:
    root = tmp_path / "above" / "root"
    root.mkdir(parents=True)
    roots = Roots([root])
    (outside / "root").mkdir()
    (tmp_path / "above").rename(tmp_path / "moved")
    (tmp_path / "above").symlink_to(outside)
    registry = ToolRegistry()
    register_files(registry, Files((root,)), roots, snapshots)
    write = registry.get_callable("files.write")
    assert write
    with pytest.raises(ToolError, match="symbolic link"):
        write(path="x", content="x")
    assert names(outside / "root") == []


@pytest.mark.parametrize(("tool_id", "arguments"), PATH_TOOLS)
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("", ToolErrorCode.VALIDATION_ERROR),
        ("a\0b", ToolErrorCode.VALIDATION_ERROR),
        ("a\ud800", ToolErrorCode.VALIDATION_ERROR),
        ("x" * 300 + "/y", ToolErrorCode.VALIDATION_ERROR),
        ("file/below", ToolErrorCode.VALIDATION_ERROR),
        ("missing/below", ToolErrorCode.NOT_FOUND),
        ("..", ToolErrorCode.PERMISSION_DENIED),
        ("../outside/file.txt", ToolErrorCode.PERMISSION_DENIED),
        ("sub/../../outside/file.txt", ToolErrorCode.PERMISSION_DENIED),
        ("{root}/../outside/file.txt", ToolErrorCode.PERMISSION_DENIED),
        ("{root}2/file.txt", ToolErrorCode.PERMISSION_DENIED),
        ("/etc/passwd", ToolErrorCode.PERMISSION_DENIED),
        ("/", ToolErrorCode.PERMISSION_DENIED),
        ("{outside}/file.txt", ToolErrorCode.PERMISSION_DENIED),
        ("link/file.txt", ToolErrorCode.PERMISSION_DENIED),
        ("link", ToolErrorCode.PERMISSION_DENIED),
        ("link-to-file", ToolErrorCode.PERMISSION_DENIED),
        ("link-within/file", ToolErrorCode.PERMISSION_DENIED),
        ("dangling", ToolErrorCode.PERMISSION_DENIED),
        (".sb/brain.db", ToolErrorCode.PERMISSION_DENIED),
        (".sb/new", ToolErrorCode.PERMISSION_DENIED),
    ],
)
def test_a_hostile_path_is_refused_and_changes_nothing(
    root: Path,
    outside: Path,
    sb_home: Path,
    refused: Refusal,
    tool_id: str,
    arguments: dict[str, str],
    path: str,
    code: ToolErrorCode,
) -> None:
    (root / "sub").mkdir()
    (root / "file").write_text("x", encoding="utf-8")
    (root / "link").symlink_to(outside)
    (root / "link-to-file").symlink_to(outside / "file.txt")
    (root / "link-within").symlink_to(root)
    (root / "dangling").symlink_to(outside / "made-through-link")
    before = names(root)
    message = refused(code, tool_id, path=path.format(root=root, outside=outside), **arguments)
    assert "SECRET" not in message
    assert names(root) == before
    assert names(outside) == ["file.txt"]
    assert (outside / "file.txt").read_text(encoding="utf-8") == "SECRET"
    assert names(sb_home) == ["brain.db"]


@pytest.mark.parametrize(("tool_id", "arguments"), PATH_TOOLS)
def test_without_roots_every_call_names_the_setting(
    snapshots: SnapshotStore, tool_id: str, arguments: dict[str, str]
) -> None:
    registry = ToolRegistry()
    register_files(registry, Files(), Roots([]), snapshots)
    function = registry.get_callable(tool_id)
    assert function
    with pytest.raises(ToolError, match=r"files\.roots"):
        function(path="x", **arguments)


def test_a_protected_file_is_refused_under_any_name(
    root: Path, snapshots: SnapshotStore, tmp_path: Path
) -> None:
    database = tmp_path / "brain.db"
    database.write_text("PROTECTED", encoding="utf-8")
    os.link(database, root / "innocent.txt")
    registry = ToolRegistry()
    register_files(registry, Files((root,)), Roots([root], [database]), snapshots)
    for tool_id, arguments in PATH_TOOLS:
        function = registry.get_callable(tool_id)
        assert function
        if tool_id in ("files.read", "files.write", "files.delete"):
            with pytest.raises(ToolError, match="belongs to SecondBrain"):
                function(path="innocent.txt", **arguments)
        else:
            assert "PROTECTED" not in str(function(**arguments))
    assert (root / "innocent.txt").read_text(encoding="utf-8") == "PROTECTED"


@pytest.mark.parametrize("tool_id", ["files.read", "files.write", "files.delete"])
@pytest.mark.parametrize("kind", ["folder", "fifo", "socket"])
def test_only_regular_files_are_touched_and_nothing_is_waited_for(
    root: Path, refused: Refusal, monkeypatch: pytest.MonkeyPatch, tool_id: str, kind: str
) -> None:
    path = root / "thing"
    monkeypatch.chdir(root)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as listener:
        if kind == "folder":
            path.mkdir()
        elif kind == "fifo":
            os.mkfifo(path)
        else:
            listener.bind("thing")
        arguments = {"content": "x"} if tool_id == "files.write" else {}
        refused(ToolErrorCode.VALIDATION_ERROR, tool_id, path="thing", **arguments)
        assert path.exists()


@pytest.mark.parametrize("tool_id", ["files.list", "files.search"])
def test_a_file_is_not_a_folder(root: Path, refused: Refusal, tool_id: str) -> None:
    (root / "file").write_text("x", encoding="utf-8")
    arguments = {"query": "x"} if tool_id == "files.search" else {}
    refused(ToolErrorCode.VALIDATION_ERROR, tool_id, path="file", **arguments)


@pytest.mark.parametrize(
    ("data", "limit", "content", "encoding", "size", "truncated"),
    [
        (b"", None, "", "utf-8", 0, False),
        ("äöü\r\n".encode(), None, "äöü\r\n", "utf-8", 8, False),
        (b"\xef\xbb\xbfx", None, "\ufeffx", "utf-8", 4, False),
        ("äöü".encode(), 3, "ä", "utf-8", 2, True),
        ("äöü".encode(), 4, "äö", "utf-8", 4, True),
        ("äöü".encode(), 6, "äöü", "utf-8", 6, False),
        (BINARY, None, base64.b64encode(BINARY).decode(), "base64", 256, False),
        (b"\xff" * 10, 4, base64.b64encode(b"\xff" * 4).decode(), "base64", 4, True),
        (b"ends inside \xc3", None, base64.b64encode(b"ends inside \xc3").decode(), "base64", 13, False),
        (b"x" * 6000, None, "x" * 5000, "utf-8", 5000, True),
        (b"x" * 6000, 5500, "x" * 5000, "utf-8", 5000, True),
        (b"x" * 10, 2.0, "xx", "utf-8", 2, True),
    ],
)
def test_reading_gives_text_or_base64_up_to_the_limit(
    root: Path,
    call: Call,
    data: bytes,
    limit: float | None,
    content: str,
    encoding: str,
    size: int,
    truncated: bool,
) -> None:
    (root / "f").write_bytes(data)
    arguments = {} if limit is None else {"max_bytes": limit}
    assert call("files.read", path="f", **arguments) == {
        "path": str(root / "f"),
        "content": content,
        "encoding": encoding,
        "bytes": size,
        "truncated": truncated,
    }


def test_a_limit_below_one_is_refused(root: Path, refused: Refusal) -> None:
    (root / "f").write_bytes(b"x")
    refused(ToolErrorCode.VALIDATION_ERROR, "files.read", path="f", max_bytes=0)


def test_listing_is_sorted_and_names_each_type(root: Path, sb_home: Path, outside: Path, call: Call) -> None:
    (root / "b.txt").write_bytes(b"123")
    (root / "a").mkdir()
    (root / "link").symlink_to(outside)
    os.mkfifo(root / "pipe")
    assert call("files.list") == {
        "path": str(root),
        "entries": [
            {"name": ".sb", "type": "folder", "bytes": None},
            {"name": "a", "type": "folder", "bytes": None},
            {"name": "b.txt", "type": "file", "bytes": 3},
            {"name": "link", "type": "link", "bytes": None},
            {"name": "pipe", "type": "other", "bytes": None},
        ],
        "truncated": False,
    }
    assert call("files.list", path="a")["entries"] == []


@pytest.mark.parametrize(("count", "truncated"), [(3, False), (4, True)])
def test_a_long_listing_is_cut_after_its_first_names(root: Path, count: int, truncated: bool) -> None:
    for number in range(count):
        (root / f"{number}").touch()
    found = FileReader(Roots([root]), 1, max_entries=3).list()
    assert [entry["name"] for entry in found["entries"]] == ["0", "1", "2"]
    assert found["truncated"] is truncated


@pytest.mark.skipif(os.uname().sysname == "Darwin", reason="file names there are Unicode")
def test_a_name_that_is_not_unicode_is_listed_as_valid_text(root: Path, call: Call) -> None:
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.txt")).write_text("needle", encoding="utf-8")
    assert {"name": "\ufffd.txt", "type": "file", "bytes": 6} in call("files.list")["entries"]
    assert call("files.search", query="needle")["matches"][0]["path"] == f"{root}/\ufffd.txt"


def test_writing_makes_a_file_and_says_that_nothing_was_there(root: Path, call: Call) -> None:
    assert call("files.write", path="f", content="größe", idempotency_key="k1") == {
        "path": str(root / "f"),
        "bytes": 7,
        "sha256": sha256("größe".encode()),
        "mode": stat.S_IMODE((root / "f").stat().st_mode),
        "created": True,
        "kept": None,
        "prior": None,
    }
    assert (root / "f").read_text(encoding="utf-8") == "größe"
    assert names(root) == [".sb", "f"]


def test_a_new_file_has_the_permissions_that_the_umask_leaves(root: Path, call: Call) -> None:
    before = os.umask(0o027)
    try:
        call("files.write", path="f", content="x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "f").stat().st_mode) == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o444])
def test_overwriting_keeps_the_mode_and_the_former_content(
    root: Path, snapshots: SnapshotStore, call: Call, mode: int
) -> None:
    (root / "f").write_bytes(BINARY)
    (root / "f").chmod(mode)
    result = call("files.write", path="f", content="new", idempotency_key="k1")
    assert result == {
        "path": str(root / "f"),
        "bytes": 3,
        "sha256": sha256(b"new"),
        "mode": mode,
        "created": False,
        "kept": "k1",
        "prior": {"sha256": sha256(BINARY), "bytes": 256, "mode": mode},
    }
    assert (root / "f").read_bytes() == b"new"
    assert stat.S_IMODE((root / "f").stat().st_mode) == mode
    assert snapshots.read("k1") == BINARY


def test_overwriting_replaces_the_file_instead_of_writing_into_it(
    root: Path, outside: Path, call: Call
) -> None:
    os.link(outside / "file.txt", root / "f")
    call("files.write", path="f", content="new")
    assert (outside / "file.txt").read_text(encoding="utf-8") == "SECRET"


def test_base64_content_is_written_as_bytes(root: Path, call: Call) -> None:
    call("files.write", path="f", content=base64.b64encode(BINARY).decode(), encoding="base64")
    assert (root / "f").read_bytes() == BINARY


@pytest.mark.parametrize(
    ("content", "encoding"),
    [("\ud800", "utf-8"), ("not base64!", "base64"), ("YQ", "base64"), ("ä", "base64"), ("x", "latin-1")],
)
def test_content_that_cannot_be_encoded_is_refused(
    root: Path, refused: Refusal, content: str, encoding: str
) -> None:
    refused(ToolErrorCode.VALIDATION_ERROR, "files.write", path="f", content=content, encoding=encoding)
    assert names(root) == [".sb"]


def test_missing_folders_are_made_only_when_asked(root: Path, call: Call, refused: Refusal) -> None:
    message = refused(ToolErrorCode.NOT_FOUND, "files.write", path="a/b/f", content="x")
    assert str(root / "a") in message
    assert call("files.write", path="a/b/f", content="x", parents=True)["created"]
    assert call("files.write", path="a/b/g", content="x", parents=True)["created"]
    assert names(root / "a" / "b") == ["f", "g"]


def test_deleting_keeps_the_content_and_says_what_was_there(
    root: Path, snapshots: SnapshotStore, call: Call
) -> None:
    (root / "f").write_bytes(b"old")
    (root / "f").chmod(0o640)
    assert call("files.delete", path="f", idempotency_key="k1") == {
        "path": str(root / "f"),
        "bytes": 0,
        "sha256": None,
        "mode": None,
        "created": False,
        "kept": "k1",
        "prior": {"sha256": sha256(b"old"), "bytes": 3, "mode": 0o640},
    }
    assert names(root) == [".sb"]
    assert snapshots.read("k1") == b"old"


def test_a_missing_file_cannot_be_read_or_deleted(root: Path, refused: Refusal) -> None:
    refused(ToolErrorCode.NOT_FOUND, "files.read", path="f")
    refused(ToolErrorCode.NOT_FOUND, "files.delete", path="f")
    refused(ToolErrorCode.NOT_FOUND, "files.delete", path="f", idempotency_key="k1")


@pytest.mark.parametrize(("tool_id", "arguments"), PATH_TOOLS[3:])
def test_file_too_large_for_a_snapshot_is_not_changed(
    root: Path, snapshots: SnapshotStore, refused: Refusal, tool_id: str, arguments: dict[str, str]
) -> None:
    (root / "f").write_bytes(b"x" * 1001)
    message = refused(ToolErrorCode.PERMISSION_DENIED, tool_id, path="f", **arguments)
    assert "files.keep_max_bytes" in message
    assert "1000 B" in message
    assert (root / "f").read_bytes() == b"x" * 1001
    assert names(root) == [".sb", "f"]
    assert snapshots.packs.list_keys() == []


def test_calls_without_a_key_keep_their_content_apart(
    root: Path, snapshots: SnapshotStore, call: Call
) -> None:
    for content in ("1", "2", "3"):
        call("files.write", path="f", content=content)
    results = [call("files.write", path="f", content=content) for content in ("4", "5")]
    assert [snapshots.read(result["kept"]) for result in results] == [b"3", b"4"]


def test_a_repeated_write_gives_the_same_facts_and_keeps_the_original(
    root: Path, snapshots: SnapshotStore, call: Call
) -> None:
    (root / "f").write_bytes(b"original")
    arguments = {"path": "f", "content": "new", "idempotency_key": "k1"}
    assert call("files.write", **arguments) == call("files.write", **arguments)
    assert snapshots.read("k1") == b"original"


def test_a_repeated_write_that_made_the_file_still_says_so(call: Call) -> None:
    arguments = {"path": "f", "content": "new", "idempotency_key": "k1"}
    first = call("files.write", **arguments)
    assert first["created"]
    assert call("files.write", **arguments) == first


def test_a_repeated_delete_gives_the_same_facts(root: Path, call: Call) -> None:
    (root / "f").write_bytes(b"old")
    first = call("files.delete", path="f", idempotency_key="k1")
    assert call("files.delete", path="f", idempotency_key="k1") == first


def test_attempt_that_only_took_the_snapshot_is_completed_by_the_next(
    root: Path, snapshots: SnapshotStore, call: Call
) -> None:
    (root / "f").write_bytes(b"old")
    snapshots.take(str(root / "f"), key="k1")
    assert call("files.write", path="f", content="new", idempotency_key="k1")["prior"]["bytes"] == 3
    assert (root / "f").read_bytes() == b"new"


@pytest.mark.parametrize(("tool_id", "arguments"), PATH_TOOLS[3:])
def test_a_repeated_attempt_leaves_the_work_of_somebody_else_alone(
    root: Path, call: Call, refused: Refusal, tool_id: str, arguments: dict[str, str]
) -> None:
    (root / "f").write_bytes(b"original")
    call(tool_id, path="f", idempotency_key="k1", **arguments)
    (root / "f").write_bytes(b"by somebody else")
    message = refused(ToolErrorCode.VALIDATION_ERROR, tool_id, path="f", idempotency_key="k1", **arguments)
    assert message.startswith("error_kind=evidence_stale: ")
    assert "changed by somebody else" in message
    assert (root / "f").read_bytes() == b"by somebody else"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_a_refusal(root: Path, refused: Refusal) -> None:
    (root / "closed").mkdir(mode=0o500)
    refused(ToolErrorCode.PERMISSION_DENIED, "files.write", path="closed/f", content="x")


def test_searching_finds_lines_by_path_number_and_text(root: Path, call: Call) -> None:
    (root / "b.txt").write_bytes(b"no\r\nneedle at start\r\nhas a needle\n")
    (root / "a").mkdir()
    (root / "a" / "deep.py").write_text("Needle differs\nneedle", encoding="utf-8")
    assert call("files.search", query="needle") == {
        "matches": [
            {"path": f"{root}/a/deep.py", "line": 2, "text": "needle"},
            {"path": f"{root}/b.txt", "line": 2, "text": "needle at start"},
            {"path": f"{root}/b.txt", "line": 3, "text": "has a needle"},
        ],
        "truncated": False,
        "skipped": 0,
    }
    assert [match["line"] for match in call("files.search", query="needle", glob="*.py")["matches"]] == [2]
    assert [match["line"] for match in call("files.search", query="needle", path="a")["matches"]] == [2]
    assert call("files.search", query=".*")["matches"] == []


def test_searching_skips_binary_large_linked_hidden_and_protected_files(root: Path, outside: Path) -> None:
    (root / "binary").write_bytes(b"\0needle")
    (root / "large").write_bytes(b"needle" * 100)
    (root / "link").symlink_to(outside)
    (root / "link-to-file").symlink_to(outside / "file.txt")
    os.mkfifo(root / "pipe")
    (root / ".hidden").mkdir()
    (root / ".hidden" / "f").write_text("needle", encoding="utf-8")
    (root / "home").mkdir()
    (root / "home" / "f").write_text("needle", encoding="utf-8")
    (outside / "file.txt").write_text("needle", encoding="utf-8")
    roots = Roots([root], [root / "home"])
    search = FileSearch(roots, bounds=SearchBounds(max_file_bytes=100)).search
    assert search(query="needle") == {"matches": [], "truncated": False, "skipped": 3}
    assert len(search(query="needle", path=".hidden")["matches"]) == 1


@pytest.mark.parametrize(
    ("bounds", "matches", "truncated", "skipped"),
    [
        (SearchBounds(), 5, False, 0),
        (SearchBounds(max_matches=5), 5, False, 0),
        (SearchBounds(max_matches=4), 4, True, 0),
        (SearchBounds(max_entries=3), 2, True, 0),
        (SearchBounds(max_total_bytes=1), 1, True, 0),
        (SearchBounds(max_depth=2), 3, False, 1),
        (SearchBounds(max_seconds=1e-9), 0, True, 0),
    ],
)
def test_every_bound_of_a_search_is_kept_and_told(
    root: Path, bounds: SearchBounds, matches: int, truncated: bool, skipped: int
) -> None:
    folder = root
    for _ in range(5):
        (folder / "a.txt").write_text("needle", encoding="utf-8")
        folder /= "b"
        folder.mkdir()
    found = FileSearch(Roots([root]), bounds=bounds).search("needle")
    assert (len(found["matches"]), found["truncated"], found["skipped"]) == (matches, truncated, skipped)


def test_a_long_line_is_cut_around_the_match(root: Path, call: Call) -> None:
    (root / "f").write_text("x" * 5000 + "needle" + "y" * 5000, encoding="utf-8")
    text = call("files.search", query="needle")["matches"][0]["text"]
    assert "needle" in text
    assert len(text) == 400
    assert text.startswith("…x")
    assert text.endswith("y…")


@pytest.mark.parametrize("query", ["", "two\nlines", "\ud800"])
def test_a_query_that_no_line_can_hold_is_refused(refused: Refusal, query: str) -> None:
    refused(ToolErrorCode.VALIDATION_ERROR, "files.search", query=query)


@pytest.mark.parametrize("target", ["root", "missing"])
def test_a_root_that_cannot_be_resolved_refuses_calls_and_nothing_else(tmp_path: Path, target: str) -> None:
    root = tmp_path / "root"
    root.symlink_to(tmp_path / target)
    with pytest.raises(ToolError, match=r"symbolic link|does not exist"), Roots([root]).folder("."):
        pytest.fail("opened")
