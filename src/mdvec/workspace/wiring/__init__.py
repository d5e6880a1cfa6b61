"""Turns a configuration into implementations, each made when it is needed."""
