"""Answers in words for people, shared by all doors."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, assert_never
from urllib.parse import quote

from mdvec.errors import sentences
from mdvec.interfaces.answers import iso_time
from mdvec.interfaces.printing import one_line, without_gaps
from mdvec.run import Stage
from mdvec.text.quantity import quantity
from mdvec.types.hit import Confidence, Reranking, SearchHit, SearchResult

if TYPE_CHECKING:
    from mdvec.types.collection import Collection
    from mdvec.types.model_report import ImportEstimate, ListedModel, ModelChange
    from mdvec.types.report import CollectionStatus, ImportReport
    from mdvec.types.store_report import PublishedVersion

NO_ANSWER = "the documents probably do not answer the question"
"""The sentence about an answer without confidence."""

_MAX_WORD_CHARS = 60
_SHOWN_PLACES = 3
_SHOWN_TAGS = 6

STEP_WORDS: Final = {
    Stage.WAIT: "waiting for another process",
    Stage.LIMIT: "waiting for a service, seconds left",
    Stage.SCAN: "listing files",
    Stage.FETCH: "fetching documents",
    Stage.TEXT: "reading documents",
    Stage.MODEL: "loading the model",
    Stage.EMBED: "embedding texts",
    Stage.INDEX: "filling the vector index",
    Stage.PUBLISH: "publishing, megabytes",
}
"""The names of steps, in small letters."""

# Published figures by column of the table: for Japanese, and for many languages.
_BENCHMARKS = {
    "JMTEB": ("JMTEB retrieval, 11 sets",),
    "others / en": (
        "MNanoBEIR and NanoMIRACL, languages other than English",
        "MNanoBEIR and NanoMIRACL, English",
    ),
}
# Enough to distinguish commits, as in git's own messages.
_REVISION_CHARS = 12
_MINUTE_S, _HOUR_S = 60, 3600
_UNITS_OF_AGE: Final = (("day", 24 * _HOUR_S), ("hour", _HOUR_S), ("minute", _MINUTE_S))
_LABEL_ESCAPES = {ord("\\"): "\\\\", ord("["): "\\[", ord("]"): "\\]", ord("\n"): " "}
# Angle brackets around a target let it hold spaces; these would end it or start a query.
_TARGET_ESCAPES = {ord(char): f"%{ord(char):02X}" for char in "\n<>#?%"}


def progress_line(stage: Stage, done: int, total: int, detail: str = "") -> str:
    """Return the progress of a step in words, from the arguments of a progress listener."""
    if stage is Stage.WAIT:
        return f"waiting: {detail}" if detail else STEP_WORDS[stage]
    return f"{STEP_WORDS[stage]}: {done:,} of {total:,}" if total else f"{STEP_WORDS[stage]}: {done:,}"


def revision_line(collection: Collection) -> str:
    """Return the commit that was imported; empty without one."""
    return f"{collection.revision[:_REVISION_CHARS]} of {collection.source}" if collection.revision else ""


def change_line(status: CollectionStatus) -> str:
    """Return the progress of a change to another model; empty without one."""
    change = status.change
    if change is None:
        return ""
    done = change.chunks - change.pending_chunks
    return f"changing to {change.model}: {done:,} of {change.chunks:,} chunks"


def moment(moment_ms: int | None) -> str:
    """Write milliseconds since 1970 for people: local time, to the minute; ``never`` without one."""
    if moment_ms is None:
        return "never"
    return f"{datetime.fromtimestamp(moment_ms // 1000).astimezone():%Y-%m-%d %H:%M}"


def published_line(version: PublishedVersion) -> str:
    """Return ``version 7, 2026-05-01 12:30 (3 hours ago)``."""
    seconds = max(0, int(time.time()) - version.published_ms // 1000)
    unit, count = next(
        ((unit, seconds // size) for unit, size in _UNITS_OF_AGE if seconds >= 2 * size), ("second", seconds)
    )
    return f"version {version.number}, {moment(version.published_ms)} ({quantity(count, unit)} ago)"


def iso_moment(iso: str) -> str:
    """Write a time of an answer for people: local time, to the minute; nothing for none."""
    return iso and f"{datetime.fromisoformat(iso).astimezone():%Y-%m-%d %H:%M}"


def trail(hit: SearchHit) -> str:
    """Return ``title › heading › heading``; a first heading that is the title, in any width, is left out."""
    from mdvec.text.folding import fold_name

    has_title = [fold_name(each) for each in hit.heading_path[:1]] == [fold_name(hit.title)]
    return " › ".join((hit.title, *hit.heading_path[has_title:]))


def score_text(hit: SearchHit) -> str:
    """Return the score of a hit; empty for one that only the operators of a query chose, as in a list."""
    is_listed = hit.score == 1 and hit.similarity is None and hit.lexical_rank is None
    return "" if is_listed else f"{hit.score:.2f}"


def versions_line(hit: SearchHit) -> str:
    """Return the older and newer versions of the document of a hit; empty without any."""
    parts = (("supersedes", hit.supersedes), ("superseded by", hit.superseded_by))
    return "; ".join(f"{words} {', '.join(paths)}" for words, paths in parts if paths)


def context_line(hit: SearchHit) -> str:
    """Return the contexts of a hit's folders, the outermost first; empty without any."""
    return " › ".join(hit.folder_contexts)


def about_line(hit: SearchHit) -> str:
    """Return the places of a hit in the original, and days, tags and properties of its document.

    Of its properties, those with words of the query are known.
    """
    tags = [f"#{tag}" for tag in hit.tags[:_SHOWN_TAGS]] + ["…"] * (len(hit.tags) > _SHOWN_TAGS)
    updated, created = ((iso_time(each) or "")[:10] for each in (hit.updated_ms, hit.created_ms))
    written = f"written {created}" if created != updated else ""
    others = hit.other_places
    others = others if len(others) <= _SHOWN_PLACES else (others[0], "…", others[-1])
    more = f" (also {', '.join(others)})" if others else ""
    known = (hit.place + more, updated, created and written, " ".join(tags), *hit.properties)
    return " · ".join(filter(None, known))


def similar_line(hit: SearchHit) -> str:
    """Return the number of like texts folded into a hit, in words; empty for none."""
    return f"and {hit.similar:,} like it" if hit.similar else ""


def reranked_line(reranked: Reranking | None) -> str:
    """Return the work of a reranker and its cost, in words; empty without one."""
    if reranked is None:
        return ""
    cost = "" if reranked.usd is None else f", {reranked.usd:.6f} USD"
    tokens = f": {quantity(reranked.tokens, 'token')}{cost}" if reranked.tokens else ""
    return f"{quantity(reranked.passages, 'passage')} reranked by {reranked.model}{tokens}"


def weaker_line(result: SearchResult, remedy: str) -> str:
    """Return the number of weaker passages that an answer leaves out, in words; empty for none.

    ``remedy`` says how to see them, in the words of a door.
    """
    return f"{quantity(result.weaker, 'weaker passage')} left out ({remedy})" if result.weaker else ""


def hits_markdown(result: SearchResult) -> str:
    """Return hits as a Markdown list of links to their files; empty without hits."""
    return "".join(f"{line}\n" for hit in result.hits for line in _hit_markdown(hit))


def confidence_line(result: SearchResult) -> str:
    """Return the confidence in an answer, for people; empty for a list, see :func:`score_text`."""
    if result.hits and not any(map(score_text, result.hits)):
        return ""
    more = {Confidence.LOW: "; these passages may not answer the question", Confidence.NONE: f"; {NO_ANSWER}"}
    return f"confidence: {result.confidence.value}{more.get(result.confidence, '')}"


def spelling_lines(result: SearchResult) -> list[str]:
    """Return the words that were replaced and those that no document contains, for people."""
    lines = [f"searched for '{each.searched}' instead of '{each.typed}'" for each in result.corrections]
    unknown = ", ".join(f"'{one_line(word, _MAX_WORD_CHARS)}'" for word in result.unknown_words)
    return [*lines, f"no document contains {unknown}"] if unknown else lines


def hit_paths(result: SearchResult) -> list[str]:
    """Return the files of an answer, best first, each once; ``collection/path`` where there is no file."""
    return list(dict.fromkeys(hit.file or f"{hit.collection}/{hit.path}" for hit in result.hits))


def hit_address(hit: SearchHit, editor: str) -> str:
    """Return the address that opens a hit; empty for one without a file.

    ``editor`` is the setting: an address in which ``{file}`` and ``{line}`` are replaced.
    """
    if hit.file is None:
        return ""
    file = quote(hit.file, errors="surrogateescape")
    return editor.replace("{file}", file).replace("{line}", str(hit.line))


def import_summary(report: ImportReport) -> str:
    """Return two lines for people, and a third when a change of the model was completed."""
    words = ("added", "updated", "moved", "deleted", "unchanged", "failed", "excluded")
    counts = [
        *((getattr(report, word), word) for word in words),
        (report.superseded, "hidden as older versions"),
    ]
    changes = [f"{count:,} {word}" for count, word in counts if count]
    names = f" (and {quantity(report.embedded_names, 'name')})" if report.embedded_names else ""
    changed = f"\n{report.collection} uses {report.new_model} from now on" if report.new_model else ""
    return (
        f"{report.collection}: {', '.join(changes) or 'nothing to do'}\n"
        f"{quantity(report.total_documents, 'document')}, {quantity(report.total_chunks, 'chunk')}: "
        f"{report.embedded_chunks:,} embedded{names}, {report.cached_chunks:,} from cache, "
        f"{report.pending_chunks:,} pending, in {report.elapsed_ms / 1000:.1f} s{changed}"
    )


def _hit_markdown(hit: SearchHit) -> Iterator[str]:
    label = trail(hit).translate(_LABEL_ESCAPES)
    target = (hit.file or f"{hit.collection}/{hit.path}").translate(_TARGET_ESCAPES)
    score = score_text(hit)
    yield f"- [{label}](<{target}#L{hit.line}>)" + (f" ({score})" if score else "")
    for line in filter(None, (versions_line(hit), about_line(hit), context_line(hit))):
        yield f"  ({line.translate(_LABEL_ESCAPES)})"
    if similar := similar_line(hit):  # behind the quoted text it would become a part of it
        yield f"  ({similar})"
    yield from (f"  > {line}".rstrip() for line in without_gaps(hit.text).strip().splitlines())


# --- models ------------------------------------------------------------------------------------------


def model_cells(model: ListedModel) -> dict[str, str]:
    """Return the cells of a model by their columns; unknown ones are empty."""
    figures = {each.name: str(each.value) for each in model.benchmarks}
    return {
        "model": model.spec,
        "dimension": ", ".join(map(str, model.dimensions)),
        "languages": model.languages,
        "MB": "" if model.size_mb is None else str(model.size_mb),
        "USD/1M": "" if model.price is None else f"{model.price.usd_per_million_tokens:g}",
        "offline": "yes" if model.offline else "no",
        **{
            column: " / ".join(figures[name] for name in names if name in figures)
            for column, names in _BENCHMARKS.items()
        },
        "here": "no" if model.problem else "yes",
        "used by": ", ".join(model.collections),
    }


def model_notes(models: Sequence[ListedModel]) -> Iterator[str]:
    """Yield the purposes of models, the sources of figures and prices, and how to get missing models."""
    for model in models:
        if model.good_for:
            yield f"{model.spec}: {model.good_for} ({model.licence})"
    shown = {each.name: each for model in models for each in model.benchmarks}
    for column, names in _BENCHMARKS.items():
        if found := [shown[name] for name in names if name in shown]:
            about = " / ".join(each.name for each in found)
            yield f"{column}: {about}, mean nDCG@10 in per cent, from {found[0].source}"
    days = sorted({model.price.as_of for model in models if model.price is not None and model.price.as_of})
    if days:
        yield f"prices as of {', '.join(days)}; [prices] in mdvec.toml changes them"
    hints: dict[str, list[str]] = {}
    for model in models:
        if model.problem:
            hints.setdefault(sentences(model.problem, model.hint), []).append(model.spec)
    yield from (f"{', '.join(specs)}: {hint}" for hint, specs in hints.items())


def model_change_line(change: ModelChange, import_command: str) -> str:
    """Return the outcome of a change of the model in words."""
    from mdvec.types.model_report import ModelChangeOutcome

    match change.outcome:
        case ModelChangeOutcome.CHANGED:
            return (
                f"{change.collection}: {change.model} from now on; {change.embedded_chunks:,} of "
                f"{quantity(change.total_chunks, 'chunk')} embedded, in {change.elapsed_ms / 1000:.1f} s"
            )
        case ModelChangeOutcome.CHOSEN:
            return f"{change.collection}: {change.model} will embed it; next: {import_command}"
        case ModelChangeOutcome.SAME:
            return f"{change.collection}: {_model_in_use(change)}; nothing to change"
        case ModelChangeOutcome.CANCELLED:
            return f"{change.collection}: the change was cancelled; {_model_in_use(change)}"
        case _:
            assert_never(change.outcome)


def _model_in_use(change: ModelChange) -> str:
    return f"uses {change.model}" if change.model else "uses the configured model"


def estimate_summary(estimate: ImportEstimate) -> str:
    """Return three lines for people."""
    tokens = quantity(estimate.tokens, "token") + ("" if estimate.exact else " (estimated)")
    requests = f", {quantity(estimate.requests, 'request')}" if estimate.requests else ""
    if estimate.price is None:
        cost = "price: not known" if estimate.requests else "price: none"
    else:
        day = f" as of {estimate.price.as_of}" if estimate.price.as_of else ""
        rate = f"{estimate.price.usd_per_million_tokens:g} USD per million tokens"
        cost = f"price: {estimate.usd:.4f} USD, at {rate}{day}"
    if estimate.seconds is not None:
        cost += f"; time: about {_duration(estimate.seconds)} on this machine, as it is now"
    return (
        f"{estimate.collection}: {quantity(estimate.documents, 'document')} to read, model {estimate.model}\n"
        f"to embed: {quantity(estimate.chunks, 'chunk')}, {quantity(estimate.names, 'name')}, "
        f"{tokens}{requests}\n{cost}"
    )


def _duration(seconds: float) -> str:
    for size, unit in ((_HOUR_S, "hours"), (_MINUTE_S, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(1, round(seconds))} seconds"
