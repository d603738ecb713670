"""Classes of `sb.frozen` behave as frozen dataclasses do."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.frozen import frozen


class _Limit:
    """A limit, with what both kinds of class are made of."""

    name: str
    most: int = 3
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
Ours.__qualname__ = Theirs.__qualname__ = "Limit"

ARGUMENTS = st.tuples(
    st.lists(st.one_of(st.text(max_size=3), st.integers(0, 2)), max_size=6),
    st.dictionaries(
        st.sampled_from(["name", "most", "parts", "notes", "secret", "other"]), st.integers(0, 2)
    ),
)


def _made(cls: Any, args: list[Any], values: dict[str, Any]) -> Any:
    try:
        return cls(*args, **values)
    except (TypeError, AttributeError) as error:  # a name that is no text has nothing to strip
        return type(error)


@given(ARGUMENTS, ARGUMENTS)
def test_instances_are_made_compared_and_shown_as_those_of_a_dataclass(one: Any, two: Any) -> None:
    ours, theirs = ([_made(cls, *given) for given in (one, two)] for cls in (Ours, Theirs))
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


def test_nothing_is_assigned_or_deleted() -> None:
    made = Ours("a")
    with pytest.raises(FrozenInstanceError):
        made.most = 4
    with pytest.raises(FrozenInstanceError):
        del made.most
    assert made.most == 3


def test_it_is_equal_to_no_instance_of_another_class() -> None:
    assert Ours("a") != Theirs("a")
    assert Ours("a") != ("a", 3, (), "")


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
    assert [one.name for one in fields(Lower)] == ["place", "depth"]
    assert copy.copy(made) == copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made
    assert made != Below("y")
    assert Below("y") == Below("y")
