"""Talks to services over HTTP."""
