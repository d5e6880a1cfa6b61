"""Repositories on GitHub, read over its REST interface."""
