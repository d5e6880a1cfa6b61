"""Stage 2: from text to a document with its title, section tree, tags, aliases and links.

Read ``parse.py`` first: it makes the document. ``frontmatter.py`` and ``markdown.py`` read the two parts of
a note, ``links.py`` and ``tags.py`` what is in them; ``events.py`` has the parser of Markdown.
``encodings.py`` and ``conversion.py`` come before, for bytes and for files that are no text. For people,
``tree.py`` makes a tree of the same events, and ``rendering.py`` HTML of that.
"""

PARSER_VERSION = "17"
"""Changes whenever the same text gives another document: everything is then parsed and cut again."""
