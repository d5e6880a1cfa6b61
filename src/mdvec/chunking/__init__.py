"""Stage 3: from a document to chunks."""
