"""The stake of what waits for a person: effect, amount, reach and time, by which it is ranked, and what is alike."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from sb.base.sources import MICROSECONDS
from sb.base.text import plain
from sb.kernel.approvals.queue import RequestFacts
from sb.kernel.calls.approval import MONEY, OUTSIDE_CONFINEMENT, WRITES_OUTSIDE
from sb.kernel.contracts import SafetyClass
from sb.present.effects import SENDS_TIER, TIERS, effect_of, effect_tier, line_parts, mcp_tool

T = TypeVar("T")
PINNED_S = 1800  # what lapses within that time is at the top
LAST = len(TIERS)  # the tier of what nobody has to hurry for: stops, which hold until somebody lifts them
HERE, OUTSIDE, MACHINES, EVERYONE = range(4)
REACHES = ("", "outside the project", "other machines", "everyone")
_SHELL = "host.shell."
_NEVER = 1 << 62  # microseconds since the epoch
# Arguments that say to whom something goes, and the names of all hands.
_RECIPIENTS = (
    "to",
    "cc",
    "bcc",
    "recipients",
    "recipient",
    "channel",
    "channels",
    "audience",
    "group",
    "list",
)
_ALL_HANDS = re.compile(
    r"(?:^|[\s\"',;<#@/])(?:all|all[-_]?hands|every(?:one|body)|company|staff|channel|here|general|announcements?)"
    r"(?:[-_]?(?:list|team))?(?:@|$|[\"',;>\s])",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"\b(?:others|cloud|cluster|remote|registry|servers?|network|hosts?|websites?)\b")
_PLACES = re.compile(r"(?:^|[\s='\"])(~[^\s'\"]*|/[^\s'\"]+)")
_PASSING = ("/dev/null", "/tmp/")
# What makes a line more than one plain command, or a word more than it looks: such lines are alike only as a whole.
_MORE = re.compile(r"""[;&|<>`$(){}'"\\\n*?\[\]]""")
_SUBCOMMAND = re.compile(r"[a-z][a-z-]+")


class Stake(NamedTuple):
    """Effect, amount, reach and time of one thing that waits; times in microseconds since the epoch.

    Args:
        effect: in a word. tier: how grave that is, 0 for the gravest.
        amount, currency: of money, as the contract declares; None and "" where it declares none.
        scale: what the amount can be compared within: its currency, else its tool.
        reach: the index of one of REACHES.
        since: when it began to wait, None if that is not known. ends_at: when it lapses, None for never.
    """

    effect: str
    tier: int
    amount: float | None = None
    currency: str = ""
    scale: str = ""
    reach: int = HERE
    since: int | None = None
    ends_at: int | None = None

    @property
    def reach_words(self) -> str:
        """Its reach in words; "" within the project."""
        return REACHES[self.reach]

    def pinned(self, now: int) -> bool:
        """True if it lapses so soon that it is at the top whatever it does."""
        return self.ends_at is not None and self.ends_at - now <= PINNED_S * MICROSECONDS


def ranked(items: Iterable[T], stake: Callable[[T], Stake], now: int) -> list[T]:
    """Items by their stake, the highest first.

    Amounts of different currencies cannot be compared, so each amount counts by its place within its own.
    """
    listed = [(stake(item), item) for item in items]
    amounts: dict[str, set[float]] = {}
    for about, _ in listed:
        if about.amount is not None:
            amounts.setdefault(about.scale, set()).add(about.amount)
    places = {
        (scale, amount): place
        for scale, known in amounts.items()
        for place, amount in enumerate(sorted(known, reverse=True))
    }
    soon, unpriced = now + PINNED_S * MICROSECONDS, len(places)

    def key(pair: tuple[Stake, T]) -> tuple[bool, int, int, int, int, int]:
        about = pair[0]
        ends = _NEVER if about.ends_at is None else about.ends_at
        place = unpriced if about.amount is None else places[about.scale, about.amount]
        return ends > soon, about.tier, place, -about.reach, ends, about.since or 0

    return [item for _, item in sorted(listed, key=key)]


def amount_of(money: Any, tool_id: str) -> tuple[float | None, str, str]:
    """The amount, its currency and what it can be compared within, from what an event says of it."""
    amount = money.get("amount") if isinstance(money, dict) else None
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        return None, "", ""
    currency = plain(str(money.get("currency") or ""), one_line=True)
    return amount, currency, currency or tool_id


def request_stake(facts: RequestFacts) -> Stake:
    """The stake of a request."""
    amount, currency, scale = None, "", ""
    if facts.money:
        amount, currency, scale = amount_of(_mapping(facts.money), facts.tool_id)
    args = _mapping(facts.args) if facts.args else {}
    name, pays = _text(args.get("tool")), amount is not None
    effect, tier, reach = _judged(
        facts.tool_id, facts.safety_class, facts.reasons, _text(facts.does), name, pays
    )
    if args and tier <= SENDS_TIER and _to_all_hands(args):
        reach = EVERYONE
    elif reach == HERE and _names_outside(_text(facts.command), _text(facts.cwd)):
        reach = OUTSIDE
    return Stake(effect, tier, amount, currency, scale, reach, facts.requested_at, facts.expires_at)


def call_stake(
    tool_id: str, safety_class: str, payload: dict[str, Any], since: int | None, ends_at: int | None
) -> Stake:
    """The stake of a call that was made: one with an unknown outcome, or one to reverse.

    Args:
        safety_class: of the tool, "" where that is not known. payload: of its event.
    """
    amount, currency, scale = amount_of(payload.get(MONEY), tool_id)
    args = payload.get("args")
    name = _text(args.get("tool")) if isinstance(args, dict) else ""
    effect = effect_of(
        tool_id, safety_class or SafetyClass.LOCAL_WRITE, (), "", name, pays=amount is not None
    )
    tier = effect_tier(effect, safety_class)
    reach = MACHINES if tier <= SENDS_TIER or safety_class == SafetyClass.NETWORK else HERE
    return Stake(effect, tier, amount, currency, scale, reach, since, ends_at)


def group_of(facts: RequestFacts) -> tuple[str, str]:
    """The label of the requests that one is alike to, and what tells them from others of its agent and tool."""
    if facts.tool_id.startswith(_SHELL):
        command = _text(facts.command)
        program = line_parts(_text(facts.does))[0] or command.partition(" ")[0]
        return program, command if _MORE.search(command) else _options(command.split(), program)
    args = _mapping(facts.args)
    argv = args.get("argv")
    if isinstance(argv, list) and any(argv):
        words = [word for word in map(str, argv) if word]
        called = len(words) > 2 and _SUBCOMMAND.fullmatch(words[1])
        program = " ".join(words[: 2 if called else 1])
        return program, _options(words, program)
    server, tool = mcp_tool(_text(args.get("tool")))
    paid = _paid_to(args, _mapping(facts.money)) if facts.money else ""
    return ".".join(filter(None, (server, tool))) or facts.tool_id, f"{tool} {paid}"


def _paid_to(args: dict[str, Any], money: dict[str, Any]) -> str:
    """The arguments of a payment but for its amount: payments to somebody else, or for something else, are not alike."""
    given = args.get("input")
    known = {**args, **given} if isinstance(given, dict) else args
    rest = {name: value for name, value in known.items() if name != "input" and value != money.get("amount")}
    return json.dumps(rest, sort_keys=True)


def _options(words: Sequence[str], program: str) -> str:
    """The program with the names of all its options, in one order."""
    return " ".join([program, *sorted({word.partition("=")[0] for word in words if word[0] == "-"})])


@lru_cache(maxsize=4096)
def _judged(
    tool_id: str, safety_class: str, reasons: str | None, does: str, name: str, pays: bool
) -> tuple[str, int, int]:
    """Effect, tier and reach, as far as they do not depend on the arguments of one call."""
    rules, shell = _rules(reasons), tool_id.startswith(_SHELL)
    effect = effect_of(tool_id, safety_class, rules, does if shell else "", name, pays=pays)
    elsewhere = effect in ("leaks", "sends") or safety_class == SafetyClass.NETWORK
    if effect == "publishes":
        reach = EVERYONE
    elif elsewhere or tool_id.startswith("host.mcp") or (shell and _ELSEWHERE.search(does)):
        reach = MACHINES
    else:
        reach = OUTSIDE if {WRITES_OUTSIDE, OUTSIDE_CONFINEMENT}.intersection(rules) else HERE
    return effect, effect_tier(effect, safety_class), reach


def _names_outside(command: str, inside: str) -> bool:
    """True if a command line names a place outside of its folder."""
    if "/" not in command and "~" not in command:
        return False
    passing = (f"{inside}/", *_PASSING) if inside else _PASSING
    named = (place[1] for place in _PLACES.finditer(command))
    return any(place != inside and not place.startswith(passing) for place in named)


def _to_all_hands(args: dict[str, Any]) -> bool:
    given = args.get("input")
    known = {**args, **given} if isinstance(given, dict) else args
    return any(name in known and _ALL_HANDS.search(json.dumps(known[name])) for name in _RECIPIENTS)


def _rules(reasons: str | None) -> tuple[str, ...]:
    """The rules that ask for a person."""
    found = _json(reasons)
    return (
        tuple(str(it.get("rule")) for it in found if isinstance(it, dict)) if isinstance(found, list) else ()
    )


def _mapping(text: str | None) -> dict[str, Any]:
    found = _json(text)
    return found if isinstance(found, dict) else {}


def _json(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError, TypeError):
        return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
