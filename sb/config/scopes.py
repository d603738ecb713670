"""The one policy of memory, `memory.scopes`: rules by pattern of scopes, and the answer to each question about a scope.

Of the patterns that mean a scope, the longest that answers a question counts, and the scope's own name before all; of
several of one length the strictest answer. Sources: the memory whitepaper, "rbac"; the survival layer, "memory-read policy".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import reduce
from typing import Any, NamedTuple

from sb.base.reading import (
    Field,
    Kind,
    Place,
    choice,
    duration,
    flag,
    listing,
    mapping,
    matching,
    number,
    record,
    text,
)
from sb.base.values.frozen import frozen
from sb.config.kinds import SCOPE
from sb.config.memory_gate import DEFAULTS, HIGHER_IS_STRICTER, GateSettings, gate_kind
from sb.config.narrowing import Narrow
from sb.config.scope_patterns import ANY, any_matches, matches
from sb.errors import UsageError

READ, WRITE, PROMOTE, SHARE = RIGHTS = ("read", "write", "promote", "share")
# What withholds memories: a rule about one right closes a scope for the others.
READING = (*RIGHTS, "purpose", "consent", "max_age")
_STORING_LESS = ("keep", "escalate", "redact", "drop")  # each stricter than those before
_OF_ONE_LAYER = ("purpose", "gate", "includes")  # of two answers of different layers none is the stricter
Rule = Mapping[str, Any]


class Answer(NamedTuple):
    """An answer of the policy, and the patterns that give it; none where nothing is configured."""

    value: Any
    patterns: tuple[str, ...] = ()


class Question(NamedTuple):
    """One key of a rule.

    Args:
        otherwise: the answer where no pattern gives one. strictest: of two answers, the stricter.
        part: what a rule's value says of a part, such as a category; None for nothing. By default a value has no parts.
        parts: the parts that a value names.
    """

    kind: Kind[Any]
    about: str
    otherwise: Any
    strictest: Callable[[Any, Any], Any]
    part: Callable[[Any, Any], Any] = lambda value, part: value
    parts: Callable[[Any], Iterable[Any]] = lambda value: ((),)


def _common(some: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    """The patterns of agents that two lists have in common, each within a pattern of the other list."""
    both = [agent for agent in others if any_matches(some, agent)]
    return tuple(dict.fromkeys((*both, *(agent for agent in some if any_matches(others, agent)))))


def _retention() -> Kind[Mapping[str, int]]:
    label = "a duration such as 90d, or a mapping of categories or kinds (* for all) to durations"
    kind, several = duration(label), mapping(duration(), label)

    def read(value: Any, place: Place) -> Mapping[str, int]:
        return several.read(value, place) if isinstance(value, Mapping) else {ANY: kind.read(value, place)}

    return Kind(read, {"anyOf": [kind.schema, several.schema]}, label)


def _kept(value: Mapping[str, int], names: Iterable[str]) -> tuple[int, str] | None:
    """The seconds for memories of these names, a kind and a category, and the name they are of; the shortest of several."""
    durations = [(value[name], name) for name in names if name in value]
    return min(durations or [(value[name], name) for name in value if name == ANY], default=None)


_AGENTS = listing(matching("an agent's name, or a pattern such as support-*", r"[^\x00-\x1f\x7f]+"))
_SCOPES = listing(matching("global, or TYPE:NAME such as team:web", SCOPE))
_ACTIONS = choice("keep", "redact", "drop", "escalate")
QUESTIONS: Mapping[str, Question] = {
    READ: Question(_AGENTS, "agents that find and see its memories", (ANY,), _common),
    WRITE: Question(_AGENTS, "agents that save and change them", (ANY,), _common),
    PROMOTE: Question(_AGENTS, "agents that make beliefs of episodes, and accept suggestions", (ANY,), _common),
    SHARE: Question(_AGENTS, "agents that hand over, export and sync them", (ANY,), _common),
    "purpose": Question(text("a purpose, such as support"), "for what they are read, as the log has it", "", min),
    "consent": Question(flag(), "true: everybody whom a memory is about has to have agreed", False, max),
    "max_age": Question(
        duration(), "time without a change after which a memory is withheld; 0s for never", 0,
        lambda *ages: min(filter(None, ages), default=0),
    ),
    "personal_data": Question(
        _ACTIONS, "what is done about personal data in what agents write", "keep",
        lambda *actions: max(actions, key=_STORING_LESS.index),
    ),
    "retention": Question(
        _retention(), "how long memories are kept", None, min, _kept, lambda value: ((name,) for name in value)
    ),
    "gate": Question(
        gate_kind(), "what a memory has to be worth to be saved as one of its own", None, min,
        lambda value, part: value.get(part[0], {}).get(part[1], value.get(ANY, {}).get(part[1])),
        lambda value: ((category, name) for category, numbers in value.items() for name in numbers),
    ),
    "includes": Question(
        _SCOPES, "scopes that a session there reads as well, with what they include", (),
        lambda some, others: tuple(scope for scope in some if scope in others),
    ),
    "trust_floor": Question(number(0, 1), "the least trust of what agents find, and of its sources", 0.0, max),
}  # fmt: skip


def _strictest(name: str, part: Any, answers: Iterable[Any]) -> Any:
    higher = name == "gate" and not HIGHER_IS_STRICTER.isdisjoint(part)
    return reduce(max if higher else QUESTIONS[name].strictest, answers)


@frozen
class Scopes:
    """The rules of memory; of several layers, such as an organization's and a home's, the strictest answer counts."""

    layers: tuple[Mapping[str, Rule], ...] = ()
    _known: dict[Any, Answer] = field(default_factory=dict, compare=False, repr=False)

    def answer(self, name: str, scope: str, part: Any = ()) -> Any:
        """The answer to a question of QUESTIONS about a scope.

        Args:
            part: of retention, the kind and the category of a memory; of the gate, a category and the name of a number.
        """
        return self.explain(name, scope, part).value

    def explain(self, name: str, scope: str, part: Any = ()) -> Answer:
        """The answer to a question, with the patterns that give it."""
        key = name, scope, part
        if key not in self._known:
            found = [own for layer in self.layers if (own := _answered(layer, name, scope, part))]
            patterns = tuple(dict.fromkeys(by for item in found for by in item.patterns))
            values = [item.value for item in found] or [QUESTIONS[name].otherwise]
            self._known[key] = Answer(_strictest(name, part, values), patterns)
        return self._known[key]

    def parts(self, name: str, scope: str) -> tuple[Any, ...]:
        """The parts of a question that the rules of a scope name."""
        rules = [rule for layer in self.layers for pattern, rule in layer.items() if matches(pattern, scope)]
        values = [rule[name] for rule in rules if name in rule]
        return tuple(dict.fromkeys(part for value in values for part in QUESTIONS[name].parts(value)))

    def allows(self, right: str, scope: str, agent: str) -> bool:
        """True if an agent has one of RIGHTS in a scope; "" for somebody who is not named, whom `*` alone means."""
        return any_matches(self.answer(right, scope), agent)

    def values(self, *names: str) -> list[Any]:
        """All that rules say to these questions, of any scope."""
        rules = (rule for layer in self.layers for rule in layer.values())
        return [rule[name] for rule in rules for name in names if name in rule]

    @property
    def plain(self) -> Any:
        """The rules as they are written; a list of layers where there are several."""
        return self.layers if len(self.layers) > 1 else self.layers[0] if self.layers else {}


def _answered(layer: Mapping[str, Rule], name: str, scope: str, part: Any) -> Answer | None:
    """The answer of one layer; None where no rule of it says anything."""

    def rank(pattern: str) -> tuple[bool, int]:
        return pattern == scope, len(pattern)

    rules = {pattern: rule for pattern, rule in layer.items() if matches(pattern, scope)}
    answers = {by: QUESTIONS[name].part(rule[name], part) for by, rule in rules.items() if name in rule}
    if answers := {by: value for by, value in answers.items() if value is not None}:
        patterns = tuple(by for by in answers if rank(by) == max(map(rank, answers)))
        return Answer(_strictest(name, part, (answers[by] for by in patterns)), patterns)
    # A scope with a rule about rights is closed to whom no rule names.
    closing = tuple(by for by, rule in rules.items() if name in RIGHTS and not rule.keys().isdisjoint(RIGHTS))
    return Answer((), closing) if closing else None


def scopes_of(rules: Mapping[str, Rule]) -> Scopes:
    """The policy of these rules."""
    return Scopes((rules,)) if rules else Scopes()


def scopes_kind() -> Kind[Scopes]:
    """Scopes or patterns of scopes, each with a rule."""
    fields = [Field(name, question.kind, question.about) for name, question in QUESTIONS.items()]
    rule = record(fields, lambda values, place: values, "a mapping of its rules")
    rules = mapping(rule, f"a mapping of scopes, such as customer:*, to {', '.join(QUESTIONS)}", _no_pattern)
    return Kind(lambda value, place: scopes_of(rules.read(value, place)), rules.schema, rules.label)


def _no_pattern(name: str) -> str:
    fits = SCOPE.fullmatch(name) or (ANY in name and name.isprintable() and " " not in name)
    return "" if fits else "is no scope, and no pattern such as project:*"


def stricter_scopes(*names: str) -> Narrow[Scopes]:
    """Another layer of rules, of these questions alone: fewer agents for each right, a higher trust floor.

    A purpose, the gate and what is included are set by one layer alone, since none of two is the stricter.
    """

    def apply(ours: Scopes, theirs: Scopes) -> tuple[Scopes, tuple[str, ...]]:
        if ours.layers and theirs.layers[: len(ours.layers)] == ours.layers:
            return theirs, ()  # they were narrowed before
        refused: list[str] = []
        layers: list[dict[str, dict[str, Any]]] = [{by: {} for by in layer} for layer in theirs.layers]
        for layer, narrower in zip(theirs.layers, layers, strict=True):
            for by, name in ((by, name) for by, rule in layer.items() for name in rule):
                if name not in names or (name in _OF_ONE_LAYER and ours.values(name)):
                    refused.append(f"{by} {name}")
                else:
                    narrower[by][name] = layer[by][name]
                    refused += _wider(ours, name, by, layer[by][name])
        found = [{by: rule for by, rule in layer.items() if rule} for layer in layers]
        return Scopes((*ours.layers, *filter(None, found))), tuple(refused)

    return Narrow("fewer agents for each right, a higher trust_floor", apply)


def _wider(ours: Scopes, name: str, pattern: str, asked: Any) -> Iterator[str]:
    """The parts of what is asked for that do not count, since the rules in force are stricter."""
    question = QUESTIONS[name]
    for part in question.parts(asked):
        answer, wish = ours.explain(name, pattern, part), question.part(asked, part)
        if not answer.patterns:
            continue
        if name in RIGHTS:
            yield from (f"{pattern} {name} {agent}" for agent in wish if not any_matches(answer.value, agent))
        elif _strictest(name, part, (answer.value, wish)) != wish:
            yield f"{pattern} {name} {wish}"


def gate_settings(scopes: Scopes, scope: str, category: str) -> GateSettings:
    """Returns the gate's settings for a category in a scope: the defaults, and what rules change.

    Raises:
        UsageError: what is configured for them does not fit together.
    """
    names = {name for named, name in scopes.parts("gate", scope) if named in (ANY, category)}
    changes = {name: scopes.answer("gate", scope, (category, name)) for name in names}
    found = replace(DEFAULTS.get(category, GateSettings()), **changes)
    if problem := found.problem():
        raise UsageError(
            f"memory.scopes: the gate of {category} in {scope}: {problem}", "correct it in config.yaml"
        )
    return found
