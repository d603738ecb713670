"""Plans in YAML: steps with variables, conditions, bounded loops and a person's agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from sb.agent.planning import PlanError, PlannedStep, Steps
from sb.agent.references import NAME, PATH, SKIPPED, NotYet, Unknown, filled, find, head_of, names_in
from sb.base.documents import parse_yaml
from sb.base.reading import (
    Field,
    Kind,
    Place,
    Report,
    WrongValue,
    anything,
    integer,
    items,
    mapping,
    matching,
    number,
    read_fields,
    text,
)
from sb.base.text import nearest
from sb.base.values.canonical import freeze
from sb.base.values.frozen import frozen
from sb.config.rules import BOUNDS, LIMITS
from sb.config.sources import read_bytes
from sb.errors import ConfigError
from sb.kernel.contracts import ToolSpec
from sb.kernel.run_context import RunBudget

MOST_STEPS = 1_000  # that a plan may list, and times that a loop may run
_DEEPEST = 3  # loops within loops
_NAMED = matching("a name of letters, digits, - and _", NAME)
_BUDGET = (
    Field("tool_calls", integer(1, 100_000), "calls at most"),
    Field("seconds", number(0, 7 * 86_400, above=True), "spent in tools at most"),
    Field("cost_cents", number(0, 1e9), "US cents at most"),
)
_STEP = (
    Field("name", _NAMED),
    Field("tool", text("the id of a tool")),
    Field("args", mapping()),
    Field("when", mapping()),
    Field("ask", text("why a person has to agree")),
    Field("intent", text("a registered intent")),
    Field("each", Kind(lambda value, place: value, {}), "a list, or {{a reference}} to one"),
    Field("as", _NAMED),
    Field("most", integer(1, MOST_STEPS)),
    Field("steps", Kind(lambda value, place: value, {"type": "array"})),
)
_PLAN = (
    Field("agent", text("the name of an agent")),
    Field("budget", Kind(lambda value, place: read_fields(value, _BUDGET, place), {"type": "object"})),
    Field(
        "variables",
        mapping(anything(), named=lambda key: "" if PATH.fullmatch(key) and "." not in key else "is no name"),
    ),
    Field("steps", Kind(lambda value, place: value, {"type": "array"}), "the steps", required=True),
    Field("output", anything()),
)


@frozen
class PlannedCall:
    """A step that calls a tool; `when` has references with what each has to be."""

    name: str
    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)
    when: Mapping[str, Any] = field(default_factory=dict)
    ask: str = ""
    intent: str = ""


@frozen
class Loop:
    """Steps that are made for each item of a list."""

    each: Any
    item: str
    most: int
    steps: tuple[PlannedCall | Loop, ...]
    when: Mapping[str, Any] = field(default_factory=dict)


@frozen
class PlanFile:
    """A plan as its file has it; a `Planner`.

    Args:
        document: the plan in plain JSON, by which a resumed run knows it.
    """

    document: Mapping[str, Any]
    made_of: tuple[PlannedCall | Loop, ...] = field(repr=False)

    @property
    def agent(self) -> str:
        """The agent that the plan is for; "" for any."""
        return str(self.document.get("agent", ""))

    def with_variables(self, given: Mapping[str, Any]) -> PlanFile:
        """The plan with other values of its variables; raises PlanError for one that it does not have."""
        known = dict(self.document.get("variables", {}))
        for name in given:
            if name not in known:
                has = f"it has: {', '.join(known)}" if known else "it has none"
                raise PlanError(f"the plan has no variable {name}{nearest(name, known)}", has)
        return replace(self, document=freeze({**self.document, "variables": {**known, **given}})[0])

    def budget(self, default: RunBudget) -> RunBudget:
        """The budget of its runs: what the plan says, else as by default."""
        limits = self.document.get("budget", {})
        return replace(
            default,
            max_tool_calls=limits.get("tool_calls", default.max_tool_calls),
            max_latency_ms=int(limits["seconds"] * 1000) if "seconds" in limits else default.max_latency_ms,
            max_cost_usd_cents=limits.get("cost_cents", default.max_cost_usd_cents),
        )

    def steps(self, goal: str, tools: Sequence[ToolSpec], *, dry_run: bool = False) -> Steps:
        """The plan's steps in order; see `Planner`."""
        registered = {spec.tool_id for spec in tools}
        for call in _calls(self.made_of):
            if call.tool not in registered:
                near = nearest(call.tool, registered)
                raise PlanError(f"step {call.name!r}: no tool {call.tool} that this agent may use{near}")
        known: dict[str, Any] = {"goal": goal, **self.document.get("variables", {})}
        yield from _Walk(dry_run).through(self.made_of, known, "")
        return None if dry_run else filled(self.document.get("output"), known)


class _Walk:
    """One walk through a plan."""

    def __init__(self, dry_run: bool) -> None:
        self._dry_run = dry_run

    def through(self, steps: Sequence[PlannedCall | Loop], known: dict[str, Any], at: str) -> Steps:
        for step in steps:
            holds = self._holds(step.when, known)
            if holds is False:
                if isinstance(step, PlannedCall):
                    known[step.name] = SKIPPED
                continue
            if isinstance(step, Loop):
                yield from self._loop(step, known, at)
            else:
                artifact = yield self._call(step, known, at, sure=holds is True)
                known[step.name] = NotYet() if self._dry_run else artifact.output

    def _loop(self, loop: Loop, known: dict[str, Any], at: str) -> Steps:
        try:
            values = filled(loop.each, known)
        except Unknown:
            values = [NotYet()]
        if not isinstance(values, list):
            raise PlanError(f"each: {loop.each} is no list")
        if len(values) > loop.most:
            raise PlanError(f"each: {loop.each} has {len(values)} items, most: {loop.most}", "raise most:")
        for index, value in enumerate(values):
            yield from self.through(loop.steps, {**known, loop.item: value}, f"{at}[{index}]")

    def _call(self, step: PlannedCall, known: Mapping[str, Any], at: str, *, sure: bool) -> PlannedStep:
        notes = [] if sure else ["only if " + ", ".join(step.when)]
        try:
            args, ask = filled(step.args, known), str(filled(step.ask, known))
        except Unknown as unknown:
            args, ask = dict(step.args), step.ask
            notes.append(f"needs {unknown}")
        return PlannedStep(step.tool, args, step.name + at, ask, step.intent, note="; ".join(notes))

    def _holds(self, when: Mapping[str, Any], known: Mapping[str, Any]) -> bool | None:
        """True if all conditions hold; None where a dry run cannot know."""
        try:
            return all(_fits(find(reference, known), wanted) for reference, wanted in when.items())
        except Unknown:
            return None


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        return BOUNDS.read(wanted, Place(Report(""))).fits(value, allows=True)
    return value in wanted if isinstance(wanted, list) else bool(value == wanted)


def _calls(steps: Sequence[PlannedCall | Loop]) -> Iterator[PlannedCall]:
    for step in steps:
        if isinstance(step, Loop):
            yield from _calls(step.steps)
        else:
            yield step


def read_plan(path: Path) -> PlanFile:
    """The plan of a file.

    Raises:
        ConfigError: it cannot be read, or breaks a rule; with file and line.
    """
    report = Report(str(path))
    data = read_bytes(path, report)
    if data is None:
        raise ConfigError(f"{report.source}: there is no such file")
    report.require_none("")
    with suppress(WrongValue):
        return plan_of(parse_yaml(data, report), report)
    report.require_none("")
    raise AssertionError("what is wrong is in the report")


def plan_of(document: Any, report: Report) -> PlanFile:
    """The plan that a document holds.

    Raises:
        WrongValue: it breaks a rule; the report has each.
    """
    place = Place(report)
    values = read_fields(document, _PLAN, place, "a plan")
    variables = values.get("variables", {})
    for reference in names_in(variables):
        raise place.below(document, "variables").refuse(f"{{{{{reference}}}}} cannot stand in variables")
    reader = _Reader()
    known = {"goal", *variables}
    steps = reader.steps(document["steps"], place.below(document, "steps"), known, 0)
    if "output" in values:
        reader.check(values["output"], place.below(document, "output"), known)
    if report.problems:
        raise WrongValue
    return PlanFile(freeze(document)[0], steps)


class _Reader:
    """Reads the steps of one plan: each name once, and none before its step."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def steps(self, value: Any, place: Place, known: set[str], depth: int) -> tuple[PlannedCall | Loop, ...]:
        def read(item: Any, at: Place) -> PlannedCall | Loop:
            return self._step(item, at, known, depth)

        return items(Kind(read, {}), most=MOST_STEPS).read(value, place)

    def _step(self, value: Any, place: Place, known: set[str], depth: int) -> PlannedCall | Loop:
        values = read_fields(value, _STEP, place, "a step")
        if ("tool" in values) == ("each" in values):
            raise place.refuse("has to have either tool or each", "tool: ID, or each: LIST with steps:")
        wrong = ("as", "most", "steps") if "tool" in values else ("name", "args", "ask", "intent")
        for key in (key for key in wrong if key in values):
            raise place.below(value, key).refuse(
                f"does not stand beside {'tool' if 'tool' in values else 'each'}"
            )
        when = self._conditions(values.get("when", {}), value, place, known)
        if "each" in values:
            return self._loop(values, value, place, known, depth, when)
        name = values.get("name", values["tool"].rpartition(".")[2])
        if name in self._names or name in known:
            at = place.below(value, "name") if "name" in value else place
            raise at.refuse(f"the name {name!r} is taken", "give each step a name: of its own")
        for key in ("args", "ask"):
            if key in values:
                self.check(values[key], place.below(value, key), known)
        self._names.add(name)
        known.add(name)
        asks, intent = values.get("ask", ""), values.get("intent", "")
        return PlannedCall(name, values["tool"], freeze(values.get("args", {}))[0], when, asks, intent)

    def _loop(
        self,
        values: dict[str, Any],
        value: Any,
        place: Place,
        known: set[str],
        depth: int,
        when: Mapping[str, Any],
    ) -> Loop:
        if depth >= _DEEPEST:
            raise place.refuse(f"is nested deeper than {_DEEPEST} loops")
        for key in ("as", "steps"):
            if key not in values:
                raise place.refuse(f"{key} is missing", "each: LIST, as: NAME, steps: [...]")
        self.check(values["each"], place.below(value, "each"), known)
        item = values["as"]
        if item in known or item in self._names:
            raise place.below(value, "as").refuse(f"the name {item!r} is taken")
        inner = self.steps(values["steps"], place.below(value, "steps"), {*known, item}, depth + 1)
        return Loop(freeze(values["each"])[0], item, values.get("most", 100), inner, when)

    def _conditions(
        self, when: Mapping[str, Any], value: Any, place: Place, known: set[str]
    ) -> Mapping[str, Any]:
        at = place.below(value, "when") if when else place
        for reference, wanted in when.items():
            here = at.below(when, reference)
            self._check_reference(reference, here, known)
            if isinstance(wanted, Mapping) and set(wanted) & set(LIMITS):
                BOUNDS.read(wanted, here)
            elif isinstance(wanted, Mapping):
                raise here.refuse("must be a value, a list of them, or {above: 1000}")
        return freeze(dict(when))[0]  # type: ignore[no-any-return]

    def check(self, value: Any, place: Place, known: set[str]) -> None:
        """Report references to what is not known at that point."""
        for reference in names_in(value):
            self._check_reference(reference, place, known)

    def _check_reference(self, reference: str, place: Place, known: set[str]) -> None:
        head = head_of(reference)
        if head not in known:
            has = f"known here: {', '.join(sorted(known))}"
            raise place.refuse(
                f"{{{{{reference}}}}} names no variable or earlier step{nearest(head, known)}", has
            )
