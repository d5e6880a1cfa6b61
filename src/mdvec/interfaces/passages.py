"""Several documents in one read: parts of them, and globs, within one budget of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

from msgspec.structs import replace

from mdvec.errors import DocumentNotFoundError, MdvecError, UsageError, sentences
from mdvec.interfaces.answers import Reading, Unread
from mdvec.interfaces.requests import ReadRequest, parse_lines
from mdvec.text.tokens import estimate_token_ends
from mdvec.types.document import Lines
from mdvec.types.query import Filters
from mdvec.types.report import Passage
from mdvec.workspace import Workspace

READ_TOKENS = 10_000
"""Most tokens of one read unless the request says otherwise."""

# Far more than prose has: a text of blanks must not be long because it has few tokens.
MAX_CHARS_PER_TOKEN = 8
"""Most characters of a text for each of the tokens that it may have."""

# So many documents with a part worth reading; a glob of hundreds is a list.
_MAX_DOCUMENTS = 20
_LEAST_TOKENS = 50

_WILDCARDS = "*?{"
# The first line may say how many of its characters were read before: "12+60000:40".
_PART = re.compile(r"(?P<line>\d+)\+(?P<read>\d{1,12})(?P<rest>:\d*)?")


def read_documents(workspace: Workspace, request: ReadRequest, say: Callable[[str], str]) -> Reading:
    """Read documents within one budget: a short one leaves its share to the others.

    ``say`` rewrites a hint that names commands.

    Returns:
        The documents, each once, in the order of the request; those of a glob by path. A document that is cut
        says where it continues, and one that cannot be read says why.

    Raises:
        MdvecError: If a single document is wanted, and cannot be read.
        UsageError: If lines or a section of several documents are wanted.
    """
    lines, read_chars = (None, 0) if request.lines is None else parse_part(request.lines)
    if len(request.path) != 1:
        _refuse_parts(request)
    most_tokens = request.max_tokens or READ_TOKENS
    most = max(1, min(_MAX_DOCUMENTS, most_tokens // _LEAST_TOKENS))
    found: dict[tuple[str, str, int], Passage] = {}
    failed: list[Unread] = []
    for path in request.path:
        try:
            for each in _read(workspace, path, request, lines, most):
                found[each.collection, each.path, each.start_line] = each
        except MdvecError as error:
            if len(request.path) == 1:
                raise
            failed.append(Unread(path, sentences(error, say(error.hint))))
    passages = [*found.values()]
    fitted = _fitted(passages[:most], most_tokens, read_chars)
    return Reading(tuple(fitted), tuple(failed), more=len(passages) > most)


def _refuse_parts(request: ReadRequest) -> None:
    if request.lines is not None or request.section is not None:
        msg = "`lines` and `section` are for one document"
        raise UsageError(msg, hint="Write them behind each path: a.md:10-40 or a.md#Heading.")


def _read(
    workspace: Workspace, path: str, request: ReadRequest, lines: Lines | None, most: int
) -> Iterator[Passage]:
    """Yield the document at a path, or the documents of a glob, by path; of many, the last updated ones."""
    try:
        yield workspace.read(path, collection=request.collection, lines=lines, section=request.section)
    except DocumentNotFoundError:
        is_glob = path.endswith("/") or any(char in path for char in _WILDCARDS)
        names = () if request.collection is None else (request.collection,)
        # One more says that there are more. Brackets are a part of a name, or a set.
        may_match = is_glob or "[" in path
        listed = workspace.browse.newest(Filters(path=path), names, limit=most + 1) if may_match else ()
        if not is_glob and not listed:
            raise
        _refuse_parts(request)
        if not listed:
            msg = f"no document matches {path!r}"
            hint = "In a glob, * is inside one folder, and ** is any number of folders."
            raise DocumentNotFoundError(msg, hint=hint) from None
        for each in sorted(listed, key=attrgetter("collection", "path")):
            yield workspace.read(each.path, collection=each.collection)


def _fitted(passages: Sequence[Passage], most_tokens: int, read_chars: int) -> list[Passage]:
    """Return passages cut to fit, each with an equal share of the tokens and of the rest of shorter ones."""
    sizes = [len(estimate_token_ends(each.text[: most_tokens * MAX_CHARS_PER_TOKEN])) for each in passages]
    shares: dict[int, int] = {}
    left = most_tokens
    for number, at in enumerate(sorted(range(len(passages)), key=lambda at: sizes[at])):
        shares[at] = min(sizes[at], left // (len(passages) - number))
        left -= shares[at]
    # The rest of a division, or of an earlier read, goes to the first one.
    shares[0] = shares.get(0, 0) + left
    return [first_part(each, shares[at], read_chars=read_chars) for at, each in enumerate(passages)]


def parse_part(text: str) -> tuple[Lines, int]:
    """Parse ``lines`` as :func:`mdvec.interfaces.requests.parse_lines` does, or the rest of a document.

    Returns:
        The lines, and how many characters of the first one are left out.

    Raises:
        UsageError: If it is neither.
    """
    found = _PART.fullmatch(text.strip())
    if found is None:
        return parse_lines(text), 0
    return parse_lines(found["line"] + (found["rest"] or "")), int(found["read"])


def first_part(passage: Passage, most_tokens: int, *, read_chars: int = 0) -> Passage:
    """Cut a passage after as many whole lines as a client can show; a longer line is cut inside.

    ``read_chars`` of its first line are left out.

    Returns:
        The part; ``next_lines`` has the rest.

    Raises:
        UsageError: If the first line has no more characters than are left out.
    """
    line, _, _ = passage.text.partition("\n")
    if read_chars and read_chars >= len(line):
        msg = f"line {passage.start_line} of {passage.path} has {len(line):,} characters"
        raise UsageError(msg, hint=f"Request it from its start: lines={str(passage.start_line)!r}.")
    text = passage.text[read_chars:]
    ends = estimate_token_ends(text) if len(text) > most_tokens else []
    if len(ends) <= most_tokens:
        return replace(passage, text=text)
    most = ends[most_tokens - 1]
    whole = text.rfind("\n", 0, most + 1) + 1
    start, end = passage.start_line, passage.end_line
    if not whole:
        rest_of_line = f"{start}+{read_chars + most}:{end}"
        return replace(passage, text=text[:most], end_line=start, next_lines=rest_of_line)
    after = start + text.count("\n", 0, whole)
    rest = f"{after}:{end}" if after <= end else None
    return replace(passage, text=text[:whole], end_line=after - 1, next_lines=rest)
