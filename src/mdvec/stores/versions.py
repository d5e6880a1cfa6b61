"""Which documents replace which, as their ``previous`` links say."""

from __future__ import annotations

import graphlib
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from mdvec.text.links import link_key, resolve
from mdvec.types.ids import DocumentId
from mdvec.types.links import PlacedLink, Versions


def find_versions(previous: Sequence[PlacedLink], named: Mapping[str, Mapping[str, DocumentId]]) -> Versions:
    """Return which documents replace which.

    Documents that replace each other in a circle hide none of each other: the links of the circle count for
    nothing, so that of any documents at least one is found.

    Args:
        previous: The links of a collection to older versions.
        named: Paths and ids of its documents, by their file key; those of :func:`link_key` are enough.
    """
    ids: dict[str, DocumentId] = {}
    older: dict[str, dict[str, None]] = {}
    dangling: list[PlacedLink] = []
    for each in sorted(previous, key=lambda placed: placed.path):
        candidates = named.get(link_key(each.link), {})
        path = resolve(each.link, each.path, candidates)
        if path is None:
            dangling.append(each)
            continue
        ids |= {each.path: each.document_id, path: candidates.get(path, each.document_id)}
        older.setdefault(each.path, {})[path] = None
    cycles = [cycle for component in _components(older) for cycle in _break_cycles(component)]
    newer: defaultdict[DocumentId, list[str]] = defaultdict(list)
    for path, versions in older.items():
        for version in versions:
            newer[ids[version]].append(path)
    return Versions(
        older={ids[path]: tuple(versions) for path, versions in older.items() if versions},
        newer={each: tuple(paths) for each, paths in newer.items()},
        dangling=tuple(dangling),
        cycles=tuple(cycles),
    )


def _components(older: Mapping[str, dict[str, None]]) -> Iterator[dict[str, dict[str, None]]]:
    """Yield connected documents apart, so that many small circles are not searched for in everything."""
    neighbours: defaultdict[str, list[str]] = defaultdict(list)
    for path, versions in older.items():
        for version in versions:
            neighbours[path].append(version)
            neighbours[version].append(path)
    seen: set[str] = set()
    for path in older:
        found: list[str] = []
        waiting = [path]
        while waiting:
            place = waiting.pop()
            if place not in seen:
                seen.add(place)
                found.append(place)
                waiting += neighbours[place]
        if found:
            yield {place: older[place] for place in sorted(found) if place in older}


def _break_cycles(older: Mapping[str, dict[str, None]]) -> list[tuple[str, ...]]:
    """Remove the links of circles, one circle after the other, and return the circles."""
    cycles: list[tuple[str, ...]] = []
    while True:
        try:
            graphlib.TopologicalSorter(older).prepare()
        except graphlib.CycleError as error:
            # Each node comes before the one that names it, and the first again at the end.
            circle = list(reversed(error.args[1]))
            for path, version in itertools.pairwise(circle):
                older[path].pop(version, None)
            start = circle.index(min(circle))
            cycles.append((*circle[start:-1], *circle[:start]))
        else:
            return cycles
