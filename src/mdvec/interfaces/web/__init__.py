"""The page: search, read and see the state of the index in a browser."""
