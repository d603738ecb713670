"""A snapshot of 100 files and its restoration, against a bare copy of the files."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

from evals.bench.timing import compare
from sb.store.packs import PackStore
from sb.store.path_states import rows_after
from sb.tools.pack_restoring import PackRestoring
from sb.tools.roots import Roots

FILES, SIZE = 100, 10_240
BAR = 4.0  # times a bare copy
_SOURCE = Path(__file__).parents[2] / "sb"


def report() -> Iterator[str]:
    """One line for taking a snapshot, and one for restoring it."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        folder = top / "files"
        folder.mkdir()
        text = b"".join(path.read_bytes() for path in sorted(_SOURCE.rglob("*.py"))[:60])
        for number in range(FILES):
            (folder / f"file{number}.py").write_bytes(text[number * 4000 : number * 4000 + SIZE])
        store, numbers = PackStore(top / "packs"), count()

        def copy() -> None:
            target = top / f"copy{next(numbers)}"
            target.mkdir()
            for path in folder.iterdir():
                shutil.copyfile(path, target / path.name)

        def take() -> None:
            store.take(f"k{next(numbers)}", [str(folder)], session="bench", session_share=1)

        what = f"{FILES} files of {SIZE // 1024} KB"
        yield compare(f"snapshot of {what}", take, "shutil.copyfile of each", copy, calls=3, bar=BAR).line()
        store.take("deleted", [str(folder)], session="bench", session_share=1)
        shutil.rmtree(folder)
        rows = rows_after(store.get("deleted"))
        restoring = PackRestoring(Roots([Path("/")]), store)
        restoring.restore(rows, "deleted")
        source = folder.rename(top / "source")
        restore = partial(_restore, restoring, rows, folder, numbers)
        bare = partial(_copy, source, folder, numbers)
        yield compare(f"restoring {what}", restore, "shutil.copyfile of each", bare, calls=3, bar=BAR).line()


def _restore(
    restoring: PackRestoring, rows: list[dict[str, object]], folder: Path, numbers: count[int]
) -> None:
    """Restore a folder that is gone; both sides move the former one out of the way."""
    if folder.exists():
        folder.rename(folder.with_name(f"old{next(numbers)}"))
    restoring.restore(rows, "deleted")


def _copy(source: Path, folder: Path, numbers: count[int]) -> None:
    if folder.exists():
        folder.rename(folder.with_name(f"old{next(numbers)}"))
    folder.mkdir()
    for path in source.iterdir():
        shutil.copyfile(path, folder / path.name)
