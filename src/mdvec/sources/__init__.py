"""Stage 1: where documents come from.

Read ``interface.py`` first, the port: a source lists files and reads them. ``folder.py`` is the usual one,
with ``scan.py``, ``selection.py`` and ``ignore.py`` to choose its files; ``git/``, ``github/`` and
``s3.py`` read other places, and ``push.py`` is the source of documents that programs write. ``events.py``
watches folders.
"""
