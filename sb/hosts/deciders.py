"""The deciders about a coding agent's calls: the host's own user, in place, or an operator, by signature."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sb.hosts.registry import WITH_HOOKS, adapter_for
from sb.kernel.review.host_questions import QuestionCounts

ASK = "ask"  # of hooks.approval


class Deciders(NamedTuple):
    """The deciders of calls, by kind.

    Args:
        level: the name of the arrangement.
        who: who decides about what, as one sentence.
    """

    level: str
    who: str


def asking_hosts(names: Sequence[str] = ()) -> list[str]:
    """The hosts that enforce a question to their own user.

    Args:
        names: among these; none for all.
    """
    return sorted(
        name for name in names or WITH_HOOKS if name in WITH_HOOKS and adapter_for(name, {}).asks_on
    )


def deciders(approval: str, *, enrolled: bool, hosts: Sequence[str] = ()) -> Deciders:
    """The deciders under a setting of hooks.approval.

    Args:
        enrolled: whether somebody is an operator.
        hosts: that are installed; none for all that there are.
    """
    asking = ", ".join(asking_hosts(hosts))
    queue = "the queue, signed by an operator" if enrolled else "the queue, unsigned"
    if approval != ASK:
        return Deciders("queue", f"{queue}: every call that needs a person (hooks.approval = queue)")
    if not asking:
        return Deciders("queue", f"{queue}: every call that needs a person; no installed host asks its user")
    in_place = f"{asking} in place, which is a permission and not signed"
    if enrolled:
        what = "what destroys, cannot be undone or sends credentials, and where no user is there"
        return Deciders("operator", f"{queue}: {what}; {in_place}: lesser questions")
    return Deciders("host's user", f"{in_place}; {queue}: what sends credentials, and where no user is there")


def describe_counts(counts: QuestionCounts) -> Iterator[str]:
    """The parts of a line of counted questions."""
    yield f"{counts.ours:,} asked in place" + (f" ({counts.lapsed:,} lapsed)" if counts.lapsed else "")
    yield f"{counts.own:,} of the hosts' own" + (
        f", {counts.denied:,} denied by them" if counts.denied else ""
    )
