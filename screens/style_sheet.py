"""The console's style sheet, which is parsed once for each theme and matched once for each kind of place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple

from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.styles import RulesMap
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

MOST_SHEETS = 64  # whose matches are kept: each screen that is opened brings further sources
Place = int  # numbers what selectors can tell of a node and of all that it stands in
TOP: Place = -1


class Match(NamedTuple):
    """What the style sheet has for a node at one place."""

    rules: RulesMap | None  # None: nothing
    has_hover_style: bool


class Matches(NamedTuple):
    """What is known by now of one list of rules."""

    pseudo_classes: tuple[str, ...]  # that any rule asks for
    checks: dict[type[DOMNode], list[Callable[[Any], bool]]]  # for those that a node of this class can have
    places: dict[tuple[object, ...], Place]
    by_place: dict[Place, Match]


class ConsoleStyleSheet(Stylesheet):
    """Keeps the rules of each source while the variables stay the same, and what they say of each place.

    Textual parses every source again, twice, when a screen is shown for the first time: 40 ms in which no key is read.
    It also matches all rules with each part of each widget anew, two or three times when another screen is shown: a
    third of what that takes.
    """

    _matches_of: ClassVar[LRUCache[tuple[RuleSet, ...], Matches]] = LRUCache(MOST_SHEETS)
    _matched_rules: list[RuleSet] | None = None
    _matches: Matches
    _places: dict[DOMNode, Place] | None = None  # within one pass, in which no node changes its place

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        self.parse()

    def update_nodes(self, nodes: Iterable[DOMNode], animate: bool = False) -> None:
        self._places = {}
        try:
            super().update_nodes(nodes, animate)
        finally:
            self._places = None

    def apply(
        self, node: DOMNode, *, animate: bool = False, cache: dict[tuple[object, ...], RulesMap] | None = None
    ) -> None:
        matches = self._current_matches()
        place = self._place(node, matches)
        match = matches.by_place.get(place)
        if match is None:
            found: dict[tuple[object, ...], RulesMap] = {}
            super().apply(node, animate=animate, cache=found)
            # Rules about the order of siblings, and about what has the focus within, say nothing of a place.
            if not (node._has_focus_within or node._has_order_style or node._has_odd_or_even):
                matches.by_place[place] = Match(next(iter(found.values()), None), node._has_hover_style)
            return
        node._has_hover_style = match.has_hover_style
        node._has_focus_within = node._has_order_style = node._has_odd_or_even = False
        if match.rules is not None:
            self.replace_rules(node, match.rules, animate=animate)
        self._process_component_classes(node)

    def _current_matches(self) -> Matches:
        rules = self.rules
        if rules is not self._matched_rules:
            key = tuple(rules)
            matches = self._matches_of.get(key)
            if matches is None:
                names = {name for rule in rules for name in rule.pseudo_classes}
                matches = Matches(tuple(names - self._EXCLUDE_PSEUDO_CLASSES_FROM_CACHE), {}, {}, {})
                self._matches_of[key] = matches
            self._matched_rules, self._matches = rules, matches
        return self._matches

    def _place(self, node: DOMNode, matches: Matches) -> Place:
        if self._places is not None and node in self._places:
            return self._places[node]
        checks = matches.checks.get(type(node))
        if checks is None:
            known = node._PSEUDO_CLASSES
            checks = [known[name] for name in matches.pseudo_classes if name in known]
            matches.checks[type(node)] = checks
        state = tuple([check(node) for check in checks])
        parent = node._parent
        above = self._place(parent, matches) if isinstance(parent, DOMNode) else TOP
        key = (type(node), node._id, frozenset(node._classes), state, above)
        place = matches.places.setdefault(key, len(matches.places))
        if self._places is not None:
            self._places[node] = place
        return place
