"""Stage 3: from a document to chunks.

Read ``interface.py`` first, the port. ``sections.py`` follows headings and is the usual chunker;
``vault.py`` and ``windows.py`` are others. ``outline.py`` groups sections, ``cutting.py`` finds where a
long text may be cut, and ``writing.py`` makes the chunks with their context.
"""
