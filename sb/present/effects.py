"""Effects of calls: what a request would do in a word, in a phrase, and why it waits."""

from __future__ import annotations

import re

from sb.base.text import plain
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.calls.approval import CREDENTIALS_LEAVE, CREDENTIALS_READ, SENDS, SENT_AFTER_READING
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
    SafetyClass.DESTRUCTIVE: "destructive: hard or impossible to take back",
}
_NAMED = re.compile(r"[^\s,;:()\"']*[/.~@_$-][^\s,;:()\"']*")  # a path, a host, an option: no word of prose
_SHORTEST_NAME = 4
_LONGEST_REASON = 400  # characters of a reason in which names are looked for: an agent can make it a megabyte
_REDIRECTS = re.compile(r"^(?:\d|&)?>[>|]? ")  # what a shell does with an output
# What a call does by the rule that asks for a person, the worst first: a word and a phrase.
_BY_RULE = {
    CREDENTIALS_LEAVE: ("leaks", "sends a credential away, for good"),
    SENT_AFTER_READING: ("sends", "sends data from a session that has read credentials"),
    CREDENTIALS_READ: ("reveals", "shows a credential to the agent"),
    SENDS: ("sends", "sends data to another host"),
}


def effect_word(safety_class: str) -> str:
    """The effect of a class of calls, in at most eight characters."""
    return (
        _EFFECTS.get(SafetyClass(safety_class), safety_class)
        if safety_class in list(SafetyClass)
        else safety_class
    )


def request_effect(disclosed: Disclosure) -> str:
    """A call's effect in a word: with credentials, of a destructive line the parser's verb, else its class's."""
    if with_credentials := _with_credentials(disclosed):
        return with_credentials[0]
    if disclosed.approval.tool_id == _SHELL + SafetyClass.DESTRUCTIVE:
        verb = command_does(disclosed).rpartition(": ")[2].partition(" ")[0]
        if verb.endswith("s") and len(verb) <= LONGEST_EFFECT:
            return verb
    return effect_word(disclosed.approval.safety_class)


def request_effect_phrase(disclosed: Disclosure) -> str:
    """The same in a few words; "" where the reason says it."""
    if with_credentials := _with_credentials(disclosed):
        return with_credentials[1]
    safety_class = disclosed.approval.safety_class
    return "" if safety_class in request_why(disclosed) else _PHRASES.get(safety_class, safety_class)


def _with_credentials(disclosed: Disclosure) -> tuple[str, str] | None:
    """The call's effect on credentials, if it is worse than that of its class."""
    rules = {rule for rule, _ in _reasons(disclosed)}
    destroys = disclosed.approval.safety_class == SafetyClass.DESTRUCTIVE
    worse = (CREDENTIALS_LEAVE,) if destroys else _BY_RULE
    return next((_BY_RULE[rule] for rule in worse if rule in rules), None)


def telling_words(call: str, why: str) -> tuple[str, ...]:
    """The files, hosts and options of a call that the reason names: what is left of it in a narrow list."""
    named = (word.strip(".-") for word in _NAMED.findall(why[:_LONGEST_REASON]))
    return tuple(dict.fromkeys(word for word in named if len(word) >= _SHORTEST_NAME and word in call))


def request_why(disclosed: Disclosure) -> str:
    """The reason why a call waits: the parser's for a command line, unless only other rules ask; else the first.

    A reason that names only the safety class says less than the parser.
    """
    reasons, does = _reasons(disclosed), command_does(disclosed)
    if not does:
        return reasons[0][1] if reasons else ""
    others = [text for rule, text in reasons if rule not in list(SafetyClass)]
    texts = [*others, does] if len(others) < len(reasons) or not others else others
    return BETWEEN.join(_REDIRECTS.sub("writes ", text) for text in texts)


def command_does(disclosed: Disclosure) -> str:
    """The parser's verb for a command line; "" for any other call."""
    if not disclosed.approval.tool_id.startswith(_SHELL):
        return ""
    return next((item.text() for item in disclosed.arguments if item.name == "why"), "").strip('"')


def _reasons(disclosed: Disclosure) -> list[tuple[str, str]]:
    """The rules that ask for a person, each with its reason."""
    reasons = disclosed.approval.request.get("reasons")
    return [
        (str(item.get("rule", "")), plain(str(item.get("reason", "")), one_line=True))
        for item in (reasons if isinstance(reasons, list) else ())
        if isinstance(item, dict)
    ]
