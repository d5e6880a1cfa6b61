"""The daemon: one process for a database, which keeps it fresh and answers its user's programs."""
