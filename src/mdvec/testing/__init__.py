"""Fakes for tests, of mdvec itself and of what is built on it."""
