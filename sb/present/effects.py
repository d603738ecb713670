"""Effects of calls: what a request would do in a word, in a phrase, how grave that is, and why it waits."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from functools import lru_cache
from itertools import pairwise

from sb.base.text import plain, shorten_middle
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.calls.approval import CREDENTIALS_LEAVE, CREDENTIALS_READ, MONEY, SENDS, SENT_AFTER_READING
from sb.kernel.contracts import SafetyClass

BETWEEN = " · "
LONGEST_EFFECT = 10  # cells
_SHELL = "host.shell."
_EFFECTS = {
    SafetyClass.READ_ONLY: "reads",
    SafetyClass.LOCAL_WRITE: "writes",
    SafetyClass.NETWORK: "network",
    SafetyClass.DESTRUCTIVE: "destroys",
}
_PHRASES: dict[str, str] = {
    SafetyClass.READ_ONLY: "only reads",
    SafetyClass.LOCAL_WRITE: "writes on this machine",
    SafetyClass.NETWORK: "reaches other machines",
    SafetyClass.DESTRUCTIVE: "hard or impossible to take back, so a person approves it",
}
_NAMED = re.compile(r"[^\s,;:()\"']*[/.~@_$-][^\s,;:()\"']*")  # a path, a host, an option: no word of prose
_VALUES = re.compile(r"(?<=\w=)[^,]+")  # in a call as lists show it: `bank.pay amount=25, to=bob`
_SHORTEST_NAME = 4
_LONGEST_ABOUT = 60  # characters of the object of a call in its reason
_LONGEST_REASON = 400  # characters of a reason in which names are looked for: an agent can make it a megabyte
_JOINED = re.compile(r"\w+s\b(?:(?:, | or |, or )\w+s\b(?! of))*")  # verbs: "deletes, stops or opens"
_REDIRECTS = re.compile(r"^(?:\d|&)?>[>|]? ")  # what a shell does with an output
LEAKS = "leaks"
# What a call does by the rule that asks for a person, the worst first: a word and a phrase.
_BY_RULE = {
    CREDENTIALS_LEAVE: (LEAKS, "sends a credential away, for good"),
    SENT_AFTER_READING: ("sends", "sends data from a session that has read credentials"),
    CREDENTIALS_READ: ("reveals", "shows a credential to the agent"),
    SENDS: ("sends", "sends data to another host"),
}


# How grave an effect is, the gravest first, with its words: our parser's verbs, and those of tools' names.
TIERS = {
    LEAKS: LEAKS,
    "destroys": (
        "destroys deletes drops removes overwrites erases discards forgets rewrites replaces formats ends stops kills"
        " reverts cancels"
    ),
    "sends": "sends publishes reveals merges copies",
    "pays": "pays",
    "changes": "",
    "writes": "",  # on this machine, as its class says
    "reads": "reads lists shows",
}
_TIER = {word: number for number, words in enumerate(TIERS.values()) for word in words.split()}
_, _DESTROYS, SENDS_TIER, _PAYS, CHANGES, WRITES, READS = range(len(TIERS))
# What a tool does by a word of its name, where its class says that it reaches or destroys something.
_VERBS = {
    "deletes": "delete del drop remove rm rmdir destroy purge erase wipe truncate unlink trash flush uninstall",
    "stops": "terminate kill stop shutdown revoke",
    "pays": "pay payout refund charge withdraw purchase buy wire donate transfer",
    "publishes": "publish deploy release announce broadcast",
    "sends": "send reply post share upload email mail notify invite message push forward",
    "runs": "execute exec run shell eval",
}
_DOES = {verb: word for word, verbs in _VERBS.items() for verb in verbs.split()}
_READING = frozenset("get list search find read view show describe query fetch lookup count".split())
_TOKENS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_MCP_NAME = re.compile(r"mcp__(.+?)__(.+)", re.DOTALL)


def effect_word(safety_class: str) -> str:
    """The effect of a class of calls, in at most eight characters."""
    return _EFFECTS[SafetyClass(safety_class)] if safety_class in list(SafetyClass) else safety_class


def effect_of(
    tool_id: str,
    safety_class: str,
    rules: Collection[str] = (),
    does: str = "",
    name: str = "",
    *,
    pays: bool = False,
) -> str:
    """A call's effect in a word.

    Args:
        rules: that ask for a person. does: the parser's reason for a command line, or "".
        name: the host's own name of the tool. pays: its contract declares an amount of money.
    """
    if worse := _by_rule(rules, safety_class):
        return worse[0]
    if safety_class not in (SafetyClass.DESTRUCTIVE, SafetyClass.NETWORK):
        return effect_word(safety_class)
    if tool_id.startswith(_SHELL):
        verb = _gravest(line_parts(does)[1])
        return verb if verb and safety_class == SafetyClass.DESTRUCTIVE else effect_word(safety_class)
    return "pays" if pays else _named(name or tool_id) or effect_word(safety_class)


def _gravest(does: str) -> str:
    """The gravest of the verbs that a part of the parser's reason begins with, as in "changes or deletes"; "" for none."""
    verbs = _JOINED.match(does)
    words = re.findall(r"\w+s\b", verbs[0]) if verbs else []
    return min(words, key=lambda word: _TIER.get(word, CHANGES), default="")


@lru_cache(maxsize=4096)
def line_parts(does: str) -> tuple[str, str]:
    """The program with its subcommand and options in the parser's reason for a line, and what that does.

    Both "" where no part of the reason begins with a verb.
    """
    parts = does[:_LONGEST_REASON].split(": ")
    for before, part in pairwise(parts):
        verb = part.partition(" ")[0].rstrip(",")
        if verb.endswith("s") and verb.isalpha() and len(verb) <= LONGEST_EFFECT:
            return _REDIRECTS.sub("writes ", before), part
    return "", ""


def _named(name: str) -> str:
    """The effect of a tool by its name; "" where no word of it says so, or it begins with one that reads."""
    words = [word.lower() for word in _TOKENS.findall(mcp_tool(name)[1].rpartition(".")[2])]
    if words and words[0] in _READING:
        return ""
    return next((_DOES[word] for word in words if word in _DOES), "")


def effect_tier(word: str, safety_class: str) -> int:
    """The gravity of an effect, 0 for the gravest; a payment that nothing takes back counts as what destroys."""
    tier = _TIER.get(word, WRITES if safety_class == SafetyClass.LOCAL_WRITE else CHANGES)
    return _DESTROYS if tier == _PAYS and safety_class == SafetyClass.DESTRUCTIVE else tier


def is_grave(word: str) -> bool:
    """True for an effect that leaks a credential or destroys something."""
    return _TIER.get(word, CHANGES) <= _DESTROYS


def mcp_tool(name: str) -> tuple[str, str]:
    """The server and the tool in a host's name of it; "" for the server of any other."""
    named = _MCP_NAME.fullmatch(name)
    return (named[1], named[2]) if named else ("", name)


def request_effect(disclosed: Disclosure) -> str:
    """A call's effect in a word: with credentials, of a destructive line the parser's verb, else its tool's or class's."""
    asked = disclosed.approval
    return effect_of(
        asked.tool_id,
        asked.safety_class,
        tuple(rule for rule, _ in _reasons(disclosed)),
        command_does(disclosed),
        _argument(disclosed, "tool"),
        pays=MONEY in asked.request,
    )


def gravity(disclosed: Disclosure) -> int:
    """The tier of a request's effect, 0 for the gravest."""
    return effect_tier(request_effect(disclosed), disclosed.approval.safety_class)


def request_effect_phrase(disclosed: Disclosure) -> str:
    """The same in a few words; "" where the reason says it."""
    safety_class = disclosed.approval.safety_class
    if worse := _by_rule([rule for rule, _ in _reasons(disclosed)], safety_class):
        return worse[1]
    return _PHRASES.get(safety_class, safety_class)


def _by_rule(rules: Collection[str], safety_class: str) -> tuple[str, str] | None:
    """The effect on credentials or other hosts, if it is worse than that of the class."""
    worse = (CREDENTIALS_LEAVE,) if safety_class == SafetyClass.DESTRUCTIVE else _BY_RULE
    return next((_BY_RULE[rule] for rule in worse if rule in rules), None)


def telling_words(call: str, why: str) -> tuple[str, ...]:
    """The files, hosts and options of a call that the reason names, else its values: what is left in a narrow list."""
    named = (word.strip(".-") for word in _NAMED.findall(why[:_LONGEST_REASON]))
    found = dict.fromkeys(word for word in named if len(word) >= _SHORTEST_NAME and word in call)
    return tuple(found or dict.fromkeys(_VALUES.findall(call)))


def request_why(disclosed: Disclosure) -> str:
    """The reason why a call waits: what it does, unless only other rules ask; else the first of theirs.

    A reason that names only the safety class says less than the parser, or the tool.
    """
    reasons = sorted(request_reasons(disclosed), key=lambda reason: _is_class(reason[0]))
    return BETWEEN.join(dict.fromkeys(text for _, text in reasons if text))


def request_reasons(disclosed: Disclosure) -> list[tuple[str, str]]:
    """The rules that ask for a person, each with its reason; that of the safety class is what the call does."""
    does = _does(disclosed)
    reasons = [(rule, does if _is_class(rule) else text) for rule, text in _reasons(disclosed)]
    return [(rule, _REDIRECTS.sub("writes ", text)) for rule, text in reasons or [("", does)]]


def _is_class(rule: str) -> bool:
    return rule in list(SafetyClass)


def _does(disclosed: Disclosure) -> str:
    """The deed of a call: the parser's words of a command line, else its tool, what that does, and where."""
    if line := command_does(disclosed):
        return line
    server, tool = mcp_tool(_argument(disclosed, "tool"))
    if tool:
        where = f" on {server}" if server else ""
        return f"{tool}: {_verb(disclosed)} {_about(disclosed)}".rstrip() + where
    request = disclosed.approval.request
    about = plain(str(request.get("description") or ""), one_line=True).partition(". ")[0].rstrip(".")
    name = plain(str(request.get("tool") or disclosed.approval.tool_id), one_line=True)
    return f"{name}: {shorten_middle(about or f'{_verb(disclosed)} {_about(disclosed)}'.rstrip(), _LONGEST_ABOUT)}"


def _verb(disclosed: Disclosure) -> str:
    word = request_effect(disclosed)
    return "reaches" if word == "network" else word


def _about(disclosed: Disclosure) -> str:
    """The object of a tool's call: the first text or number that it is given, of an MCP tool in its input."""
    for item in disclosed.arguments:
        if item.name in ("tool", "server", "why", "cwd"):
            continue
        try:
            value = json.loads(item.text())
        except (ValueError, RecursionError):
            continue  # a part of it is hidden
        values = value.values() if isinstance(value, dict) else (value,)
        if found := next((it for it in values if isinstance(it, str | int | float) and it is not True), ""):
            return shorten_middle(plain(str(found), one_line=True), _LONGEST_ABOUT)
    return ""


def _argument(disclosed: Disclosure, name: str) -> str:
    return next((item.text() for item in disclosed.arguments if item.name == name), "").strip('"')


def command_does(disclosed: Disclosure) -> str:
    """The parser's verb for a command line; "" for any other call."""
    if not disclosed.approval.tool_id.startswith(_SHELL):
        return ""
    return _argument(disclosed, "why")


def _reasons(disclosed: Disclosure) -> list[tuple[str, str]]:
    """The rules that ask for a person, each with its reason."""
    reasons = disclosed.approval.request.get("reasons")
    return [
        (str(item.get("rule", "")), plain(str(item.get("reason", "")), one_line=True))
        for item in (reasons if isinstance(reasons, list) else ())
        if isinstance(item, dict)
    ]
