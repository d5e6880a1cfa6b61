"""The tables of the database."""

from __future__ import annotations

APPLICATION_ID = 0x6D647663
"""``mdvc`` in ASCII: what the file's header says when the file is ours."""

VERSION = 1
"""The ``PRAGMA user_version`` of these tables."""

UNRELEASED = 7
"""The version before the first release that is rebuilt; the one after 1 is 8."""

# FTS5 is given terms separated by spaces. The ascii tokenizer keeps every character above U+007F
# (so combining marks and emoji stay whole), and these characters too. It is only needed for terms
# with punctuation inside, and costs nothing for the others.
_TERM_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_TOKENCHARS = _TERM_PUNCTUATION.replace('"', '""').replace("'", "''")

TABLES = f"""CREATE TABLE meta(
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

-- checksum, here and elsewhere: see checksums.py. That of a document is written after its chunks and names.
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
  checksum INTEGER NOT NULL DEFAULT -1,
  dirty_since_ms INTEGER,
  UNIQUE(collection_id, path)
) STRICT;
-- Documents that changed after they were indexed, as far as a watcher or a client has said so.
CREATE INDEX documents_dirty ON documents(collection_id, dirty_since_ms) WHERE dirty_since_ms IS NOT NULL;

-- Apart from documents, so that listing and filtering documents reads no text. comments: start and text
-- of what is hidden from readers; the body has white space there.
CREATE TABLE contents(
  document_id INTEGER PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
  frontmatter TEXT NOT NULL,
  body TEXT NOT NULL,
  comments TEXT NOT NULL DEFAULT '[]',
  checksum INTEGER NOT NULL
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

-- The values of frontmatter, as filters compare them; see mdvec.text.properties.
CREATE TABLE properties(
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  number REAL,
  PRIMARY KEY(document_id, key, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX properties_value ON properties(key, value);

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
CREATE INDEX chunks_skeleton ON chunks(collection_id, skeleton) WHERE skeleton IS NOT NULL;

-- detail must stay 'full': with less, a contentless table ranks wrongly without saying so.
CREATE VIRTUAL TABLE chunks_fts USING fts5(
  main, minor,
  content='', contentless_delete=1, detail=full,
  tokenize="ascii tokenchars '{_TOKENCHARS}'"
);

-- No data of its own: how many chunks hold a term.
CREATE VIRTUAL TABLE chunks_terms USING fts5vocab('chunks_fts', 'row');
CREATE TRIGGER chunks_deleted AFTER DELETE ON chunks BEGIN
  DELETE FROM chunks_fts WHERE rowid = old.id;
END;

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

CREATE TABLE spaces(
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  dimension INTEGER NOT NULL
) STRICT;

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

-- A cache by content: moving, renaming or importing a text again finds its vector here. A chunk is
-- pending when it has no row here, and for no other reason. vector: float16, little-endian, unit length.
CREATE TABLE vectors(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  space_id INTEGER NOT NULL REFERENCES spaces(id) ON DELETE CASCADE,
  text_hash BLOB NOT NULL,
  vector BLOB NOT NULL,
  checksum INTEGER NOT NULL,
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

-- Chunks, names and spaces that are gone, so that a vector index beside the store can follow. Triggers write
-- here, which exist once an index was attached (attaching.py); the oldest rows are removed again.
CREATE TABLE removed_owners(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  owner_id INTEGER NOT NULL
) STRICT;
"""  # noqa: S608 - a constant
"""SQL that makes them in an empty file."""
