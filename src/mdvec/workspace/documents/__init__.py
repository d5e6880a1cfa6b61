"""Documents without a query: read, listed, rendered, and written by clients."""
