"""The difference of a stored tree and what is on disk, where no second tree can be stored.

Git has no part in looking at the project here. What the call removed or changed comes back; what it made cannot be told
from what git ignores, so it stays.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha1

from sb.base.files import is_behind_link, is_folder, read_regular
from sb.base.values.frozen import mutable
from sb.store.trees.bounds import Bounds
from sb.store.trees.difference import FOLDER_MODE, GITLINK_MODE, LINK_MODE, Comparing, Difference, Raw
from sb.store.trees.git_program import CannotStore, Deadline, Git, entries_of
from sb.store.trees.left_out import left_out_of
from sb.store.trees.open_calls import StoredTree
from sb.store.trees.part import Part
from sb.store.trees.repository_files import LINKED, Stored, repository_of, repository_signatures, signature_of

_LONGEST = 64 << 20  # bytes of a file whose content is compared
_BETWEEN_LOOKS = 200  # files, at the clock
_EARLIER_S = 2.0  # before the first tree: files that changed later are read
_GONE = "000000"


def compare_with_disk(
    git: Git,
    before: StoredTree,
    bounds: Bounds,
    deadline: Deadline,
    index_digest: Callable[[str], str],
    why: str,
) -> Difference:
    """The difference.

    Args:
        why: the reason why there is no second tree. The others are those of `Comparing`.

    Raises:
        CannotStore: the first tree cannot be read. TooSlow: it took too long.
    """
    nothing = StoredTree(before.project, before.at, ())
    found = _WithDisk(git, before, nothing, bounds, deadline, index_digest).compare()
    made = {before.project: f"keeps what was made in it: {why}"}
    return found._replace(unstored=dict(found.unstored) | made)


@mutable
class _WithDisk(Comparing):
    _work: str = ""

    def _part(self, part: Part, after: Part | None) -> None:
        self._work = part.work
        Comparing._part(self, part, self._now(part))

    def _now(self, part: Part) -> Part | None:
        """The part as it is now, as far as its own entries go; None where it is gone."""
        if not is_folder(part.work):
            return None
        left_out = {}
        for name, left in part.left_out.items():
            with suppress(OSError):
                now = left_out_of(left.why, os.lstat(f"{part.work}/{name}"))
                left_out[name] = now
        return part._replace(
            tree="",
            folders={name: mode for name, mode in part.folders.items() if is_folder(f"{part.work}/{name}")},
            folder_modes=dict.fromkeys(
                (
                    *(part.folder_modes or {}),
                    *(raw.name for raw in self._listed(part) if raw.mode == FOLDER_MODE),
                ),
                0,
            ),
            left_out=left_out,
            repository=self._made_in(part) | self._files(part.repository),
            beside=self._files(part.beside),
            objects=part.objects if os.path.isdir(part.objects) else "",
        )

    def _made_in(self, part: Part) -> dict[str, Stored]:
        """The files of a part's repository, without contents: nothing in it is ignored, so new ones are the call's."""
        repository = repository_of(part.work, self.before.project)
        if repository is None or not part.repository:
            return {}
        with suppress(CannotStore):
            return {path: Stored("", 0, item) for path, item in repository_signatures(repository).items()}
        return {}

    def _files(self, before: Mapping[str, Stored]) -> dict[str, Stored]:
        """The files beside a tree that are still there, as they are now; nothing of them is stored."""
        found = {}
        for path, stored in before.items():
            with suppress(OSError):
                status = os.lstat(path)
                mode = LINKED if stat.S_ISLNK(status.st_mode) else stat.S_IMODE(status.st_mode)
                blob = stored.blob
                if signature_of(status) != stored.signature:
                    blob = _blob(path, status)
                found[path] = Stored(blob, mode, signature_of(status))
        return found

    def _listed(self, part: Part) -> Iterator[Raw]:
        """The entries of a part's tree, with no state of now."""
        for mode, blob, name in entries_of(self.git, part.tree, self.deadline, "-t"):
            yield Raw(mode, _GONE, blob, "", name)

    def _raw(self, part: Part, after: Part | None) -> Iterator[Raw]:
        behind = dict[str, bool]()
        for number, raw in enumerate(self._listed(part)):
            if number % _BETWEEN_LOOKS == 0:
                self.deadline.left()
            path = f"{part.work}/{raw.name}"
            folder = os.path.dirname(path)
            if folder not in behind:
                behind[folder] = is_behind_link(folder)
            if raw.mode == FOLDER_MODE:
                if behind[folder] or not is_folder(path):
                    yield raw
            elif raw.mode != GITLINK_MODE and (behind[folder] or not self._is_as_before(part, raw, path)):
                yield raw

    def _is_as_before(self, part: Part, raw: Raw, path: str) -> bool:
        try:
            status = os.lstat(path)
            if raw.mode == LINK_MODE:
                return stat.S_ISLNK(status.st_mode) and _blob(path, status) == raw.blob
            if not stat.S_ISREG(status.st_mode) or stat.S_IMODE(status.st_mode) != part.mode(
                raw.name, raw.mode
            ):
                return False
            return status.st_ctime < self.before.at - _EARLIER_S or _blob(path, status) == raw.blob
        except OSError:
            return False

    def _take_objects(self, part: Part, after: Part | None) -> None:
        """Name the objects of before that are gone; those of now cannot be told."""
        if missing := self._missing(part, self._named_objects(part) | self._staged(part)):
            self._unstored[part.objects] = f"lost {missing} objects, which are not kept"


def blob_of(path: str) -> str:
    """The id that git would give to a file or link; "" for what is none, or cannot be read."""
    with suppress(OSError):
        return _blob(path, os.lstat(path))
    return ""


def _blob(path: str, status: os.stat_result) -> str:
    """The id that git would give to a file or link; "" for anything else; raises OSError."""
    if stat.S_ISLNK(status.st_mode):
        content = os.fsencode(os.readlink(path))
    elif stat.S_ISREG(status.st_mode) and status.st_size <= _LONGEST:
        content = read_regular(path, _LONGEST + 1, follow=False)
    else:
        return ""
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
