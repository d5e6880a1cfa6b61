"""Stage 5: where documents, chunks, words and vectors are kept."""
