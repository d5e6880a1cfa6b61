"""Models that run here, on torch: whatever sentence-transformers can load, and PLaMo."""
