"""Folds like texts: footers, the parts that a template makes, and copies by a sync program are one hit.

Chunks of a collection whose words are equal but for numbers, names and links have the same skeleton (see
:func:`mdvec.text.prose.skeletons`) and form a family. The member with the most evidence is shown; the
others are counted, and come after all other candidates. Programs that synchronise folders add copies whose
texts differ in any way; these are known by their names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mdvec.search.candidates import Candidates
from mdvec.search.passages import Ranked, ScoredPassage
from mdvec.stores.records import StoredChunk
from mdvec.types.ids import ChunkId, CollectionId

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Of Syncthing and browsers; of OneDrive, with the name that a system gave a machine; of Dropbox, Nextcloud,
# Synology and others; of file managers.
_COPY = re.compile(
    r"(?<![^/])(?:copy of|kopie von|copie de) (?=[^/]+\Z)"
    r"|(?:\.sync-conflict-[\w-]+|~\d{8}-\d{6}| \(\d\)| ?（\d）"
    r"|-(?-i:(?:DESKTOP|LAPTOP)-(?=[A-Z]*\d)[A-Z\d]{6,8}|(?:MacBook|iMac)(?:-[A-Z][a-z]+)?-\d)(?:-\d)?"
    r"|[ ._-](?:conflict(?:ed copy)?-\d{4}-?\d\d-?\d\d[\d-]*|conf\([^()/]+\)"
    r"|[(\[][^()\[\]/]*(?:conflict|konflikt|conflit|競合)[^()\[\]/]*[)\]])"
    r"|(?: -)? \(?(?:copy|コピー|kopie|copie)\)?(?: \(?\d\)?)?| ?のコピー(?: ?\d)?)(?=\.[^./]+\Z)",
    re.IGNORECASE,
)
# Of iCloud and Bear, and of many a chapter: a copy only next to a file without the number.
_NUMBERED = re.compile(r" \d(?=\.[^./]+\Z)")
_WORD = re.compile(r"\w+")
_SAME_WORDS = 0.5

# By how many standard deviations a repeated text may be nearer to the query than its family is on average, if
# most of the family have words of the query; else by none.
_OF_TITLE = 0.5


def without_titles(candidates: Candidates) -> Candidates:
    """Return candidates in which a repeated text is about as near to the query as its family is on average.

    A footer is searched with the title of its document, and would be near to what that document is about. A
    family is repeated text if one of its members is in a document that also has text of its own. The whole
    notes of a template are not: what their titles tell apart counts.

    Args:
        candidates: The candidates.
    """
    import numpy as np

    members: dict[object, list[int]] = {}
    for at, place in enumerate(candidates.places):
        members.setdefault((place.collection_id, place.skeleton or place.id), []).append(at)
    families = [each for each in members.values() if len(each) > 1]
    if not families:
        return candidates
    with_own = {candidates.places[each[0]].document_id for each in members.values() if len(each) == 1}
    is_named = candidates.exact | candidates.named
    nearness = candidates.deviations.copy(), candidates.above_unrelated.copy()
    for family in families:
        if any(candidates.places[at].document_id in with_own for at in family):
            unnamed = np.array(family)[~is_named[family]]
            reach = _OF_TITLE if len(unnamed) and np.median(candidates.word_share[unnamed]) else 0.0
            for values in nearness:
                known = unnamed[~np.isnan(values[unnamed])]
                if len(known):
                    values[known] = np.minimum(values[known], values[known].mean() + reach)
    return replace(candidates, deviations=nearness[0], above_unrelated=nearness[1])


def folded(ranked: Sequence[Ranked], named: NDArray[np.bool_]) -> tuple[list[Ranked], dict[ChunkId, int]]:
    """Move all but the best member of each family behind the other candidates.

    Args:
        ranked: The candidates, best first.
        named: Which of the candidates the query names: these are not folded, shape (n,).

    Returns:
        The candidates in their new order, those behind marked as folded, and for the first of each family the
        number of the others.
    """
    first: dict[tuple[CollectionId, bytes], ChunkId] = {}
    ahead: list[Ranked] = []
    behind: list[Ranked] = []
    similar: dict[ChunkId, int] = {}
    for each in ranked:
        place, best = each.place, each.place.id
        if place.skeleton is not None and not named[each.at]:
            best = first.setdefault((place.collection_id, place.skeleton), place.id)
        if best == place.id:
            ahead.append(each)
        else:
            behind.append(each._replace(is_folded=True))
            similar[best] = similar.get(best, 0) + 1
    return [*ahead, *behind], similar


def without_copies(
    scored: Sequence[ScoredPassage], chunks: Mapping[ChunkId, StoredChunk]
) -> tuple[list[ScoredPassage], dict[ChunkId, int]]:
    """Leave out passages of conflict copies, such as ``x.sync-conflict-….md`` and ``x (1).md``.

    The original takes the place and the score of the best of them.

    Args:
        scored: Passages with their scores, best first.
        chunks: Their best chunks.

    Returns:
        The passages that are left, and for their best chunks the number of texts like them: copies and those
        that were folded, each once.
    """
    paths = {*map(attrgetter("path"), chunks.values())}
    members: dict[tuple[CollectionId, str], list[ScoredPassage]] = {}
    for each in scored:
        chunk = chunks[each.passage.best.place.id]
        name = _NUMBERED.sub("", chunk.path)
        name = _COPY.sub("", name if name in paths else chunk.path)
        members.setdefault((chunk.collection_id, name), []).append(each)
    original_of: dict[ChunkId, ScoredPassage] = {}
    for family in members.values():
        # The original has the shortest name; if a copy is equal to it, either may be here.
        original = min(family, key=lambda each: len(chunks[each.passage.best.place.id].path))
        best = chunks[original.passage.best.place.id]
        copies = [each for each in family if _is_copy(chunks[each.passage.best.place.id], best)]
        original_of |= {each.passage.best.place.id: original for each in copies}
    left: dict[ChunkId, ScoredPassage] = {}
    counts: dict[ChunkId, int] = {}
    for each in scored:
        ranked = each.passage.best
        shown = original_of.get(ranked.place.id, each)
        key = shown.passage.best.place.id
        left.setdefault(key, replace(shown, score=each.score))
        if not ranked.is_folded:  # else the first of its family counts it
            counts[key] = counts.get(key, 0) + 1 + each.similar.get(ranked.place.id, 0)
    return [*left.values()], {key: count - 1 for key, count in counts.items()}


def _is_copy(chunk: StoredChunk, original: StoredChunk) -> bool:
    if chunk.path == original.path:
        return False
    words, others = set(_WORD.findall(chunk.text)), set(_WORD.findall(original.text))
    return len(words & others) >= _SAME_WORDS * len(words | others)
