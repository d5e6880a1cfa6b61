"""One SQLite file as catalog, lexical index and vector index."""
