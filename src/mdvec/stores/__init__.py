"""Stage 5: where documents, chunks, words and vectors are stored and found by plain measures.

Read ``view.py`` first, the reading part of the port, then ``interface.py``, the writing part. Databases with
tables share a class for each part of a snapshot: ``collection_tables.py``, ``document_tables.py``,
``word_tables.py`` and ``vector_tables.py``, with filters in ``where_tables.py`` and the tables themselves in
``columns.py``. ``matrix.py`` compares vectors in memory; ``sqlite/`` and ``postgres/`` add the rest.
"""
