"""The store of a team: PostgreSQL with the extension pgvector."""
