"""Repositories anywhere, read by the program git."""
