"""Benchmarks: they print ratios measured in one run and write JSON; none of them is a test."""
