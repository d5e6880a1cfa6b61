"""The search with one thing changed at a time: what every step of the ranking is worth."""
