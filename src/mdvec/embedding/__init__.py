"""Stage 4: from text to vectors."""
