"""Questions of confinement to a person: how they are put, and what they name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sb.base.secrets.redaction import one_line
from sb.hosts.confinement import processes
from sb.kernel.calls.approval import OUTSIDE_CONFINEMENT
from sb.kernel.calls.call import AnsweredBy, Ask

if TYPE_CHECKING:
    from sb.hosts.confinement.checkouts import Checkout
    from sb.hosts.confinement.store import ConfineStore
    from sb.hosts.hooks.judged_call import JudgedCall

LONGEST = 200  # characters of a path in a question
MOST_ASKED = 5  # paths


def ask(reason: str, rule: str = OUTSIDE_CONFINEMENT) -> Ask:
    """A question that the host's own person may answer."""
    return Ask(rule, reason, AnsweredBy.BY_HOST)


def of_tree(question: Ask, tree: str) -> Ask:
    """The question about a path in a worktree of the project's repository: a yes holds for that tree and session."""
    reason = f"{question.reason} (a yes holds for this worktree until the session ends)"
    return question._replace(reason=reason, standing=f"confinement worktree {tree}")


def of_deletions(commands: Iterable[tuple[Sequence[str], str]], project: str) -> Iterator[Ask]:
    """The questions about commands that would record that settings are deleted, which are only missing.

    Args:
        commands: programs with their arguments, each with its folder. project: its root; "" for none.
    """
    of_git = [item for item in commands if item[0][0] == "git"]
    if not (of_git and project):
        return
    from sb.hosts.confinement.checkouts import deletions  # other lines do without

    for command, path in deletions(of_git, project):
        name = one_line(os.path.relpath(path, project), LONGEST)
        missing = "which is only missing here"
        yield ask(
            f"{command} would record that {name} is deleted, {missing} (`git checkout -- {name}` brings it back)"
        )


def says(item: Checkout, project: str) -> str:
    """The effect of a checkout on settings, for a person."""
    names = [os.path.relpath(path, project) for path in item.paths]
    more = f" and {len(names) - MOST_ASKED} more" if len(names) > MOST_ASKED else ""
    verb = "takes away" if item.removes else "brings"
    named = ", ".join(names[:MOST_ASKED])
    return f"{one_line(item.command, LONGEST)} {verb} {one_line(named, LONGEST)}{more}, which an editor or a host reads"


def brought_by(store: ConfineStore, call: JudgedCall) -> tuple[str, ...]:
    """The settings of hosts that git was let change in a call."""
    return store.made_for(call.command, str(call.governed.args.get("cwd", ""))).brought


def movable(path: str, folder: Path) -> Ask:
    """The question where a program in the background could put a link in the place of what the next call mounts.

    Args:
        path: the first that is so. folder: SB_HOME/confine.
    """
    reason = "a program in the background could replace the project's folder or its settings"
    return ask(f"{reason}: {one_line(path, LONGEST)} ({processes.named(folder)})")


def put_back_message(done: list[str], project: str) -> str:
    """The message to the agent about what was put back; "" for nothing."""
    if not done:
        return ""
    from sb.hosts.confinement.checkouts import way_back  # little is put back

    return f"SecondBrain {'; '.join(done)}. {way_back(project)}"
