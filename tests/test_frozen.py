"""Classes of `sb.base.values.frozen` behave as dataclasses do."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.values.frozen import MANY, frozen, mutable


class _Limit:
    """A limit, with what both kinds of class are made of."""

    name: str
    most: int = 3
    state: str = "new"
    parts: tuple[str, ...] = ()
    notes: dict[str, int] = field(default_factory=dict, compare=False)
    secret: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name.strip())

    @property
    def twice(self) -> int:
        return self.most * 2


def _copied(name: str) -> type:
    own = {key: value for key, value in vars(_Limit).items() if key not in ("__dict__", "__weakref__")}
    return type(name, (), own)


Ours: Any = frozen(_copied("Limit"))
Theirs: Any = dataclass(frozen=True)(_copied("Limit"))
Often: Any = frozen(_copied("Limit"))  # many instances of it were made before
Ours.__qualname__ = Theirs.__qualname__ = Often.__qualname__ = "Limit"
for _ in range(MANY):
    Often("a")

ARGUMENTS = st.tuples(
    st.lists(st.one_of(st.text(max_size=3), st.integers(0, 2)), max_size=7),
    st.dictionaries(
        st.sampled_from(["name", "most", "state", "parts", "notes", "secret", "other"]), st.integers(0, 2)
    ),
)


def _made(cls: Any, args: Sequence[Any], values: dict[str, Any]) -> Any:
    try:
        return cls(*args, **values)
    except (TypeError, AttributeError) as error:  # a name that is no text has nothing to strip
        return type(error)


@pytest.mark.parametrize("cls", [Ours, Often], ids=["few", "many"])
@given(one=ARGUMENTS, two=ARGUMENTS)
def test_instances_are_made_compared_and_shown_as_those_of_a_dataclass(cls: Any, one: Any, two: Any) -> None:
    ours, theirs = ([_made(kind, *given) for given in (one, two)] for kind in (cls, Theirs))
    if any(isinstance(made, type) for made in (*ours, *theirs)):
        assert [isinstance(made, type) and made for made in ours] == [
            isinstance(made, type) and made for made in theirs
        ]
        return
    assert [repr(made) for made in ours] == [repr(made) for made in theirs]
    assert [vars(made) for made in ours] == [vars(made) for made in theirs]
    assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])
    assert [hash(made) for made in ours] == [hash(made) for made in theirs]
    assert (hash(ours[0]) == hash(ours[1])) == (hash(theirs[0]) == hash(theirs[1]))
    assert asdict(ours[0]) == asdict(theirs[0])
    changed = [replace(made, most=7) for made in (ours[0], theirs[0])]
    assert repr(changed[0]) == repr(changed[1])
    assert changed[0].twice == 14


def test_init_is_compiled_after_many_instances_and_then_says_the_same_of_wrong_arguments() -> None:
    assert Often.__init__ is not Ours.__init__
    for args, values in (
        ((), {}),
        (("a", 1), {"name": "b"}),
        ((1, 2, 3, 4, 5, 6, 7), {}),
        (("a",), {"other": 1}),
    ):
        assert _made(Often, args, values) is _made(Ours, args, values) is TypeError


@pytest.mark.parametrize("cls", [Ours, Often], ids=["few", "many"])
def test_nothing_is_assigned_or_deleted(cls: Any) -> None:
    made = cls("a")
    with pytest.raises(FrozenInstanceError):
        made.most = 4
    with pytest.raises(FrozenInstanceError):
        del made.most
    assert made.most == 3


def test_it_is_equal_to_no_instance_of_another_class() -> None:
    assert Ours("a") != Theirs("a")
    assert Ours("a") != ("a", 3, "new", (), "")


@frozen
class Below:
    """In a module, so that it can be pickled."""

    place: str = "x"


@frozen
class Lower(Below):
    """With a field more."""

    depth: int = 1


def test_copies_and_subclasses_keep_their_fields() -> None:
    made = Lower("y", 2)
    assert [item.name for item in fields(Lower)] == ["place", "depth"]
    assert copy.copy(made) == copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made
    assert made != Below("y")
    assert Below("y") == Below("y")


@mutable
class Draft:
    """Can be changed, and has a list of its own."""

    title: str
    lines: list[str] = field(default_factory=list)


@mutable
class Signed(Draft):
    """With a field that has no default after one that has."""

    by: str = field(kw_only=True)


def test_mutable_instances_change_and_are_not_hashed() -> None:
    made, other = Draft("a"), Draft(title="a")
    made.lines.append("x")
    assert made != other
    other.lines = ["x"]
    assert made == other
    assert repr(made) == "Draft(title='a', lines=['x'])"
    with pytest.raises(TypeError):
        hash(made)


def test_fields_by_keyword_only_are_refused_by_position_however_many_were_made() -> None:
    for _ in range(MANY + 2):
        assert vars(Signed("a", ["x"], by="ada")) == {"title": "a", "lines": ["x"], "by": "ada"}
        wrong: list[Any] = [("a",), ("a", [], "ada")]
        for args in wrong:
            with pytest.raises(TypeError):
                Signed(*args)  # type: ignore[call-arg]


def test_class_with_an_init_of_its_own_keeps_it() -> None:
    class Loud(Draft):
        def __init__(self, title: str) -> None:
            super().__init__(title.upper())

    assert {Loud("a").title for _ in range(MANY + 2)} == {"A"}
