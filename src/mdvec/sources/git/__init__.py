"""Repositories on any host, read by the program git."""
