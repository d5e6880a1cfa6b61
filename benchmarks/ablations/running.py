"""Runs variants over sets that share their documents, so that an index is written once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.ablations.index import Index, rebuilt, shipped_index
from benchmarks.ablations.measuring import Found, Scores, score_questions
from benchmarks.ablations.variant import SHIPPED, Stage, Variant, applied
from mdvec.embedding.interface import Embedder
from mdvec.evaluation.judgements import JudgedSet


def by_documents(sets: Iterable[JudgedSet]) -> list[list[JudgedSet]]:
    """Put sets of the same documents together, in the order of their first."""
    groups: dict[Path, list[JudgedSet]] = {}
    for each in sets:
        groups.setdefault(each.documents, []).append(each)
    return list(groups.values())


def measure(
    sets: Sequence[JudgedSet],
    variants: Sequence[Variant],
    *,
    embedder: Embedder,
    cache: Path | None,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, dict[str, Scores]]:
    """Measure the shipped search and variants of it on the questions of some sets.

    Args:
        sets: Sets of the same documents.
        variants: The variants.
        embedder: Makes vectors.
        cache: Folder of the indexes; None for a temporary one.
        say: Receives a line for each step.

    Returns:
        By set, the scores by variant; the shipped search comes first.
    """
    scores: dict[str, dict[str, Scores]] = {each.set.name: {} for each in sets}
    found: dict[str, Found] = {each.set.name: {} for each in sets}
    with shipped_index(sets, embedder, cache) as (shipped, naming):
        for variant in (SHIPPED, *variants):
            say(f"{', '.join(scores)}: {variant.name}")
            # What was found does not depend on how it is fused.
            again = found if variant is SHIPPED or variant.stage is Stage.FUSING else {}
            with prepared(variant, shipped, cache) as index:
                for each in sets:
                    name = each.set.name
                    scores[name][variant.name] = score_questions(
                        each.set.questions, naming, index, variant, again.setdefault(name, {})
                    )
    return scores


@contextmanager
def prepared(variant: Variant, shipped: Index, cache: Path | None) -> Iterator[Index]:
    """Apply a variant's patches, and write its index when it has one of its own.

    Args:
        variant: The variant.
        shipped: The index as it is shipped.
        cache: Folder of the indexes that need other vectors; writing other terms is quick.

    Yields:
        The index to search.
    """
    with applied(variant.patches):
        if variant.stage is not Stage.INDEXING:
            yield shipped
            return
        file = None
        if cache is not None and variant.slow:
            file = cache / "variants" / variant.name / f"{shipped.name}.sqlite"
        source = shipped.workspace.database
        with rebuilt(
            shipped.name, source, shipped.embedder, shipped.embed, chunking=variant.chunking, file=file
        ) as index:
            yield index
