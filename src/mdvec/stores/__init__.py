"""Stage 5: where documents, chunks, words and vectors are stored and found by plain measures.

Read ``view.py`` first, which says what a snapshot can be asked, then ``interface.py``, which says what is
written. What every database with tables does alike is a class a part: ``collection_tables.py``,
``document_tables.py``, ``word_tables.py`` and ``vector_tables.py``, with filters in ``where_tables.py`` and
the tables themselves in ``columns.py``. ``matrix.py`` compares vectors in memory; ``sqlite/`` and
``postgres/`` hold what differs.
"""
