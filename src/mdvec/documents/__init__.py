"""Stage 2: from text to a document with its title, section tree, tags, aliases and links."""
