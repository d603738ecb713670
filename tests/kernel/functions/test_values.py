"""Arguments of a governed function: made from the record, and equal to what its caller passed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, TypedDict
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.values.canonical import freeze
from sb.errors import ContractError
from sb.kernel import RunContext, SafetyClass, ToolArgSchema, ToolExecutor, ToolRegistry, ToolResult, governed
from sb.kernel.functions.governed import GovernedFunction
from sb.kernel.functions.values import from_json, json_type, to_json
from tests.rows import rows


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1


class Kind(StrEnum):
    BOOK = "book"


@dataclass(frozen=True)
class Line:
    item: str
    price: Decimal = Decimal(0)
    tags: frozenset[str] = field(default_factory=frozenset)


@dataclass
class Order:
    day: date
    lines: list[Line]


class Options(TypedDict, total=False):
    after: date


Name = NewType("Name", str)

TYPES: list[tuple[Any, str, Any]] = [
    (int, "integer", 3),
    (float, "number", 2.5),
    (bool, "boolean", True),
    (str | None, "any", None),
    (int | None, "any", 3),
    (Any, "any", {"a": [1]}),
    (Name, "string", Name("ada")),
    (Annotated[int, "how many"], "integer", 3),
    (Literal["a", "b"], "string", "a"),
    (Literal["a", 1], "any", 1),
    (Colour, "string", Colour.RED),
    (Literal[Colour.RED], "string", Colour.RED),
    (Size, "integer", Size.SMALL),
    (Kind, "string", Kind.BOOK),
    (datetime, "string", datetime(2026, 1, 2, 3, 4, tzinfo=UTC)),
    (date, "string", date(2026, 1, 2)),
    (time, "string", time(3, 4)),
    (date | None, "any", date(2026, 1, 2)),
    (int | date, "any", date(2026, 1, 2)),
    (UUID, "string", UUID(int=7)),
    (Path, "string", Path("a/b")),
    (Decimal, "string", Decimal("0.10")),
    (list[date], "array", [date(2026, 1, 2)]),
    (tuple[int, date], "array", (1, date(2026, 1, 2))),
    (tuple[Path, ...], "array", (Path("a"), Path("b"))),
    (set[str], "array", {"b", "a"}),
    (frozenset[Colour], "array", frozenset({Colour.RED})),
    (dict[Colour, Path], "object", {Colour.RED: Path("a")}),
    (Options, "object", {"after": date(2026, 1, 2)}),
    (Order, "object", Order(date(2026, 1, 2), [Line("tea", Decimal("2.50"), frozenset({"x"}))])),
]


@rows("annotation, kind, value", TYPES)
def test_a_value_is_made_again_of_its_recorded_form(annotation: Any, kind: str, value: Any) -> None:
    recorded, _ = freeze(to_json(value))
    assert json_type(annotation) == kind
    again = from_json(annotation, recorded)
    assert again == value
    assert type(again) is type(value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_json_has_stays_as_it_is(value: Any) -> None:
    assert to_json(value) == value
    assert from_json(Any, value) == value


@given(st.lists(st.integers(-1000, 1000)))
def test_equal_sets_are_equal_on_record(values: list[int]) -> None:
    assert to_json(set(values)) == to_json(frozenset(reversed(values)))


class Opaque:
    pass


@rows("annotation", [Opaque, bytes, list[Opaque], dict[str, Opaque], int | Opaque, complex])
def test_what_cannot_be_on_record_is_said_when_the_function_is_decorated(annotation: Any) -> None:
    def act(what):  # type: ignore[no-untyped-def]
        ...

    act.__annotations__ = {"what": annotation}
    with pytest.raises(
        ContractError, match=r"parameter 'what': .*cannot be put on record.*injected=\(\"what\",\)"
    ):
        governed(act)
    act.__annotations__ = {"return": annotation}
    with pytest.raises(ContractError, match="what it returns"):
        governed(act)


def contract(fn: Any) -> GovernedFunction:
    function = fn.governed
    assert isinstance(function, GovernedFunction)
    return function


def test_the_contract_is_read_off_the_function() -> None:
    @governed(safety_class=SafetyClass.NETWORK, sensitive=("pin",), injected=("context",), timeout_ms=9_000)
    def send_mail(
        context: Opaque,
        to: Annotated[str, "an address"],
        copies: int = 1,
        pin: str | None = None,
        note: str = None,  # type: ignore[assignment]  # noqa: RUF013 - many write it so
    ) -> list[str]:
        """Send one mail.

        It is gone then.
        """
        return [to]

    spec = contract(send_mail).spec
    assert spec.tool_id.endswith("test_values.test_the_contract_is_read_off_the_function.send_mail")
    assert (spec.name, spec.description) == ("Send mail", "Send one mail.\n\nIt is gone then.")
    assert spec.args_schema == [
        ToolArgSchema("to", "string", description="an address"),
        ToolArgSchema("copies", "integer", required=False),
        ToolArgSchema("pin", "any", required=False, sensitive=True),
        ToolArgSchema("note", "any", required=False),
    ]
    assert spec.returns_schema.type == "array"
    assert (spec.safety_class, spec.timeout_ms, spec.max_retries) == (SafetyClass.NETWORK, 9_000, 0)


def test_a_function_gets_values_of_its_own_types_and_gives_them() -> None:
    seen: list[Any] = []

    @governed
    def plan(order: Order, place: Path = Path("a")) -> Order:
        seen.append((order, place))
        return order

    executor = ToolExecutor(ToolRegistry())
    order = Order(date(2026, 1, 2), [Line("tea")])
    with executor.run(RunContext.create("clerk")):
        given = plan(order)
    assert seen == [(order, Path("a"))]
    assert seen[0][0] is not order  # so that nobody changes it after it was judged
    assert given == order


def test_a_value_of_another_type_is_refused_without_being_told() -> None:
    @governed(on_refusal="return")
    def on(day: date) -> str:
        return "never"

    with ToolExecutor(ToolRegistry()).run(RunContext.create("clerk")):
        answer = on("tomorrow")  # type: ignore[arg-type]
    assert "argument 'day' is no date" in answer
    assert "tomorrow" not in answer


def unresolved(what: Missing) -> None:  # type: ignore[name-defined]  # noqa: F821
    ...


def plain(fn: Any) -> str:
    return ""


def careful() -> ToolResult:
    return ToolResult.ok("careful.tool")


def everything(*what: str) -> None: ...


def anything(**what: str) -> None: ...


def stream() -> Any:
    yield 1


@rows(
    "fn, options, says",
    [
        (unresolved, {}, "Missing"),
        (everything, {}, r"takes \*what"),
        (anything, {}, r"takes \*\*what"),
        (stream, {}, "cannot be governed"),
        (print, {}, "cannot be governed"),
        (staticmethod(contract), {}, "cannot be governed"),
        (plain, {"sensitive": ("pin",)}, "no parameter 'pin'"),
        (plain, {"injected": ("ctx",)}, "no parameter 'ctx'"),
        (plain, {"injected": ("fn",), "sensitive": ("fn",)}, "no parameter 'fn' that goes on record"),
        (plain, {"on_refusal": "ignore"}, "on_refusal is 'ignore'"),
        (careful, {}, "returns a ToolResult"),
        (plain, {"timeout_ms": 5}, "timeout_ms is 5"),
        (plain, {"tool_id": "Not An Id"}, "does not match"),
    ],
)
def test_what_no_contract_can_say_is_refused_when_the_function_is_decorated(
    fn: Any, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(ContractError, match=says):
        governed(**options)(fn)
