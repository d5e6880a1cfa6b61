"""Vector indexes next to a store, for people who already use one.

Read ``index.py`` first, the port. ``journal.py`` lists the changes in the store since a mark, ``follower.py``
brings an index up to date and searches it. ``chroma.py``, ``lancedb.py`` and ``sqlite_vec.py`` implement the
port, and share ``folders.py``.
"""
