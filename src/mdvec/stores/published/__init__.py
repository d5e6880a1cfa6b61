"""Published workspaces: versions in a folder or a bucket, searched from a copy on this machine.

Read ``dataset.py`` first: a version is a manifest of the pages of a SQLite file, of which only changed ones
are sent. ``places.py`` reads and writes a folder or a bucket, ``copies.py`` keeps versions on this machine,
and ``reader.py`` is the store that searches the newest one.
"""
