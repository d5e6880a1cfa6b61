"""Vector indexes next to a store, for people who already use one.

Read ``index.py`` first, the port. ``journal.py`` says what changed in the store since a mark,
``follower.py`` brings an index up to date and searches it, ``folders.py`` is the place of one.
``chroma.py``, ``lancedb.py`` and ``sqlite_vec.py`` implement the port.
"""
