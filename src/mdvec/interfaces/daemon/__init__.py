"""The daemon: one process for a database, which keeps it fresh and answers its user's programs.

Read ``process.py`` first: the work of the daemon. ``place.py`` is its socket and its lock, ``control.py``
starts and ends it, and ``client.py`` lets a command run in it.
"""
