"""Measuring: how good the answers of a workspace are, on judged questions."""
