"""The store of a team: PostgreSQL with the extension pgvector.

Read ``store.py`` first: it puts a snapshot together, and holds the SQL of documents, collections and
filters that only PostgreSQL has. ``words.py`` and ``postings.py`` are its word index, ``vectors.py`` its
vectors and their HNSW indexes. ``opening.py`` checks the server, ``database.py`` runs transactions,
``claims.py`` says who works on what, ``schema.py`` adds tables and row-level security, and ``views.py``
shows a collection to other programs.
"""
