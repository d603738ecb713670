"""Files in git's own folder: what leads git to programs and other repositories, and the few that decide nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sb.shell.parsing.words import compiled

FOLDER = ".git"
# What git runs, and by what it finds its settings, hooks and other repositories; in each git folder of a repository.
LEADING: tuple[tuple[str, ...], ...] = (
    ("hooks",),
    ("config",),
    ("config.worktree",),
    ("commondir",),
    ("gitdir",),
    ("modules",),
    ("worktrees",),
    ("remotes",),
    ("branches",),
    ("info", "attributes"),
    ("objects", "info"),
)
# Of all else in that folder an agent writes texts of commits, what is ignored, and deletes locks that were left behind.
_HARMLESS = (
    r"(?:(?:modules|worktrees)/[^/]+/)*(?:info/exclude|description|(?:commit_edit|merge_|squash_|tag_edit|notes_edit|gitgui_)msg)"
    r"|(?!(?:.*/)?(?:remotes|branches)/).*\.lock"
)


def in_git_folder(parts: Sequence[str]) -> Sequence[str] | None:
    """The components of a path behind `.git`; None for a path that is not in such a folder, nor one itself.

    Args:
        parts: folded.
    """
    return parts[list(parts).index(FOLDER) + 1 :] if FOLDER in parts else None


def changes_git(parts: Sequence[str]) -> str:
    """The reason why a write to a path needs approval, as far as it is one of git's own files, or "".

    Args:
        parts: folded components.
    """
    inner = in_git_folder(parts)
    if inner is None or compiled(_HARMLESS).fullmatch("/".join(inner)):
        return ""
    leads = not inner or any(tuple(inner[: len(own)]) == own for own in LEADING)
    return "changes what git runs" if leads else "changes a repository's own files"


def leads_git(parts: Sequence[str], fits: Callable[[str, str], bool] = str.__eq__) -> bool:
    """True if a path, in its folded components, may name what leads git to programs.

    Args:
        fits: whether a component of the path, which may be a pattern, may stand for a name.
    """
    for at, part in enumerate(parts):
        if not fits(part, FOLDER):
            continue
        inner = parts[at + 1 :]
        if any(len(inner) >= len(own) and all(map(fits, inner, own)) for own in LEADING):
            return True
    return False
