"""Vector indexes beside a store."""
