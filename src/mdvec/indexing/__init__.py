"""Bringing the index up to date with a source: what to do (plan), and doing it."""
