"""The documents of a set: laid out as files, and indexed into a workspace of their own."""

from __future__ import annotations

import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path, PurePath, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from mdvec.config.schema import Config, SearchSettings
from mdvec.errors import CollectionExistsError, NotFoundError, UsageError
from mdvec.evaluation.judgements import CorpusDocument, JudgedSet, QuestionSet, counted, read_corpus
from mdvec.evaluation.naming import Naming, naming_by_path, neutral_naming
from mdvec.files import write_whole
from mdvec.text.folding import spelled
from mdvec.text.hashing import text_hash
from mdvec.text.links import DOCUMENT_SUFFIXES
from mdvec.types.document import DocumentState
from mdvec.types.hit import SearchHit
from mdvec.types.report import ImportMode, ImportOptions, WorkspaceStatus
from mdvec.workspace import Workspace

_COLLECTION = "documents"
# Another run may be embedding thousands of documents into the same cache.
_WAIT_S = 24 * 3600.0
# Names of folders may be as long as the file system allows; the hash is to fit after them.
_MAX_NAME_CHARS = 80
# An archive that claims more than this is no set of documents (a gigabyte of text takes days to embed).
_MAX_UNPACKED_BYTES = 1_000_000_000
_FRONTMATTER_FENCES = ("---", "+++")


class Indexing(Struct, frozen=True):
    """The way documents are indexed into a workspace of their own.

    Attributes:
        opener: Opens the workspace, as :func:`mdvec.open_workspace` does.
        config: The settings. For a judged set only those of chunking, embedding and reranking count, so that
            its figures are the same wherever it is measured.
        cache: Folder of the databases of judged sets; a database that is there is brought up to date.
        embed: Whether vectors are needed.
    """

    opener: Callable[..., Workspace]
    config: Config
    cache: Path
    embed: bool = True


class Corpus(Struct, frozen=True):
    """The documents that questions are measured on.

    Attributes:
        workspace: Holds them; open while the corpus is used.
        naming: Translates the names that judgements use into paths.
        collections: Names of what is searched; empty for all that are enabled.
        documents: Number of documents.
        chunks: Number of chunks.
        model: The embedding space in use, or the reason why there is none.
        warnings: Reasons to doubt the figures, for people.
        qualified: Paths that questions name as ``collection/path``: other collections may have them, too.
    """

    workspace: Workspace
    naming: Naming
    collections: tuple[str, ...]
    documents: int
    chunks: int
    model: str
    warnings: tuple[str, ...] = ()
    qualified: frozenset[str] = frozenset()

    def path_of(self, hit: SearchHit) -> str:
        """Return the path of a hit as questions name it."""
        return f"{hit.collection}/{hit.path}" if hit.path in self.qualified else hit.path


class Task(Struct, frozen=True):
    """A set to be measured.

    Attributes:
        set: The questions.
        open: Makes the corpus; may take minutes.
    """

    set: QuestionSet
    open: Callable[[], AbstractContextManager[Corpus]]


def judged_task(judged: JudgedSet, indexing: Indexing) -> Task:
    """Measure a judged set on its own documents."""
    return Task(judged.set, lambda: indexed_set(judged, indexing))


@contextmanager
def indexed_set(judged: JudgedSet, indexing: Indexing) -> Iterator[Corpus]:
    """Index the documents of a set through the normal pipeline; its files are only read.

    Yields:
        These documents and nothing else.

    Raises:
        UsageError: If ``corpus.jsonl`` or ``tree.tar.gz`` cannot be read.
        NotFoundError: If there is no document.
    """
    config = indexing.config
    own = Config(
        chunking=config.chunking,
        embedding=config.embedding,
        search=SearchSettings(rerank=config.search.rerank),
        rerank=config.rerank,
        prices=config.prices,
        extension_sections=config.extension_sections,
    )
    indexing = replace(indexing, config=own)
    home = _home(judged.documents.resolve(), indexing)
    folder, naming = _documents(judged, home)
    with opened_index(folder, naming, home / "index.sqlite", indexing) as corpus:
        unknown = unknown_documents(corpus, judged.set)
        warnings = counted("relevant documents that are not among the documents", unknown)
        yield replace(corpus, warnings=(*corpus.warnings, *warnings))


@contextmanager
def opened_index(folder: Path, naming: Naming, database: Path, indexing: Indexing) -> Iterator[Corpus]:
    """Index a folder into a database of its own, or bring that up to date.

    Args:
        folder: The documents.
        naming: Their names in judgements.
        database: Created if needed.
        indexing: How to index them; its cache is not used.

    Yields:
        These documents and nothing else.

    Raises:
        NotFoundError: If there is no document in the folder.
    """
    with indexing.opener(indexing.config, database=database) as workspace:
        with suppress(CollectionExistsError):  # another run may add it at the same moment
            workspace.add_collection(_COLLECTION, "Documents of a set", str(folder))
        options = ImportOptions(
            mode=ImportMode.UPDATE, embed=indexing.embed, allow_empty=True, wait_s=_WAIT_S
        )
        report = workspace.import_collection(_COLLECTION, options)
        if not report.total_documents:
            msg = f"{folder} contains no document"
            raise NotFoundError(msg, hint=f"Documents are files that end in {', '.join(DOCUMENT_SUFFIXES)}.")
        yield Corpus(
            workspace,
            naming,
            (),
            report.total_documents,
            report.total_chunks,
            workspace.status(_COLLECTION).model,
            warnings=counted("warnings of the import", report.warnings),
        )


def unknown_documents(corpus: Corpus, questions: QuestionSet) -> list[str]:
    """Return the relevant documents that the collection of their question does not have, each once."""
    known: dict[str, set[str]] = {}
    unknown: dict[str, None] = {}
    for question in questions.questions:
        place = question.collection
        if place not in known:
            known[place] = _paths_in(corpus.workspace, (place,) if place else corpus.collections)
        for name in question.relevant:
            if corpus.naming.path_of(name) not in known[place]:
                unknown[name] = None
    return list(unknown)


def paths_of(status: WorkspaceStatus) -> set[str]:
    """Return the paths of all searchable documents in a status with files."""
    searchable = (DocumentState.READY, DocumentState.PENDING, DocumentState.DIRTY)
    return {file.path for each in status.collections for file in each.files if file.state in searchable}


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder that is deleted afterwards.

    Yields:
        Its path.
    """
    with tempfile.TemporaryDirectory(prefix="mdvec-eval-") as name:
        yield Path(name).resolve()


def corpus_files(documents: Iterable[CorpusDocument], names: Naming) -> dict[str, bytes]:
    """Return each document of a corpus as a Markdown file: its content by its path."""
    return {names.path_of(each.id): _markdown(each).encode() for each in documents}


def archived_files(archive: Path) -> dict[str, bytes]:
    """Read the regular files of a gzipped tar archive; without a folder ``tree`` around all of them.

    Nothing is written. Links and devices are skipped.

    Returns:
        The content of each file, by path.

    Raises:
        UsageError: If it is no archive, too large, or has a path that leads out of it.
    """
    files: dict[str, bytes] = {}
    left = _MAX_UNPACKED_BYTES
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                if not member.isfile():
                    continue
                left -= member.size
                if left < 0:
                    msg = f"{archive} holds more than {_MAX_UNPACKED_BYTES:,} bytes"
                    raise UsageError(msg, hint="Unpack it to tree/ yourself if you want all of it.")
                content = tar.extractfile(member)
                if content is not None:
                    files[_inner_path(member.name, archive)] = content.read()
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        if isinstance(error, OSError) and error.strerror:
            raise
        msg = f"{archive} cannot be unpacked: {error}"
        raise UsageError(msg, hint="Create it again with: tar czf tree.tar.gz tree") from error
    if files and all(path.startswith("tree/") for path in files):
        return {path.removeprefix("tree/"): content for path, content in files.items()}
    return files


def lay_out(files: Mapping[str, bytes], folder: Path) -> None:
    """Make a folder hold exactly these files; files with the same content are not touched.

    A file appears whole or not at all, so that several processes may do this at once.

    Args:
        files: Content by path, relative with ``/``.
        folder: Created if needed; its parent must be on the same file system.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {folder.joinpath(*PurePosixPath(path).parts): content for path, content in files.items()}
    for path, content in wanted.items():
        if not _holds(path, content):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content, by_way_of=folder.parent)
    for path in folder.rglob("*"):
        if path.is_file() and path not in wanted:
            path.unlink(missing_ok=True)


def _markdown(document: CorpusDocument) -> str:
    title = " ".join(document.title.split())
    text = f"# {title}\n\n{document.text}\n" if title else f"{document.text}\n"
    if text.startswith(_FRONTMATTER_FENCES):
        text = f"<!-- -->\n\n{text}"  # a corpus has no frontmatter: this is a rule above the text
    return spelled(text).replace("\0", " ")


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


def _inner_path(name: str, archive: Path) -> str:
    path = PurePosixPath(name)
    # A backslash or a drive is a part of a name in the archive, and leads elsewhere on Windows alone.
    here = PurePath(name)
    if path.is_absolute() or here.anchor or ".." in (*path.parts, *here.parts) or not path.parts:
        msg = f"{archive} contains a path that leads outside: {name!r}"
        raise UsageError(msg, hint="Create it again with: tar czf tree.tar.gz tree")
    return str(path)


def _paths_in(workspace: Workspace, collections: Sequence[str]) -> set[str]:
    """Return the paths in some collections, each also with its collection before it."""
    names = collections or [each.name for each in workspace.collections()]
    paths = ((name, path) for name in names for path in paths_of(workspace.status(name, files=True)))
    return {each for name, path in paths for each in (path, f"{name}/{path}")}


def _home(documents: Path, indexing: Indexing) -> Path:
    """Return the folder for the index of some documents, made by one chunker and one model."""
    chunking, settings = indexing.config.chunking, indexing.config.embedding
    model = f"{settings.provider}:{settings.model}@{settings.dimension}"
    key = text_hash(f"{documents}\n{chunking}\n{model}").hex()[:16]
    home = indexing.cache / f"{documents.parent.name[:_MAX_NAME_CHARS]}-{key}"
    home.mkdir(parents=True, exist_ok=True)
    return home


def _documents(judged: JudgedSet, home: Path) -> tuple[Path, Naming]:
    """Return the folder that holds the documents as files, and their names."""
    source, folder = judged.documents, home / "documents"
    if source.suffix == ".jsonl":
        corpus = read_corpus(source)
        naming = neutral_naming(document.id for document in corpus)
        lay_out(corpus_files(corpus, naming), folder)
        return folder, naming
    if source.is_dir():
        folder = source
    else:
        lay_out(archived_files(source), folder)
    questions = judged.set.questions
    return folder, naming_by_path(name for each in questions for name in (*each.relevant, *each.exclude))
