"""The tables of the database, and how an older file becomes a current one."""

from __future__ import annotations

from msgspec import Struct

from mdvec.stores.sqlite.checksums import DOCUMENT_CHECKSUM

APPLICATION_ID = 0x6D647663
"""``mdvc`` in ASCII: what the file's header says when the file is ours."""

# FTS5 is given terms separated by spaces. The ascii tokenizer keeps every character above U+007F
# (so combining marks and emoji stay whole), and these characters too. It is only needed for terms
# with punctuation inside, and costs nothing for the others.
_TERM_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_TOKENCHARS = _TERM_PUNCTUATION.replace('"', '""').replace("'", "''")

_WORDS = f"""
-- detail must stay 'full': with less, a contentless table ranks wrongly without saying so.
CREATE VIRTUAL TABLE chunks_fts USING fts5(
  title, heading, body, minor,
  content='', contentless_delete=1, detail=full,
  tokenize="ascii tokenchars '{_TOKENCHARS}'"
);
"""

_NAMES = """
-- What a document is called: its title, its file, its aliases. folded is what a query is compared
-- with; text is what is embedded. Ids are never used again, as those of chunks.
CREATE TABLE names(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  folded TEXT NOT NULL,
  text TEXT NOT NULL,
  text_hash BLOB NOT NULL,
  UNIQUE(document_id, text)
) STRICT;
CREATE INDEX names_folded ON names(folded);
CREATE INDEX names_hash ON names(text_hash);
"""

_LINKS = """
-- file_key: the name of the file a link points at, as documents have it; which document that is depends on
-- all the others of its collection, and is found when it is asked for.
CREATE TABLE links(
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  kind TEXT NOT NULL,
  target TEXT NOT NULL,
  fragment TEXT NOT NULL,
  text TEXT NOT NULL,
  line INTEGER NOT NULL,
  file_key TEXT NOT NULL,
  PRIMARY KEY(document_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_file ON links(file_key);
CREATE INDEX links_previous ON links(document_id) WHERE kind = 'previous';
CREATE INDEX documents_file ON documents(file_key);
"""

_SKELETONS = "CREATE INDEX chunks_skeleton ON chunks(collection_id, skeleton) WHERE skeleton IS NOT NULL;"

_UNRELATED = """
-- How similar unrelated texts are in a space, by whether they are written with spaces between words. Either
-- both rows of a space are there or none: then it was not measured yet.
CREATE TABLE unrelated(
  space_id INTEGER NOT NULL REFERENCES spaces(id) ON DELETE CASCADE,
  unspaced INTEGER NOT NULL,
  mean REAL NOT NULL,
  spread REAL NOT NULL,
  passages BLOB NOT NULL,
  PRIMARY KEY(space_id, unspaced)
) STRICT, WITHOUT ROWID;
"""

_DIRTY = """
-- Documents that changed after they were indexed, as far as a watcher or a client has said so.
CREATE INDEX documents_dirty ON documents(collection_id, dirty_since_ms) WHERE dirty_since_ms IS NOT NULL;
"""

_CLAIMS = """
-- Which process brings a collection up to date, and how far it is; without a collection, which process
-- keeps the whole database up to date.
CREATE TABLE claims(
  token TEXT PRIMARY KEY,
  collection_id INTEGER UNIQUE REFERENCES collections(id) ON DELETE CASCADE,
  pid INTEGER NOT NULL,
  process_started REAL NOT NULL,
  machine TEXT NOT NULL,
  host TEXT NOT NULL,
  purpose TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  heartbeat_ms INTEGER NOT NULL,
  stage TEXT NOT NULL,
  done INTEGER NOT NULL,
  total INTEGER NOT NULL
) STRICT;
"""

_REMOVED_OWNERS = """
-- Chunks, names and spaces that are gone, so that a vector index beside the store can follow. Triggers write
-- here, which exist once an index was attached (attaching.py); the oldest rows are removed again.
CREATE TABLE removed_owners(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  owner_id INTEGER NOT NULL
) STRICT;
"""

_PROPERTIES = """
-- The values of frontmatter, as filters compare them; see mdvec.text.properties.
CREATE TABLE properties(
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  number REAL,
  PRIMARY KEY(document_id, key, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX properties_value ON properties(key, value);
"""

_TABLES = f"""
CREATE TABLE meta(
  key TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- generation: grows with every commit that changed something, so that other processes notice.
-- vector_epoch: grows when vectors are removed; otherwise vectors are only ever appended.
INSERT INTO meta VALUES ('generation', 0), ('vector_epoch', 0);

CREATE TABLE collections(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  description TEXT NOT NULL,
  source TEXT NOT NULL,
  chunking TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  last_indexed_ms INTEGER,
  settings TEXT NOT NULL DEFAULT '{{}}'
) STRICT;

-- checksum, here and elsewhere: see checksums.py.
CREATE TABLE documents(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  collection_id INTEGER NOT NULL REFERENCES collections(id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  locator BLOB NOT NULL,
  title TEXT NOT NULL,
  mtime_ns INTEGER NOT NULL,
  size INTEGER NOT NULL,
  sha256 BLOB NOT NULL,
  fingerprint TEXT NOT NULL,
  content_start INTEGER NOT NULL,
  indexed_at_ms INTEGER NOT NULL,
  file_key TEXT NOT NULL DEFAULT '',
  updated_ns INTEGER,
  superseded INTEGER NOT NULL DEFAULT 0,
  warnings TEXT NOT NULL DEFAULT '',
  checksum INTEGER,
  dirty_since_ms INTEGER,
  UNIQUE(collection_id, path)
) STRICT;
{_DIRTY}

-- Apart from documents, so that listing and filtering documents reads no text. comments: start and text
-- of what is hidden from readers; the body has white space there.
CREATE TABLE contents(
  document_id INTEGER PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
  frontmatter TEXT NOT NULL,
  body TEXT NOT NULL,
  comments TEXT NOT NULL DEFAULT '[]',
  checksum INTEGER
) STRICT;

-- Tags and aliases; folded is what is compared, display what is shown.
CREATE TABLE labels(
  kind TEXT NOT NULL,
  folded TEXT NOT NULL,
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  display TEXT NOT NULL,
  PRIMARY KEY(kind, folded, document_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_document ON labels(document_id, kind, folded);

{_PROPERTIES}{_LINKS}
-- The text of a chunk is a span of its document's body. AUTOINCREMENT: an id is never used again,
-- so a remembered one can be stale but never wrong. unspaced: whether its document is mostly in scripts that
-- are written without spaces. skeleton: equal in chunks of repeated text.
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  collection_id INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  parent INTEGER,
  depth INTEGER NOT NULL,
  start INTEGER NOT NULL,
  stop INTEGER NOT NULL,
  start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  token_count INTEGER NOT NULL,
  text_hash BLOB NOT NULL,
  heading_path TEXT NOT NULL,
  context TEXT NOT NULL,
  unspaced INTEGER NOT NULL DEFAULT 0,
  skeleton BLOB,
  UNIQUE(document_id, ordinal)
) STRICT;
CREATE INDEX chunks_collection ON chunks(collection_id, text_hash);
CREATE INDEX chunks_hash ON chunks(text_hash);
{_SKELETONS}

{_WORDS}-- No data of its own: how many chunks hold a term.
CREATE VIRTUAL TABLE chunks_terms USING fts5vocab('chunks_fts', 'row');
CREATE TRIGGER chunks_deleted AFTER DELETE ON chunks BEGIN
  DELETE FROM chunks_fts WHERE rowid = old.id;
END;
{_NAMES}
CREATE TABLE spaces(
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  dimension INTEGER NOT NULL
) STRICT;
{_UNRELATED}
-- A cache by content: moving, renaming or importing a text again finds its vector here. A chunk is
-- pending when it has no row here, and for no other reason. vector: float16, little-endian, unit length.
CREATE TABLE vectors(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  space_id INTEGER NOT NULL REFERENCES spaces(id) ON DELETE CASCADE,
  text_hash BLOB NOT NULL,
  vector BLOB NOT NULL,
  checksum INTEGER,
  UNIQUE(space_id, text_hash)
) STRICT;

CREATE TABLE failures(
  collection_id INTEGER NOT NULL REFERENCES collections(id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY(collection_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE exclusions(
  collection_id INTEGER NOT NULL REFERENCES collections(id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY(collection_id, path)
) STRICT, WITHOUT ROWID;

{_CLAIMS}{_REMOVED_OWNERS}"""  # noqa: S608 - only constants are put in


class Schema(Struct, frozen=True):
    """The tables of a fresh database, and the steps that bring older ones there.

    Attributes:
        tables: SQL for an empty file.
        migrations: SQL from version 1 to 2, from 2 to 3, and so on; a fresh database gets none.
    """

    tables: str
    migrations: tuple[str, ...] = ()

    @property
    def version(self) -> int:
        """The ``PRAGMA user_version`` of a current database."""
        return 1 + len(self.migrations)


# The terms and their fields are others, and names are new: every document has to be read again, which
# embeds nothing but names. Until then a collection counts as never imported, and says so.
_TO_2 = f"""
DROP TRIGGER chunks_deleted;
DROP TABLE chunks_terms;
DROP TABLE chunks_fts;
{_WORDS}
CREATE VIRTUAL TABLE chunks_terms USING fts5vocab('chunks_fts', 'row');
CREATE TRIGGER chunks_deleted AFTER DELETE ON chunks BEGIN
  DELETE FROM chunks_fts WHERE rowid = old.id;
END;
{_NAMES}
UPDATE documents SET fingerprint = '';
UPDATE collections SET last_indexed_ms = NULL;
"""  # noqa: S608 - only constants are put in

# Links and dates of documents are kept in another way: documents are read again, which embeds nothing.
_TO_3 = f"""
ALTER TABLE collections ADD COLUMN settings TEXT NOT NULL DEFAULT '{{}}';
ALTER TABLE documents ADD COLUMN file_key TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN updated_ns INTEGER;
ALTER TABLE chunks ADD COLUMN unspaced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contents ADD COLUMN comments TEXT NOT NULL DEFAULT '[]';
DROP TABLE links;
{_LINKS}
UPDATE documents SET fingerprint = '';
UPDATE collections SET last_indexed_ms = NULL;
"""  # noqa: S608 - only constants are put in

# Models are measured by the next import; nothing is read or embedded again.
_TO_4 = _UNRELATED

# One lease for all collections became a claim for each. Vector indexes beside the store are new.
_TO_5 = f"""
DROP TABLE lease;
{_CLAIMS}{_REMOVED_OWNERS}
"""

# A claim may be on the whole database. Checksums are of what is there; the rest is written when a document is
# read again. A later version that changes what belongs to a document computes its checksum anew.
_TO_6 = f"""
ALTER TABLE documents ADD COLUMN superseded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE documents ADD COLUMN warnings TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN checksum INTEGER;
ALTER TABLE chunks ADD COLUMN skeleton BLOB;
{_SKELETONS}
ALTER TABLE documents ADD COLUMN dirty_since_ms INTEGER;
{_DIRTY}{_PROPERTIES}
ALTER TABLE contents ADD COLUMN checksum INTEGER;
ALTER TABLE vectors ADD COLUMN checksum INTEGER;
UPDATE documents AS d SET checksum = {DOCUMENT_CHECKSUM};
UPDATE contents SET checksum = crc32(CAST(body AS BLOB));
UPDATE vectors SET checksum = crc32(vector);
DROP TABLE claims;
{_CLAIMS}"""  # noqa: S608 - only constants are put in

# The next import measures what is missing.
_TO_7 = f"""
ALTER TABLE unrelated RENAME TO measured;
{_UNRELATED}
INSERT INTO unrelated SELECT space_id, unspaced, mean, spread, x'' FROM measured;
DROP TABLE measured;
"""  # noqa: S608 - only constants are put in

SCHEMA = Schema(_TABLES, (_TO_2, _TO_3, _TO_4, _TO_5, _TO_6, _TO_7))
"""What this version of mdvec reads and writes."""
