"""Lines that a person is asked about: what can be stored of them is, and the question names what cannot."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from sb.base.secrets.redaction import one_line
from sb.hosts.hooks.event import GovernedCall
from sb.shell.parsing.words import display, is_literal
from sb.shell.snapshots.area import Area, named_files, plan_in_part
from sb.tools.hosted.contracts import KEPT_IN_PART

_MOST_SHOWN = 3
_LONGEST = 60  # characters of a name in a question


def in_part(governed: GovernedCall, area: Area, most: int) -> GovernedCall:
    """A destructive line after a snapshot of what one may hold of its changes; as it is where that is nothing.

    Args:
        most: paths that one undo record names.
    """
    changes, why = governed.effects.changes, _named(governed)
    planned = plan_in_part(changes.changes or changes.seen, area, most)
    keep, known = planned.keep, changes.changes is not None
    if not known:
        keep = tuple(dict.fromkeys((*keep, *named_files((*governed.effects.writes, *changes.named), area))))
    lost = [{"path": path, "why": why.removeprefix(path).strip()} for path, why in planned.lost.items()]
    if not lost and (known or not keep):
        return governed if governed.why else _explained(governed, changes.why)
    for_good = _shown([_lost(row, area.project) for row in lost])
    if not keep:
        why = f"{why} (no snapshot: {for_good})"
    elif known:
        why = f"{governed.args['why']} (lost for good: {for_good}; sb undo restores the other files)"
    else:
        why = f"{why} (sb undo restores {_shown([_short(path, area.project) for path in keep])} alone)"
    args = {**governed.args, "lost": lost, "stands_for": [governed.tool_id], "partly": bool(keep)}
    return governed._replace(tool_id=KEPT_IN_PART, args=args, why=why, part=keep)


def _explained(governed: GovernedCall, why: str) -> GovernedCall:
    """The call with the reason why its changes are not known, for the question."""
    known = f" (no snapshot: {why})" if why and why not in governed.args["why"] else ""
    return governed._replace(why=f"{_named(governed)}{known}")


def _named(governed: GovernedCall) -> str:
    """The effect of a line, with the folders that it deletes where `rm` does so."""
    why = str(governed.args["why"])
    if not why.startswith("rm -"):
        return why
    removing = (argv[1:] for argv in governed.effects.commands if os.path.basename(argv[0]) == "rm")
    words = [word for argv in removing for word in argv if word[:1] != "-"]
    known = [display(word, _LONGEST) for word in words if is_literal(word)]
    names = [*known, *(["what is known only when it runs"] if not known or len(known) < len(words) else [])]
    return f"{why}: {_shown(names)}"


def _lost(row: Mapping[str, str], project: str) -> str:
    name, why = _short(row["path"], project), row["why"]
    return f"{name} ({why})" if why.startswith("it ") else f"{name} {why}"


def _short(path: str, project: str) -> str:
    return one_line(path.removeprefix(f"{project}/") if project else path, _LONGEST)


def _shown(names: Sequence[str]) -> str:
    more = [f"{len(names) - _MOST_SHOWN} more"] if len(names) > _MOST_SHOWN else []
    return ", ".join(dict.fromkeys((*names[:_MOST_SHOWN], *more)))
