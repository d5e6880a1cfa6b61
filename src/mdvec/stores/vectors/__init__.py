"""Vector indexes next to a store."""
