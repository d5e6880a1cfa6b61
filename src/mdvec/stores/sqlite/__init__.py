"""The default store: one SQLite file.

Read ``store.py`` first: it puts a snapshot together, and holds the SQL of documents and collections that
only SQLite has. ``words.py`` searches by FTS5, ``vectors.py`` finds texts without a vector, and ``where.py``
chooses the index from which the chunks inside a filter are listed; the rest of a filter is in
``stores/where_tables.py``. ``indexed.py`` searches through a vector index. ``schema.py`` has the tables,
``opening.py`` looks at the file first; ``database.py`` and ``connection.py`` run transactions;
``claim_files.py`` locks, ``checksums.py`` finds damage, ``copying.py`` and ``rebuild.py`` write other files.
"""
