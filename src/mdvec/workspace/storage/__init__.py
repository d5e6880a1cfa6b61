"""The database of a workspace: where it lies, whether it may be used, and opening it once."""
