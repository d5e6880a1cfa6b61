"""Stage 2: from text to a document with its title, section tree, tags, aliases and links."""

PARSER_VERSION = "8"
"""Changes whenever the same text gives another document: everything is then parsed and cut again."""
