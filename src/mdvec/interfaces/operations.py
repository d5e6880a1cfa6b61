"""The table of operations of a workspace, which programs use by JSON-RPC and over HTTP.

A row has the request, the function that answers it, and the shape of the answer. A door is a loop over the
table, and adds only its own words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from mdvec.errors import ImportStoppedError, MdvecError, NotAllowedError, sentences
from mdvec.interfaces import answers
from mdvec.interfaces.answers import JsonObject, schema_of
from mdvec.interfaces.passages import read_documents
from mdvec.interfaces.requests import (
    DOCUMENT_FILTERS,
    CollectionRequest,
    DocumentRequest,
    LinksRequest,
    NoArguments,
    OutlineRequest,
    ReadRequest,
    RelatedRequest,
    SearchRequest,
    StatusRequest,
    TagsRequest,
    parse_lines,
    search_query,
)
from mdvec.types.hit import SearchResult
from mdvec.types.links import DocumentLinks
from mdvec.types.model_report import ListedModel
from mdvec.types.outline import Outline
from mdvec.types.report import ImportOptions, ImportReport, Passage
from mdvec.workspace import Workspace

Say = Callable[[str], str]
"""Rewrites a hint or warning that names commands, so that the clients of a door can follow it."""

# Many clients give up after a minute.
_WRITER_WAIT_S = 30.0
_LISTED_DOCUMENTS = 50


class Operation(Struct, frozen=True):
    """An operation of a workspace.

    Attributes:
        name: Of the operation; doors put their own prefix before it.
        request: Its arguments.
        run: Answers a request.
        answer: The type of the answer, or a list of it.
        text: A description, for people; empty where no door shows one.
        takes: The fields of its request that are arguments; all when empty.
        fixed: Fields of the request that it decides itself.
        changes: Whether it imports documents, which changes the index and may take minutes.
    """

    name: str
    request: type[Struct]
    run: Callable[[Workspace, Any, Say], object]
    answer: Any = dict
    text: str = ""
    takes: tuple[str, ...] = ()
    fixed: Mapping[str, object] = {}
    changes: bool = False

    @property
    def request_schema(self) -> JsonObject:
        """The JSON Schema of the arguments."""
        schema = schema_of(self.request, "programs")
        taken = {name: schema["properties"][name] for name in self.takes or schema["properties"]}
        needed = [name for name in schema["required"] if name in taken]
        return schema | {"properties": taken, "required": needed, "additionalProperties": False}

    @property
    def answer_schema(self) -> JsonObject:
        """The JSON Schema of the answer."""
        items = [schema_of(each, "programs") for each in get_args(self.answer)]
        return {"type": "array", "items": items[0]} if items else schema_of(self.answer, "programs")


def search(workspace: Workspace, request: SearchRequest) -> SearchResult:
    """Answer a request from the index; missing vectors are made in the background."""
    query = search_query(request, workspace.search_settings(request.collections))
    return workspace.search(query, wait_for_vectors=False)


def listed(workspace: Workspace, request: SearchRequest) -> answers.Documents:
    """Return the last updated documents, at most 50 unless the request says otherwise."""
    query = search_query(request, workspace.search_settings(request.collections))
    limit = request.limit or _LISTED_DOCUMENTS
    found = workspace.browse.newest(query.filters, query.collections, limit=limit + 1)
    hint = "" if found else workspace.browse.unmet(query.filters, query.collections)
    return answers.documents(found, limit, hint)


def reindex(
    workspace: Workspace, names: Sequence[str], say: Say, *, on_part: Callable[[int], None] = lambda _: None
) -> answers.Reindexed:
    """Bring collections up to date; one that fails does not stop the others.

    Raises:
        MdvecError: If it is a single one, and it fails.
        ImportStoppedError: If the run is cancelled.
    """
    done: list[ImportReport] = []
    warnings: list[str] = []
    single = len(names) == 1
    options = ImportOptions(accept_pending=not single, wait_s=_WRITER_WAIT_S)
    for part, name in enumerate(names):
        on_part(part)
        try:
            report = workspace.import_collection(name, options)
        except ImportStoppedError:
            raise
        except MdvecError as error:
            if single:
                raise
            report = ImportReport(name, error=sentences(error, say(error.hint)))
        warnings += [f"{name}: {text}" for text in report.warnings]
        if report.failure is not None:
            reason = sentences(report.failure, say(report.failure.hint))
            report = answers.import_report(replace(report, error=reason))
        done.append(report)
    return answers.reindexed(done, warnings)


def _searched(workspace: Workspace, request: SearchRequest, say: Say) -> SearchResult:
    return _answered(search(workspace, request), say)


def _related(workspace: Workspace, request: RelatedRequest, say: Say) -> SearchResult:
    found = workspace.browse.related(request.path, collection=request.collection, limit=request.limit)
    return _answered(found, say)


def _answered(result: SearchResult, say: Say) -> SearchResult:
    warnings, hint = tuple(map(say, result.warnings)), result.hint and say(result.hint)
    return replace(result, warnings=warnings, hint=hint)


def _read(workspace: Workspace, request: DocumentRequest, _: Say) -> Passage:
    lines = None if request.lines is None else parse_lines(request.lines)
    return workspace.read(request.path, collection=request.collection, lines=lines, section=request.section)


def _outline(workspace: Workspace, request: OutlineRequest, _: Say) -> Outline:
    return workspace.browse.outline(request.path, collection=request.collection)


def _links(workspace: Workspace, request: LinksRequest, _: Say) -> DocumentLinks:
    return workspace.links(request.path, collection=request.collection, steps=request.steps)


def _tags(workspace: Workspace, request: TagsRequest, _: Say) -> answers.Tags:
    return answers.Tags(tuple(workspace.tags(request.collections)))


def _status(workspace: Workspace, request: StatusRequest, _: Say) -> answers.Status:
    named = request.collection
    return answers.status(workspace.status(named, files=named is not None, check=request.check))


def _collections(workspace: Workspace, _: NoArguments, __: Say) -> list[answers.RegisteredCollection]:
    return [answers.collection(each) for each in workspace.collections(include_disabled=True)]


def _models(workspace: Workspace, _: NoArguments, __: Say) -> list[ListedModel]:
    if not workspace.may_write:  # they name folders of the server, and keys that it lacks
        raise NotAllowedError
    return workspace.models.known()


def _reindexed(workspace: Workspace, request: CollectionRequest, say: Say) -> answers.Reindexed:
    named = request.collection
    names = [each.name for each in workspace.collections()] if named is None else [named]
    return reindex(workspace, names, say)


OPERATIONS = (
    Operation("search", SearchRequest, _searched, SearchResult, "Find passages by meaning and by words."),
    Operation("get", DocumentRequest, _read, Passage, "Read a document, some lines or a section of it."),
    Operation(
        "read", ReadRequest, read_documents, answers.Reading, "Read documents within one budget of tokens."
    ),
    Operation("outline", OutlineRequest, _outline, Outline, "List the headings of a document."),
    Operation("links", LinksRequest, _links, DocumentLinks, "List the links of a document, and those to it."),
    Operation(
        "list",
        SearchRequest,
        lambda workspace, request, _: listed(workspace, request),
        answers.Documents,
        "List documents, the last updated first.",
        takes=DOCUMENT_FILTERS,
        fixed={"query": ""},
    ),
    Operation("related", RelatedRequest, _related, SearchResult, "Find documents on the same subject."),
    Operation("tags", TagsRequest, _tags, answers.Tags, "List the tags, most used first."),
    Operation("status", StatusRequest, _status, answers.Status, "Show what is indexed, and how completely."),
    Operation(
        "collections", NoArguments, _collections, list[answers.RegisteredCollection], "List the collections."
    ),
    Operation("models", NoArguments, _models, list[ListedModel], "List the embedding models."),
    Operation(
        "reindex",
        CollectionRequest,
        _reindexed,
        answers.Reindexed,
        "Bring the index up to date.",
        changes=True,
    ),
)
"""All operations, the most used first."""
