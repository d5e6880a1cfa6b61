"""Makes questions from people's own documents: a title or a first sentence, cut out of a copy."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import PurePosixPath

from msgspec import Struct

from mdvec.documents.parse import parse_document
from mdvec.errors import NotFoundError
from mdvec.evaluation.corpus import Corpus, Indexing, Task, lay_out, opened_index, paths_of, temporary_folder
from mdvec.evaluation.judgements import Question, QuestionSet
from mdvec.evaluation.naming import naming, wordless_name
from mdvec.text.hashing import text_hash
from mdvec.text.quantity import quantity
from mdvec.text.sentences import sentence_ends
from mdvec.text.tokens import estimate_token_count
from mdvec.types.collection import SourceSpec
from mdvec.types.document import BlockKind, Document, TitleSource
from mdvec.types.report import ImportOptions

SET_NAME = "auto"

# A single word fits many documents; a longer sentence is a paragraph without a full stop.
_MIN_TITLE_TOKENS = 2
_MIN_SENTENCE_TOKENS = 6
_MAX_SENTENCE_TOKENS = 80
# A document needs more text than the question, or it cannot be found any more.
_MIN_REST_TOKENS = 15

_FRONTMATTER_TITLE = re.compile(r"^title[ \t]*[:=].*\n", re.MULTILINE)
# Paragraphs that are no sentences: HTML, pictures, tables, imports of MDX.
_NO_PROSE = re.compile(r"[<|{!]|import |export ")
_LINK = re.compile(r"!?\[\[(?:[^\]|]*\|)?([^\]]*)\]\]|!?\[([^\]]*)\]\([^)]*\)")
_MARKS = re.compile(r"[*`]|(?<!\w)_|_(?!\w)")


class Kind(StrEnum):
    """The part of a document that is the question; the label ``type`` of these questions."""

    TITLE = "title"
    SENTENCE = "sentence"


class HeldOut(Struct, frozen=True):
    """A question, and the text of its document without it."""

    kind: Kind
    question: str
    rest: str


def hold_out(document: Document) -> dict[Kind, HeldOut]:
    """Return the questions that can be made from a document.

    A title that is repeated in the frontmatter or as a heading, and a sentence that occurs twice, make none:
    the document would still hold them.
    """
    made = (_title_of(document), _first_sentence_of(document))
    return {each.kind: each for each in made if each is not None and _enough_is_left(document, each)}


def choose(documents: Mapping[str, Document], limit: int) -> dict[str, HeldOut]:
    """Choose the documents that become questions, and the part that is held out of each.

    The choice depends on the paths alone, so that it stays mostly the same while a collection grows.
    Half of the questions are titles and half first sentences, as far as possible. A title that two documents
    share is no question.

    Returns:
        At most so many questions, one for each document, by path, in the order of the paths.
    """
    shared = Counter(document.title.casefold() for document in documents.values())
    chosen: dict[str, HeldOut] = {}
    for path in sorted(documents, key=text_hash):
        if len(chosen) == limit:
            break
        possible = hold_out(documents[path])
        if shared[documents[path].title.casefold()] > 1:
            possible.pop(Kind.TITLE, None)
        wanted = Kind.TITLE if text_hash(f"kind of {path}")[0] % 2 else Kind.SENTENCE
        held = possible.get(wanted) or next(iter(possible.values()), None)
        if held is not None:
            chosen[path] = held
    return dict(sorted(chosen.items()))


def automatic_task(sources: Mapping[str, SourceSpec], indexing: Indexing, *, limit: int) -> Task:
    """Make questions from the documents of some collections.

    The documents are only read: the questions are cut out of copies in a temporary folder, which are indexed
    there, among copies of all other documents.

    Args:
        sources: Places of the documents, by the names of the collections.
        indexing: How to read and index them; its cache is not used.
        limit: Most questions.

    Raises:
        NotFoundError: If no document can become a question.
        SourceMissingError: If a folder is missing.
    """
    documents = _read(sources, indexing)
    chosen = choose(documents, limit)
    if not chosen:
        msg = f"no question can be made from {len(documents):,} documents in {', '.join(sources)}"
        raise NotFoundError(
            msg,
            hint="mdvec needs documents with a title of two words or a first sentence, and text below it.",
        )
    kinds = Counter(held.kind for held in chosen.values())
    note = (
        f"{quantity(kinds[Kind.TITLE], 'title')} and {quantity(kinds[Kind.SENTENCE], 'first sentence')} of "
        f"{quantity(len(documents), 'document')} were cut out of copies; each asks for its document"
    )
    questions = tuple(
        Question(str(number), held.question, {path: 1}, labels={"type": held.kind.value})
        for number, (path, held) in enumerate(chosen.items(), 1)
    )
    question_set = QuestionSet(SET_NAME, ", ".join(sources), questions, notes=(note,))
    return Task(question_set, lambda: _without_answers(documents, chosen, indexing))


@contextmanager
def _without_answers(
    documents: Mapping[str, Document], chosen: Mapping[str, HeldOut], indexing: Indexing
) -> Iterator[Corpus]:
    files: dict[str, bytes] = {}
    renamed: dict[str, str] = {}
    for number, (path, document) in enumerate(documents.items(), 1):
        held = chosen.get(path)
        place = path
        if held is not None and held.kind is Kind.TITLE:
            # Most files are named after their title.
            name = PurePosixPath(path)
            place = renamed[path] = str(name.with_name(wordless_name(number) + name.suffix))
        files[place] = (document.body if held is None else held.rest).encode()
    with temporary_folder() as home:
        folder = home / "documents"
        lay_out(files, folder)
        with opened_index(folder, naming(renamed), home / "index.sqlite", indexing) as corpus:
            yield corpus


def _read(sources: Mapping[str, SourceSpec], indexing: Indexing) -> dict[str, Document]:
    """Read the documents an import would read, by path; below the collection's name if there are several."""
    documents: dict[str, Document] = {}
    with (
        temporary_folder() as home,
        indexing.opener(indexing.config, database=home / "index.sqlite") as workspace,
    ):
        for name, source in sources.items():
            workspace.add_collection(
                name, "", source.location, include=source.include, exclude=source.exclude
            )
            workspace.import_collection(name, ImportOptions(embed=False, allow_empty=True))
            for path in sorted(paths_of(workspace.status(name, files=True))):
                place = path if len(sources) == 1 else f"{name}/{path}"
                documents[place] = parse_document(place, workspace.read(path, collection=name).text)
    return documents


def _title_of(document: Document) -> HeldOut | None:
    if document.title_source is TitleSource.FILE_NAME:
        return None
    title, body = document.title, document.body
    if estimate_token_count(title) < _MIN_TITLE_TOKENS:
        return None
    head = body[: document.content_start]
    if document.title_source is TitleSource.FRONTMATTER:
        head = _FRONTMATTER_TITLE.sub("", head, count=1)
        body = head + body[document.content_start :]
        document = parse_document(document.path, body)
    if _folded(title) in _folded(head):
        return None
    heading = next(
        (each for each in document.sections if each.level == 1 and _same(each.heading, title)), None
    )
    if heading is not None:
        block = next(each for each in document.blocks if each.start == heading.start)
        body = body[: block.start] + body[block.end :].lstrip("\n")
    rest = parse_document(document.path, body)
    if any(_same(section.heading, title) for section in rest.sections):
        return None
    return HeldOut(Kind.TITLE, title, body)


def _first_sentence_of(document: Document) -> HeldOut | None:
    body = document.body
    for block in document.blocks:
        text = body[block.start : block.end]
        if block.kind is not BlockKind.PARAGRAPH or _NO_PROSE.match(text.lstrip()):
            continue
        end = sentence_ends(text)[0]
        sentence = _plain(text[:end])
        if not _MIN_SENTENCE_TOKENS <= estimate_token_count(sentence) <= _MAX_SENTENCE_TOKENS:
            return None
        rest = body[: block.start] + body[block.start + end :].lstrip(" ")
        return None if sentence in _plain(rest) else HeldOut(Kind.SENTENCE, sentence, rest)
    return None


def _enough_is_left(document: Document, held: HeldOut) -> bool:
    rest = parse_document(document.path, held.rest)
    return estimate_token_count(rest.body[rest.content_start :]) >= _MIN_REST_TOKENS


def _same(one: str, other: str) -> bool:
    return _folded(one) == _folded(other)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _plain(text: str) -> str:
    """Return a text as people would type it: links by their words, no marks, one line."""
    return " ".join(_MARKS.sub("", _LINK.sub(lambda match: match[1] or match[2] or "", text)).split())
