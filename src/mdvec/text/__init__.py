"""Pure functions on text.

Read ``terms.py`` first: the words by which texts are found. ``folding.py`` and ``scripts.py`` are below it,
``indexed_terms.py`` does the same for many texts at once, and ``operators.py`` reads queries. ``links.py``,
``properties.py``, ``moments.py``, ``dates.py`` and ``globs.py`` read what documents and filters hold.
"""
