"""Stage 1: where documents come from."""
