"""Reading: from a question to hits.

Read ``search.py`` first: the whole way in numbered steps, each a module. ``interpretation.py`` and
``filters.py`` read the query, ``words.py`` and ``meaning.py`` find candidates, ``fusion.py`` ranks them,
``passages.py`` and ``hits.py`` show them, and ``probability.py`` gives their scores.
"""
