"""The neighbourhood of a record in the graph of relations, as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sb.base.values.frozen import frozen
from sb.memory.space import Space
from sb.memory.views import Memory, View
from sb.store.records.columns import Row
from sb.store.records.edges import Edge

DEEPEST = 5  # steps: further out a tree shows the whole graph


@frozen
class Neighbour(View):
    """A record and how it was come to.

    Args:
        relation: what the one that was come from is to this one, or the other way round if not `outwards`.
        neighbours: those that are nearer to this one than to the first record.
        left_out: how many more it has, beyond those that were wanted.
    """

    memory: Memory
    relation: str = ""
    outwards: bool = True
    weight: float = 1.0
    neighbours: tuple[Neighbour, ...] = ()
    left_out: int = 0

    def memories(self) -> Iterator[Memory]:
        """All that are in the tree."""
        yield self.memory
        for neighbour in self.neighbours:
            yield from neighbour.memories()


def neighbourhood(
    space: Space, row: Row, places: Sequence[int], *, depth: int = 1, most: int = 200
) -> Neighbour:
    """The records around one, each once, by the shortest way, strong relations first.

    Args:
        places: the places in view. depth: in how many steps, up to `DEEPEST`. most: records in all.
    """
    tree: dict[int, list[tuple[int, Edge]]] = {row["id"]: []}
    left_out: dict[int, int] = {}
    frontier = {row["id"]}
    for _ in range(min(depth, DEEPEST)):
        frontier = _further(space, frontier, places, most, tree, left_out)
    rows = {item["id"]: item for item in space.records.rows(list(tree))}

    def grown(number: int, came: Edge | None) -> Neighbour:
        return Neighbour(
            space.memory(rows[number]),
            came.relation if came else "",
            came is None or came.target == number,
            came.weight if came else 1.0,
            tuple(grown(other, edge) for other, edge in tree[number]),
            left_out.get(number, 0),
        )

    return grown(row["id"], None)


def _further(
    space: Space,
    frontier: set[int],
    places: Sequence[int],
    most: int,
    tree: dict[int, list[tuple[int, Edge]]],
    left_out: dict[int, int],
) -> set[int]:
    """Hang what these records are related to below them; returns the numbers of what is new."""
    found: set[int] = set()
    for edge in sorted(space.edges.around(sorted(frontier), places), key=lambda one: -one.weight):
        for near, far in ((edge.source, edge.target), (edge.target, edge.source)):
            if near not in frontier or far in tree:
                continue
            if len(tree) > most:
                left_out[near] = left_out.get(near, 0) + 1
                continue
            tree[near].append((far, edge))
            tree[far] = []
            found.add(far)
    return found
