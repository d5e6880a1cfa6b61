"""The HTTP server that every web door shares: its options, its guard and its life."""
